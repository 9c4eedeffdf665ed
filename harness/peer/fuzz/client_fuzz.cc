// SPDX-License-Identifier: GPL-2.0-only

#include "fuzz/client_fuzz.hh"

#include <algorithm>

#include "suite/client_instance.hh"
#include "suite/export.hh"

namespace peer {

namespace {

constexpr unsigned ENTRIES = 120;
constexpr std::size_t KEPT_REPLIES = 16;
// One in so many invalidates a handle that nobody has offered.
constexpr std::size_t INVALIDATIONS = 32;
// A command that goes on to call may take so many times the patience to end: how much it has left to do is its own affair.
constexpr int MOST_PATIENCE = 10;
// RPC's header of a Reply. What is behind it is the business of NFS.
constexpr std::size_t FRONT_OF_A_REPLY = 24;

void furnish(Tree &tree)
{
	tree.put("data", pattern(0, DATA_SIZE));
	tree.put("scratch", {});
	for (unsigned i = 0; i < ENTRIES; i++)
		tree.put("many/a-name-of-some-length-" + std::to_string(i), {});
	tree.put_link("link", std::string(LINK_LENGTH, 'l'));
}

} // namespace

ClientFuzz::ClientFuzz(const ListenSettings &listen, const FuzzSettings &settings)
	: settings_(settings)
	, dice_(settings.seed)
	, service_(tree_)
	, mount_daemon_(listen.host, listen.mount_port)
	, responder_(listen.host, listen.port, service_)
	, quiet_until_(Clock::now() + listen.start)
{
	furnish(tree_);
	responder_.patience() = settings.patience;
	responder_.versions = {.low = VERSION_1, .high = settings.protocol};
	responder_.take_call = [this](ArrivedCall &call) { return take_call(call); };
	responder_.take_other = [this](std::uint64_t, const Message &message) {
		tally_.answers[kind_of(header_of(message.bytes))]++;
	};
	responder_.closed = [this](std::uint64_t, const Closed &end) { tally_.ends[reason_of(end)]++; };
}

void ClientFuzz::run(const std::function<void(const FuzzTally &)> &look_around)
{
	while (!is_over()) {
		const Deadline look = std::min(quiet_until_, Clock::now() + LOOK_AROUND);
		const std::uint64_t before = tally_.messages;
		responder_.serve_until([&] { return tally_.messages != before; }, look);
		tally_.connections = responder_.accepted();
		look_around(tally_);
		if (!is_over() && Clock::now() >= quiet_until_)
			throw Violation("the client does not call any more");
	}
}

void ClientFuzz::serve_until(const std::function<bool()> &done)
{
	const Deadline end = Clock::now() + MOST_PATIENCE * settings_.patience.answer;
	quiet_until_ = settings_.patience.deadline();
	while (!done()) {
		if (Clock::now() >= quiet_until_)
			throw Violation("the client's command does not end, and does not call any more");
		if (Clock::now() >= end)
			throw Violation("the client's command does not end, and goes on to call");
		responder_.serve_until([] { return false; }, std::min(quiet_until_, Clock::now() + LOOK_AROUND));
	}
}

bool ClientFuzz::take_call(ArrivedCall &call)
{
	if (is_over()) {
		quiet_until_ = settings_.patience.deadline();
		return false;
	}
	constexpr std::size_t LONG_REPLIES = 4;
	const Answer answer = responder_.plan(call, dice_.one_in(LONG_REPLIES));
	send_changed(call.connection, answer);
	earlier_.push_back(answer.frame);
	if (earlier_.size() > KEPT_REPLIES)
		earlier_.pop_front();
	// To memory that the client has taken back meanwhile, a well-behaved responder writes nothing.
	constexpr std::size_t RARELY = 8;
	responder_.send(call.connection, answer, !may_have_ended(call) || dice_.one_in(RARELY));
	// From here: what the client has done meanwhile has not been looked at.
	quiet_until_ = settings_.patience.deadline();
	return true;
}

// Whether one of the changed messages may have been taken for its Reply.
bool ClientFuzz::may_have_ended(const ArrivedCall &call) const
{
	return std::any_of(last_.begin(), last_.end(), [&](const Bytes &message) {
		const std::optional<Header> header = header_of(message);
		return header && header->xid == call.message.header.xid;
	});
}

void ClientFuzz::send_changed(std::uint64_t number, const Answer &answer)
{
	Connection &connection = *responder_.connection(number);
	const Deadline deadline = settings_.patience.deadline();
	const std::size_t threshold =
		in_version(*responder_.agreement(number), answer.frame.header.version).reply_threshold;
	// An invalidation mostly ends the connection.
	const bool invalidates = dice_.one_in(INVALIDATIONS);
	const std::uint64_t left = settings_.count - tally_.messages;
	last_.clear();
	for (std::size_t i = std::min<std::uint64_t>(invalidates ? 1 : dice_.below(GROUP + 1), left); i > 0; i--)
		last_.push_back(changed_message(some_frame(number, answer), FRONT_OF_A_REPLY, threshold, dice_));
	tally_.messages += last_.size();
	const Transferred sent = invalidates ? connection.send(last_.front(), dice_.telling_word(), deadline) :
					       connection.send_all(last_, deadline);
	if (sent.timed_out)
		throw Violation("the client takes no more messages");
}

// A Reply to this Call or to an earlier one, or a Call in the reverse direction.
Frame ClientFuzz::some_frame(std::uint64_t number, const Answer &answer)
{
	constexpr std::size_t CALLBACKS = 8;
	constexpr std::size_t EARLIER = 4;
	if (dice_.one_in(CALLBACKS)) {
		const std::uint32_t xid = dice_.word();
		const Service::Backchannel nobody = {
			.connection = number, .program = dice_.telling_word(), .session = {}};
		const auto &known = service_.backchannels();
		const Payload call = callback_null(xid, known.empty() ? nobody : known.front());
		Frame frame;
		frame.header = {.xid = xid,
				.version = answer.frame.header.version,
				.credits = answer.frame.header.credits,
				.direction = DIRECTION_CALL};
		frame.payload = call.stream;
		return frame;
	}
	return !earlier_.empty() && dice_.one_in(EARLIER) ? dice_.one_of(earlier_) : answer.frame;
}

} // namespace peer
