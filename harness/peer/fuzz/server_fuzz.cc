// SPDX-License-Identifier: GPL-2.0-only

#include "fuzz/server_fuzz.hh"

#include <algorithm>
#include <array>

#include "engine/seed.hh"

namespace peer {

namespace {

// The server's health is looked at after so many.
constexpr std::uint64_t HEALTH_EVERY = 2000;
constexpr std::size_t LONGEST_ITEM = 40 * 1024;
// Where it begins, in a file whose last bytes the look at the server's health is about.
constexpr std::size_t WRITTEN = Export::SCRATCH_SIZE - 2 * LONGEST_ITEM;

} // namespace

ServerFuzz::ServerFuzz(Export &server, const FuzzSettings &settings, std::function<void(std::uint64_t)> sent)
	: server_(server)
	, settings_(settings)
	, sent_(std::move(sent))
	, dice_(settings.seed)
	, health_due_(HEALTH_EVERY)
	, xid_(first_xid())
{
}

void ServerFuzz::run()
{
	while (tally_.messages < settings_.count) {
		if (!connection_)
			connect();
		if (!send_group())
			close();
		sent_(tally_.messages);
		if (tally_.messages >= health_due_)
			check_health();
	}
	check_health();
	close();
}

// What the server grants is known after the first Reply.
void ServerFuzz::connect()
{
	try {
		connection_ =
			std::make_unique<Connection>(connect_at_last(server_.target(), settings_.patience.deadline()));
	} catch (const NotConnected &error) {
		throw Violation(std::string("the server takes no connection any more: ") + error.what());
	}
	tally_.connections++;
	granted_ = 0;
	const std::uint32_t version = settings_.protocol == VERSION_2 && dice_.one_in(2) ? VERSION_2 : VERSION_1;
	agreement_ = in_version(agreement_of(usual_private_data(), connection_->private_data()), version);
}

void ServerFuzz::close()
{
	offered_.clear();
	if (connection_)
		connection_->disconnect();
	connection_.reset();
}

// How many messages go out beside a Call that has to be answered: one at least, as soon as the server has granted anything.
std::size_t ServerFuzz::room() const
{
	if (granted_ == 0)
		return 0;
	const std::uint64_t left = settings_.count - tally_.messages;
	return static_cast<std::size_t>(std::min<std::uint64_t>({std::max(granted_ - 1, 1U), GROUP, left}));
}

// Changed messages, and a Call that is in order. Returns whether the connection lasts.
bool ServerFuzz::send_group()
{
	const Deadline deadline = settings_.patience.deadline();
	offered_.clear();
	last_.clear();
	try {
		for (std::size_t i = room(); i > 0; i--)
			last_.push_back(some_message());
	} catch (const VerbsError &error) {
		// Memory cannot be had for a connection that has ended meanwhile.
		if (connection_->connected())
			throw;
		note_end(error.what());
		return false;
	}
	// Far from what a changed XID is likely to be.
	const std::uint32_t xid = dice_.word();
	tally_.messages += last_.size();
	last_.push_back(null_call(xid));
	// Where they do not go out otherwise, the connection has ended.
	if (connection_->send_all(last_, deadline).timed_out)
		throw Violation("the server takes no more messages");
	const bool lasts = await_reply(xid);
	if (lasts)
		lone_until_.reset();
	else if (last_.size() == 1)
		note_lone_loss();
	return lasts;
}

// The first Call of a connection has cost it. Changed messages of before may be the reason, but not each time.
void ServerFuzz::note_lone_loss()
{
	if (!lone_until_)
		lone_until_ = settings_.patience.deadline();
	else if (Clock::now() >= *lone_until_)
		throw Violation("each new connection ends before its first NULL call is answered");
}

bool ServerFuzz::await_reply(std::uint32_t xid)
{
	const Deadline deadline = settings_.patience.deadline();
	for (;;) {
		const Event event = connection_->receive(deadline);
		if (const auto *const closed = std::get_if<Closed>(&event)) {
			note_end(reason_of(*closed));
			return false;
		}
		if (std::holds_alternative<TimedOut>(event))
			throw Violation("a NULL call behind changed messages was not answered, and the connection "
					"lasts");
		const std::optional<Header> answer = header_of(std::get<Message>(event).bytes);
		const std::string kind = kind_of(answer);
		if (answer && answer->xid == xid && kind == "Reply") {
			granted_ = std::max(answer->credits, 1U);
			return true;
		}
		// The first message of a connection to a server that does not speak version 2.
		if (answer && answer->xid == xid && kind == "ERR_VERS" && agreement_.version == VERSION_2) {
			agreement_.version = VERSION_1;
			return true;
		}
		tally_.answers[kind]++;
	}
}

void ServerFuzz::note_end(const std::string &reason)
{
	tally_.ends[reason]++;
}

void ServerFuzz::check_health()
{
	health_due_ = tally_.messages + HEALTH_EVERY;
	if (const auto ill = server_.health())
		throw Violation("the server does not serve others any more: " + *ill);
}

// Calls of NFS version 3 that change nothing but the content of a file of this run's.
NfsCall ServerFuzz::some_call()
{
	const auto length = static_cast<std::uint32_t>(dice_.below(dice_.one_in(2) ? 256 : LONGEST_ITEM));
	switch (dice_.below(7)) {
	case 0:
		return nfs3::null(++xid_);
	case 1:
		return nfs3::getattr(++xid_, server_.data);
	case 2:
		return nfs3::lookup(++xid_, server_.many, "none");
	case 3:
		return nfs3::readdir(++xid_, server_.many, 1 + length);
	case 4:
		return nfs3::readlink(++xid_, server_.link);
	case 5:
		return nfs3::write(++xid_, server_.scratch, dice_.below(WRITTEN), pattern(0, length));
	default:
		return nfs3::read(++xid_, server_.data, dice_.below(Export::DATA_SIZE), 1 + length);
	}
}

Bytes ServerFuzz::some_message()
{
	constexpr std::array STYLES = {Style::as_needed, Style::in_line, Style::chunks, Style::long_form};
	const Transaction &call = offered_.emplace_back(*connection_, agreement_, some_call(), dice_.one_of(STYLES),
							std::vector<Line>{}, Names{});
	// RPC's own header is a part of what is changed, too.
	constexpr std::size_t FRONT_OF_A_CALL = 40;
	return changed_message(call.frame(), FRONT_OF_A_CALL, agreement_.call_threshold, dice_);
}

Bytes ServerFuzz::null_call(std::uint32_t xid) const
{
	const NfsCall call = nfs3::null(xid);
	Bytes message = encode(Header{.xid = xid, .version = agreement_.version, .credits = 32});
	message.insert(message.end(), call.call.stream.begin(), call.call.stream.end());
	return message;
}

} // namespace peer
