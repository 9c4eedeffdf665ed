// SPDX-License-Identifier: GPL-2.0-only

#include "suite/server_case.hh"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "service/service.hh"
#include "suite/words.hh"

namespace peer {

namespace {

// One connection of a case.
struct Link {
	std::unique_ptr<Connection> connection;
	Agreement agreement;
	bool windows = false;
	bool forward_only = false;
	/// What Replies in the reverse direction grant.
	std::uint32_t reverse_credits = 8;
	/// Memory that the case has named, and where that was which it has freed since.
	std::map<std::string, Memory> memory;
	std::map<std::string, Segment> freed;
	/// Calls that have been sent, with their XID in the header as it was sent.
	std::deque<std::pair<std::uint32_t, std::unique_ptr<Transaction>>> outstanding;
	/// What was sent last, for "send again".
	Bytes last;
	/// Calls in the reverse direction that came while something else was awaited, but for probes of the backchannel.
	std::deque<Message> early_calls;
	/// The one that was taken last, and its Payload stream, wherever it came from.
	std::optional<Decoded> reverse_call;
	Bytes reverse_stream;
	nfs4::Session session;
	bool has_session = false;
	/// From when CREATE_SESSION is sent: what it asks for may come before its Reply.
	bool has_backchannel = false;
	/// Why there is no connection.
	std::string refused;
	NotConnected::Why why = NotConnected::Why::other;
};

// What the case needs is not so: of the peer's device, or of what a server does as it likes.
class Unable : public std::runtime_error {
	using runtime_error::runtime_error;
};

class Run {
    public:
	Run(const Case &test, Export &server, Patience patience, CaseResult &result)
		: test_(test)
		, server_(server)
		, patience_(patience)
		, result_(result)
		, xid_(first_xid())
	{
	}

	// What is still connected serves for these steps, too.
	void steps(const std::vector<Step> &steps)
	{
		answered_.reset();
		delegated_.clear();
		std::erase_if(links_, [](const auto &link) {
			return !link.second.connection || !link.second.connection->connected();
		});
		for (auto &[name, link] : links_)
			link.outstanding.clear();
		current_ = "main";
		if (std::any_of(steps.begin(), steps.end(), [](const Step &step) {
			    return step.line.words == Words{"expect", "unwritten"};
		    }))
			server_.clear_scratch();
		for (const Step &step : steps) {
			try {
				take(step);
			} catch (const ScriptError &error) {
				throw ScriptError(test_.name + ":" + std::to_string(step.line.number) + ": " +
						  error.what());
			} catch (const std::out_of_range &) {
				throw ScriptError(test_.name + ":" + std::to_string(step.line.number) +
						  ": a word is missing");
			}
		}
	}

	// What is expected now, for people.
	[[nodiscard]] const std::string &expectation() const noexcept { return expectation_; }

    private:
	// A file that has been opened, and the delegation that came with it.
	struct Delegated {
		std::string name;
		FileHandle file;
		Bytes delegation;
	};

	void take(const Step &step)
	{
		const Words &words = step.line.words;
		const std::string &verb = words[0];
		if (verb == "connect")
			connect(words);
		else if (verb == "on")
			current_ = words.at(1);
		else if (verb == "memory")
			make_memory(words);
		else if (verb == "free")
			free_memory(words.at(1));
		else if (verb == "send")
			send(step);
		else if (verb == "answer")
			answer(step);
		else if (verb == "reach")
			reach(words);
		else if (verb == "session")
			make_session(link());
		else if (verb == "delegation")
			get_delegation(step);
		else if (verb == "expect")
			expect(step);
		else if (verb == "need")
			need(step.line);
		else if (verb == "disconnect")
			link().connection->disconnect();
		else if (verb == "vanish")
			link().connection->vanish();
		else
			throw ScriptError("'" + verb + "' is no step of a case for servers");
	}

	// Connections

	// connect [as NAME] [private HEX [offset N] [length N] | silent] [send BYTES] [receive BYTES] [invalidation]
	//         [windows] [receives N] [reads N] [no-rnr-retry] [forward-only] [grants N]
	void connect(const Words &words)
	{
		current_ = behind(words, "as").value_or("main");
		PrivateData said = usual_private_data();
		said.send_size = static_cast<std::uint32_t>(number_behind(words, "send", said.send_size));
		said.receive_size = static_cast<std::uint32_t>(number_behind(words, "receive", said.receive_size));
		said.remote_invalidation = contains(words, "invalidation");
		ConnectionSettings settings = {.private_data = encode(said)};
		std::optional<PrivateData> in_force = said;
		if (contains(words, "silent")) {
			settings.private_data.clear();
			in_force.reset();
		}
		if (contains(words, "private")) {
			settings.private_data = private_data_of(words);
			in_force = find_private_data(settings.private_data);
		}
		settings.receives = static_cast<unsigned>(number_behind(words, "receives", settings.receives));
		settings.receive_size = std::max<std::size_t>(said.receive_size, 4096);
		settings.responder_resources =
			static_cast<unsigned>(number_behind(words, "reads", settings.responder_resources));
		settings.rnr_retry = !contains(words, "no-rnr-retry");

		Link &fresh = links_[current_];
		// Memory goes before the connection that it is registered with.
		answered_.reset();
		fresh.outstanding.clear();
		fresh.early_calls.clear();
		fresh.memory.clear();
		fresh.freed.clear();
		fresh.connection.reset();
		fresh.has_session = false;
		fresh.has_backchannel = false;
		fresh.windows = contains(words, "windows");
		fresh.forward_only = contains(words, "forward-only");
		fresh.reverse_credits =
			static_cast<std::uint32_t>(number_behind(words, "grants", Link().reverse_credits));
		fresh.refused.clear();
		try {
			fresh.connection = std::make_unique<Connection>(Connection::connect(
				server_.target().host, server_.target().port, settings, patience_.deadline()));
			fresh.agreement = agreement_of(in_force, fresh.connection->private_data());
			trace("connected");
			if (fresh.windows && !fresh.connection->has_windows())
				throw Unable("the peer's device has no memory windows of type 2");
		} catch (const NotConnected &error) {
			fresh.refused = error.what();
			fresh.why = error.why;
			trace("not connected: " + fresh.refused);
		}
	}

	// need call_threshold >= 8192: and the same for reply_threshold, and invalidated. What a server may or may not do is not
	// the case's business.
	void need(const Line &line)
	{
		const Agreement &agreed = (static_cast<void>(link()), links_[current_].agreement);
		const auto fields = [&](const std::string &name) -> std::optional<std::uint64_t> {
			if (name == "call_threshold")
				return agreed.call_threshold;
			if (name == "reply_threshold")
				return agreed.reply_threshold;
			if (name == "invalidated")
				return invalidated_;
			return std::nullopt;
		};
		const Words &words = line.words;
		if (words.at(1) == "private") {
			if (!find_private_data(link().connection->private_data()))
				throw Unable("the server says nothing of itself in private data");
			return;
		}
		const Line comparison = {line.number, Words(words.begin() + 1, words.end())};
		if (const auto wrong = check(comparison, {.value = fields, .memory = {}}, names()))
			throw Unable("the case needs something else: " + *wrong);
	}

	// The current connection; connects as usual where the case has not said how.
	Link &link()
	{
		if (!links_.contains(current_))
			connect({"connect", "as", current_});
		Link &found = links_[current_];
		if (!found.connection)
			throw Violation("no connection came about: " + found.refused);
		return found;
	}

	// memory NAME SIZE ACCESS
	void make_memory(const Words &words)
	{
		static const std::map<std::string, Access> ACCESS = {
			{"none", Access::none},
			{"read", Access::read},
			{"write", Access::write},
			{"read-write", Access::read_write},
			{"window-read", Access::window_read},
			{"window-write", Access::window_write},
		};
		const auto access = ACCESS.find(words.at(3));
		if (access == ACCESS.end())
			throw ScriptError("access is none, read, write, read-write, window-read or window-write");
		Link &owner = link();
		Memory memory(*owner.connection, evaluate(words.at(2), {}), access->second);
		const Bytes content = pattern(0, memory.bytes().size(), MEMORY_SEED);
		std::copy(content.begin(), content.end(), memory.bytes().begin());
		owner.memory.insert_or_assign(words.at(1), std::move(memory));
	}

	// free NAME: what was registered is not any more; its handle and its place can still be offered.
	void free_memory(const std::string &name)
	{
		Link &owner = link();
		const auto found = owner.memory.find(name);
		if (found == owner.memory.end())
			throw ScriptError("there is no memory called '" + name + "'");
		owner.freed.insert_or_assign(name, found->second.segment());
		owner.memory.erase(found);
	}

	// The Call that was sent, or answered, last on this connection.
	Transaction *last_call()
	{
		Link &here = link();
		return here.outstanding.empty() ? answered_.get() : here.outstanding.back().second.get();
	}

	// "m" of this connection, "other.m" of the one called other, "earlier.result" of the Call sent before.
	std::optional<Segment> named_segment(const std::string &name)
	{
		const std::size_t dot = name.find('.');
		if (name.starts_with("earlier.")) {
			const Memory *const memory = last_call() ? last_call()->memory(name.substr(dot + 1)) : nullptr;
			return memory ? std::optional(memory->segment()) : std::nullopt;
		}
		const auto owner = links_.find(dot == std::string::npos ? current_ : name.substr(0, dot));
		if (owner == links_.end())
			return std::nullopt;
		const std::string own_name = dot == std::string::npos ? name : name.substr(dot + 1);
		if (const auto memory = owner->second.memory.find(own_name); memory != owner->second.memory.end())
			return memory->second.segment();
		if (const auto gone = owner->second.freed.find(own_name); gone != owner->second.freed.end())
			return gone->second;
		return std::nullopt;
	}

	Names names()
	{
		const auto find = [this](const std::string &name) { return named_segment(name); };
		return {.value = [this, find](const std::string &name) -> std::optional<std::uint64_t> {
				if (name == "granted")
					return granted_;
				if (name == "earlier.xid" && last_call())
					return last_call()->frame().header.xid;
				if (name == "reverse.xid" && links_.at(current_).reverse_call)
					return links_.at(current_).reverse_call->header.xid;
				return value_of_memory(name, find);
			},
			.memory = find};
	}

	// Sending

	std::uint32_t next_xid() noexcept { return ++xid_; }

	std::uint64_t size_argument(const Words &words, std::size_t index) const
	{
		if (index >= words.size())
			throw ScriptError("'" + words[index - 1] + "' needs a size");
		return evaluate(words[index], {});
	}

	// The Call that the words behind "send" ask for.
	NfsCall call_of(const Words &words)
	{
		const std::uint32_t xid = next_xid();
		const std::string &what = words.at(1);
		const std::uint64_t offset = number_behind(words, "at", 0);
		if (what == "null")
			return nfs3::null(xid);
		if (what == "getattr")
			return nfs3::getattr(xid, server_.data);
		if (what == "lookup")
			return nfs3::lookup(xid, server_.directory, "data");
		if (what == "read") {
			read_offset_ = offset;
			return nfs3::read(xid, server_.data, offset,
					  static_cast<std::uint32_t>(size_argument(words, 2)));
		}
		if (what == "write") {
			written_ = pattern(0, size_argument(words, 2), ++seed_);
			return nfs3::write(xid, server_.scratch, offset, written_);
		}
		if (what == "readdir")
			return nfs3::readdir(xid, server_.many, static_cast<std::uint32_t>(size_argument(words, 2)));
		if (what == "readlink")
			return nfs3::readlink(xid, server_.link);
		if (what == "symlink") {
			const Bytes text = pattern(0, size_argument(words, 2), ++seed_);
			std::string target;
			for (const std::uint8_t byte : text)
				target += static_cast<char>('a' + byte % 26);
			return nfs3::symlink(xid, server_.directory, "made", target);
		}
		if (what == "remove")
			return nfs3::remove(xid, server_.directory,
					    contains(words, "delegated") ? delegated().name : "made");
		if (what == "program")
			return bare_call(xid, words);
		if (what == "v4")
			return call_of_version_4(words);
		throw ScriptError("'" + what + "' is no Call that can be sent");
	}

	// program NUMBER VERSION PROCEDURE: a Call without arguments.
	static NfsCall bare_call(std::uint32_t xid, const Words &words)
	{
		XdrWriter xdr;
		write(xdr, CallHeader{.xid = xid,
				      .program = static_cast<std::uint32_t>(evaluate(words.at(2), {})),
				      .version = static_cast<std::uint32_t>(evaluate(words.at(3), {})),
				      .procedure = static_cast<std::uint32_t>(evaluate(words.at(4), {}))});
		NfsCall call = nfs3::null(xid);
		call.name = text_of(words);
		call.call = {xdr.take(), {}};
		return call;
	}

	// The file that was opened last of those whose delegation has not been returned.
	const Delegated &delegated() const
	{
		if (delegated_.empty())
			throw ScriptError("no file has been opened");
		return delegated_.back();
	}

	static bool has_second_size(const Words &words)
	{
		return words.size() > 4 && words[4] != "as" && words[4] != "times";
	}

	// A session comes about with the first Call that needs it.
	NfsCall call_of_version_4(const Words &words)
	{
		Link &here = link();
		if (!here.has_session)
			make_session(here);
		nfs4::Session &session = here.session;
		const std::string &what = words.at(2);
		if (what == "getattr")
			return nfs4::getattr(next_xid(), session, server_.data);
		if (what == "read") {
			read_offset_ = 0;
			return nfs4::read(next_xid(), session, server_.data, 0,
					  static_cast<std::uint32_t>(size_argument(words, 3)));
		}
		if (what == "read-and-readlink") {
			read_offset_ = 0;
			return nfs4::read_and_readlink(next_xid(), session, server_.data,
						       static_cast<std::uint32_t>(size_argument(words, 3)),
						       server_.link);
		}
		if (what == "write") {
			written_ = pattern(0, size_argument(words, 3), ++seed_);
			Bytes second;
			if (has_second_size(words))
				second = pattern(written_.size(), size_argument(words, 4), seed_);
			NfsCall call = nfs4::write(next_xid(), session, server_.scratch, 0, written_, second);
			written_.insert(written_.end(), second.begin(), second.end());
			return call;
		}
		if (what == "readdir")
			return nfs4::readdir(next_xid(), session, server_.many,
					     static_cast<std::uint32_t>(size_argument(words, 3)));
		if (what == "readlink")
			return nfs4::readlink(next_xid(), session, server_.link);
		if (what == "open") {
			delegated_.push_back({server_.make_file(), {}, {}});
			return nfs4::open(next_xid(), session, server_.directory, delegated_.back().name);
		}
		if (what == "return") {
			const Delegated returned = delegated();
			delegated_.pop_back();
			return nfs4::delegreturn(next_xid(), session, returned.file, returned.delegation);
		}
		throw ScriptError("'" + what + "' is no Call of version 4 that can be sent");
	}

	static unsigned next_seed() noexcept
	{
		constexpr unsigned MOST_WRITES = 8;
		static unsigned seed = 0;
		return seed += MOST_WRITES;
	}

	void make_session(Link &here)
	{
		const auto carry = [&](const NfsCall &call) {
			auto sent = std::make_unique<Transaction>(*here.connection, here.agreement, call,
								  Style::as_needed, std::vector<Line>{}, Names{});
			transmit(here, sent->frame());
			const Message message = next_message(here, "a Reply to " + call.name);
			const Reply reply = sent->judge(message);
			if (reply.result.status != 0)
				throw Violation(call.name + " failed with NFS status " +
						std::to_string(reply.result.status));
			return reply.stream;
		};
		nfs4::take_exchange_id(here.session,
				       carry(nfs4::exchange_id(next_xid(), "rpcordma-peer " + std::to_string(xid_))));
		here.has_backchannel = !here.forward_only;
		nfs4::take_create_session(here.session,
					  carry(nfs4::create_session(next_xid(), here.session, !here.forward_only)));
		static_cast<void>(carry(nfs4::reclaim_complete(next_xid(), here.session)));
		here.has_session = true;
	}

	void note_sent(ByteView message)
	{
		if (message.size() < 8)
			return;
		XdrReader xdr(message);
		sent_.xid = xdr.u32("rdma_xid");
		sent_.version = xdr.u32("rdma_vers");
	}

	void transmit(Link &here, const Frame &frame)
	{
		here.last = frame.bytes();
		note_sent(here.last);
		trace("-> " + describe_message(here.last));
		note_outcome(here.connection->send(here.last, frame.invalidate, patience_.deadline()));
	}

	// What the server makes of a message, ending the connection above all, is for the next steps; one that has not gone
	// out proves nothing.
	void note_outcome(const Transferred &sent)
	{
		if (sent.inconclusive)
			throw Violation("the message did not go out: " + sent.status);
		if (!sent.ok)
			trace("   which failed: " + sent.status);
	}

	static Style style_of(const Words &words)
	{
		static const std::map<std::string, Style> STYLES = {
			{"inline", Style::in_line}, {"chunks", Style::chunks}, {"long", Style::long_form}};
		const auto word = behind(words, "as");
		if (!word)
			return Style::as_needed;
		const auto style = STYLES.find(*word);
		if (style == STYLES.end())
			throw ScriptError("a Call travels as inline, chunks or long");
		return style->second;
	}

	// send CALL [as inline|chunks|long] [times N]
	// send again [of NAME]           what was sent last, here or on that connection, byte for byte
	// send raw HEX | send bytes B N  a message of its own, the latter of N bytes B
	// send reply [times N]           an RPC Reply that nobody waits for
	void send(const Step &step)
	{
		const Words &words = step.line.words;
		Link &here = link();
		const std::string &what = words.at(1);
		if (what == "again")
			return send_again(here, behind(words, "of").value_or(current_));
		if (what == "raw" || what == "bytes" || what == "reply")
			return send_own(here, step);

		const auto times = behind(words, "times");
		std::vector<Bytes> together;
		for (std::uint64_t i = 0; i < (times ? evaluate(*times, names()) : 1); i++) {
			NfsCall call = call_of(words);
			auto transaction = std::make_unique<Transaction>(*here.connection, here.agreement,
									 std::move(call), style_of(words), step.block,
									 names(), here.windows);
			const Frame &frame = transaction->frame();
			if (times)
				together.push_back(frame.bytes());
			else
				transmit(here, frame);
			here.outstanding.emplace_back(frame.header.xid, std::move(transaction));
		}
		if (!times)
			return;
		note_sent(together.back());
		trace("-> " + *times + " times: " + describe_message(together.back()));
		note_outcome(here.connection->send_all(together, patience_.deadline()));
	}

	void send_again(Link &here, const std::string &from)
	{
		here.last = links_.at(from).last;
		note_sent(here.last);
		trace("-> again: " + describe_message(here.last));
		note_outcome(here.connection->send(here.last, std::nullopt, patience_.deadline()));
	}

	void send_own(Link &here, const Step &step)
	{
		const Words &words = step.line.words;
		Frame frame;
		frame.header.xid = next_xid();
		frame.header.credits = 32;
		if (words[1] == "reply") {
			XdrWriter xdr;
			write(xdr, ReplyHeader{.xid = frame.header.xid});
			frame.payload = xdr.take();
		} else if (words[1] == "raw") {
			const Bytes bytes = bytes_of_hex(words.at(2));
			frame.damage.push_back([bytes](Bytes &message) { message = bytes; });
		} else {
			const auto byte = static_cast<std::uint8_t>(evaluate(words.at(2), {}));
			const std::uint64_t length = evaluate(words.at(3), {});
			frame.damage.push_back([=](Bytes &message) { message.assign(length, byte); });
		}
		for (const Line &line : step.block)
			apply(frame, line, names());
		const auto times = behind(words, "times");
		if (!times)
			return transmit(here, frame);
		trace("-> " + *times + " times: " + describe_message(frame.bytes()));
		const std::vector<Bytes> together(evaluate(*times, names()), frame.bytes());
		note_outcome(here.connection->send_all(together, patience_.deadline()));
	}

	// answer [HEX | recall] [long]    to the Call in the reverse direction that came last, with success and these results,
	//                                 which go to the Call's Reply chunk
	// answer error CHUNK | VERS LOW HIGH
	void answer(const Step &step)
	{
		const Words &words = step.line.words;
		Link &here = link();
		if (!here.reverse_call)
			throw ScriptError("there is no Call in the reverse direction to answer");
		const Header &call = here.reverse_call->header;
		Frame frame = answer_to(here, call);
		if (contains(words, "error")) {
			frame.header.type = RDMA_ERROR;
			frame.header.error = static_cast<std::uint32_t>(evaluate(words.at(2), {}));
		} else {
			frame.payload = reply_to(call, results_of_answer(here, words));
			frame.header.reply = call.reply;
			write_reply(here, frame, contains(words, "long"));
		}
		for (const Line &line : step.block)
			apply(frame, line, names());
		transmit(here, frame);
	}

	static Frame answer_to(const Link &here, const Header &call)
	{
		Frame frame;
		frame.header.xid = call.xid;
		frame.header.credits = here.reverse_credits;
		return frame;
	}

	static Bytes reply_to(const Header &call, ByteView results)
	{
		XdrWriter xdr;
		write(xdr, ReplyHeader{.xid = call.xid});
		xdr.fixed(results);
		return xdr.take();
	}

	static Bytes results_of_answer(const Link &here, const Words &words)
	{
		if (contains(words, "recall"))
			return results_of_recall(here.reverse_stream);
		return words.size() > 1 && words[1] != "long" ? bytes_of_hex(words[1]) : Bytes();
	}

	// Moves the Payload stream to the Reply chunk where it is to go there, and says of each segment how much of it is used.
	void write_reply(Link &here, Frame &frame, bool is_long)
	{
		if (!frame.header.reply && !is_long)
			return;
		if (!frame.header.reply)
			throw Violation("the Call offers no Reply chunk");
		if (!is_long) {
			for (Segment &segment : *frame.header.reply)
				segment.length = 0;
			return;
		}
		Memory memory(*here.connection, frame.payload.size(), Access::none);
		std::copy(frame.payload.begin(), frame.payload.end(), memory.bytes().begin());
		std::size_t at = 0;
		for (Segment &segment : *frame.header.reply) {
			segment.length = static_cast<std::uint32_t>(
				std::min<std::size_t>(segment.length, frame.payload.size() - at));
			transfer(here.connection->write(memory, at, segment.length, segment, patience_.deadline()));
			at += segment.length;
		}
		if (at < frame.payload.size())
			throw Violation("the Reply chunk is too short for the Reply");
		frame.header.type = RDMA_NOMSG;
		frame.payload.clear();
	}

	// reach read | write ok | fails: the memory that the Call in the reverse direction offered which came last, of its Read
	// list or of its Reply chunk
	void reach(const Words &words)
	{
		Link &here = link();
		const bool is_read = words.at(1) == "read";
		if (!here.reverse_call)
			throw ScriptError("no Call in the reverse direction has come");
		const Header &call = here.reverse_call->header;
		if (is_read ? call.reads.empty() : !call.reply || call.reply->empty())
			throw Violation("the Call has offered no such memory");
		const Segment segment = is_read ? call.reads.front().target : call.reply->front();
		expectation_ = text_of(words);
		Memory memory(*here.connection, segment.length, Access::none);
		const Transferred done = is_read ? here.connection->read(segment, memory, 0, patience_.deadline()) :
						   here.connection->write_and_confirm(memory, 0, segment.length,
										      segment, patience_.deadline());
		check_reach(done, words.at(2) == "ok");
	}

	static void transfer(const Transferred &done)
	{
		if (!done.ok)
			throw Violation("memory that a Call in the reverse direction offers is out of reach: " +
					done.status);
	}

	// The Payload stream of a Call in the reverse direction: in the message, or behind its Position Zero Read chunk.
	Bytes stream_of(Link &here, const Decoded &call)
	{
		if (call.header.type != RDMA_NOMSG)
			return call.payload;
		Bytes stream;
		for (const ReadSegment &read : call.header.reads) {
			if (read.position != 0)
				throw Violation("a Call in the reverse direction has an item in a Read chunk");
			Memory memory(*here.connection, read.target.length, Access::none);
			transfer(here.connection->read(read.target, memory, 0, patience_.deadline()));
			stream.insert(stream.end(), memory.bytes().begin(), memory.bytes().end());
		}
		return stream;
	}

	// Expecting

	// What a step waits for: Calls in the reverse direction may come before that.
	enum class Awaited { answer, call };

	Event receive(Link &here, Deadline deadline)
	{
		Event event = here.connection->receive(deadline);
		if (const auto *const message = std::get_if<Message>(&event))
			trace("<- " + describe_message(message->bytes) +
			      (message->invalidated ? " invalidates=" + std::to_string(*message->invalidated) : ""));
		else if (const auto *const closed = std::get_if<Closed>(&event))
			trace("<- closed: " + closed->reason);
		return event;
	}

	// A server that calls back without end has no more time than any other.
	Event next_event(Link &here, Awaited awaited = Awaited::answer)
	{
		const Deadline deadline = patience_.deadline();
		do {
			Event event = receive(here, deadline);
			auto *const message = std::get_if<Message>(&event);
			if (!message || !is_reverse_call(here, *message))
				return event;
			if (answer_probe(here, *message))
				continue;
			if (awaited == Awaited::call)
				return event;
			here.early_calls.push_back(std::move(*message));
		} while (Clock::now() < deadline);
		return TimedOut{};
	}

	Message next_message(Link &here, const std::string &what, Awaited awaited = Awaited::answer)
	{
		Event event = next_event(here, awaited);
		if (const auto *const closed = std::get_if<Closed>(&event))
			throw Violation("the connection ended instead of " + what + ": " + closed->reason);
		if (std::holds_alternative<TimedOut>(event))
			throw Violation("nothing came in time instead of " + what);
		return std::get<Message>(std::move(event));
	}

	// The server may call back at any time.
	static bool is_reverse_call(const Link &here, const Message &message)
	{
		if (!here.has_backchannel)
			return false;
		const Decoded decoded = decode_received(message);
		const Header &header = decoded.header;
		const bool is_outstanding = std::any_of(here.outstanding.begin(), here.outstanding.end(),
							[&](const auto &call) { return call.first == header.xid; });
		return !is_outstanding &&
		       (header.type == RDMA_NOMSG ? !header.reads.empty() :
						    header.type == RDMA_MSG && is_call(decoded.payload) == true);
	}

	// Whether a Call only asks if anybody is there, which no case is about. One that does not fit into a message asks for
	// more. "send again", and what is expected of the last message, are about those of the case.
	bool answer_probe(Link &here, const Message &message)
	{
		const Decoded call = decode_received(message);
		if (call.header.type != RDMA_MSG)
			return false;
		const std::optional<Bytes> results = results_of_probe(call.payload);
		if (!results)
			return false;
		Frame frame = answer_to(here, call.header);
		frame.payload = reply_to(call.header, *results);
		frame.header.reply = call.header.reply;
		write_reply(here, frame, false);
		const Bytes bytes = frame.bytes();
		trace("-> " + describe_message(bytes));
		const Transferred sent = here.connection->send(bytes, std::nullopt, patience_.deadline());
		if (!sent.ok)
			trace("   which failed: " + sent.status);
		return true;
	}

	void expect(const Step &step)
	{
		const Words &words = step.line.words;
		const std::string &what = words.at(1);
		expectation_ = expectation_of(step);
		if (what == "reply")
			expect_reply(step);
		else if (what == "replies")
			expect_replies(evaluate(words.at(2), names()));
		else if (what == "error")
			expect_error(step);
		else if (what == "refusal")
			expect_refusal();
		else if (what == "call")
			expect_call(step);
		else if (what == "no-call")
			expect_no_call();
		else if (what == "dropped")
			expect_dropped();
		else if (what == "closed")
			expect_closed();
		else if (what == "connected")
			static_cast<void>(link());
		else if (what == "refused")
			expect_refused();
		else if (what == "private")
			check_private_data(link().connection->private_data(), step.block, names());
		else if (what == "written" || what == "unwritten")
			expect_scratch(what == "written");
		else if (what == "untouched")
			expect_untouched(words.at(2));
		else
			throw ScriptError("'" + what + "' is nothing that can be expected of a server");
	}

	// The Call among the outstanding ones that a message is for.
	std::unique_ptr<Transaction> take_outstanding(Link &here, ByteView message)
	{
		const std::uint32_t xid = XdrReader(message).u32("rdma_xid");
		const auto found = std::find_if(here.outstanding.begin(), here.outstanding.end(),
						[&](const auto &call) { return call.first == xid; });
		if (found == here.outstanding.end())
			return nullptr;
		std::unique_ptr<Transaction> call = std::move(found->second);
		here.outstanding.erase(found);
		return call;
	}

	// delegation: opens new files until one is delegated. A server may have reasons not to delegate this or that one, or
	// any.
	void get_delegation(const Step &step)
	{
		constexpr int MOST_FILES = 8;
		expectation_ = "a delegation";
		for (int i = 0; i < MOST_FILES; i++) {
			send({{step.line.number, {"send", "v4", "open"}}, {}});
			const NfsResult result = judged_reply(link()).result;
			check_rpc_status(result.accepted, result.rpc_status, "success");
			if (result.status != 0)
				throw Violation("NFS status " + std::to_string(result.status) + " came");
			if (!result.delegation.empty())
				return;
			delegated_.pop_back();
		}
		throw Unable("none of " + std::to_string(MOST_FILES) + " new files is delegated");
	}

	// Where it comes once more, it belongs to the Call that was answered last.
	Reply judged_reply(Link &here, bool again = false)
	{
		const Message message = next_message(here, "a Reply");
		if (!again)
			answered_ = take_outstanding(here, message.bytes);
		if (!answered_)
			throw Violation("a message came for an XID that is not outstanding: " +
					describe_message(message.bytes));
		Reply reply = answered_->judge(message);
		granted_ = reply.header.credits;
		invalidated_ = reply.invalidated.value_or(0);
		if (!reply.result.delegation.empty()) {
			delegated_.back().delegation = reply.result.delegation;
			delegated_.back().file = reply.result.handle;
		}
		return reply;
	}

	// expect reply [again] [RPC-STATUS]: by default it is successful, in RPC and in NFS.
	void expect_reply(const Step &step)
	{
		Words words = step.line.words;
		const bool again = std::erase(words, "again") > 0;
		const Reply reply = judged_reply(link(), again);
		const NfsResult &result = reply.result;
		check_rpc_status(result.accepted, result.rpc_status, words.size() > 2 ? words[2] : "success");
		const auto fields = [&](const std::string &name) -> std::optional<std::uint64_t> {
			if (name == "status")
				return result.status;
			if (name == "length")
				return reply.message_length;
			if (name == "count")
				return result.count;
			if (name == "invalidated")
				return reply.invalidated.value_or(0);
			if (name == "names")
				return result.names.size();
			if (name == "delegations")
				return result.delegation.empty() ? 0 : 1;
			return field(reply.header, name);
		};
		check_all(step.block, fields, answered_->names());
		const bool status_expected = std::any_of(step.block.begin(), step.block.end(),
							 [](const Line &line) { return line.words[0] == "status"; });
		if (!status_expected && result.status != 0)
			throw Violation("NFS status " + std::to_string(result.status) + " came");
		if (result.status == 0 && words.size() == 2)
			judge_data(result);
	}

	void judge_data(const NfsResult &result) const
	{
		const std::string &name = answered_->call().name;
		Bytes expected;
		if (name.ends_with(" READ") || name.ends_with(" READ and READLINK"))
			expected = pattern(read_offset_, result.count);
		if (name.ends_with(" READLINK"))
			expected.insert(expected.end(), server_.link_target.begin(), server_.link_target.end());
		if (result.data != expected)
			throw Violation("the data that were read are not those of the file, or of the link");
	}

	void expect_replies(std::uint64_t count)
	{
		for (std::uint64_t i = 0; i < count; i++) {
			const Reply reply = judged_reply(link());
			check_rpc_status(reply.result.accepted, reply.result.rpc_status, "success");
			if (reply.result.status != 0)
				throw Violation("NFS status " + std::to_string(reply.result.status) +
						" came with Reply " + std::to_string(i));
			judge_data(reply.result);
		}
	}

	// expect error CHUNK | VERS LOW HIGH [or dropped | refusal]
	void expect_error(const Step &step)
	{
		const std::string allowed = behind(step.line.words, "or").value_or("");
		if (allowed == "refusal")
			return expect_refusal();
		if (allowed == "dropped")
			return expect_dropped(&step.line.words);
		Link &here = link();
		const Message message = next_message(here, "an RDMA_ERROR");
		const Header header = judged_error(message, step.line.words);
		answered_ = take_outstanding(here, message.bytes);
		check_all(
			step.block, [&](const std::string &name) { return field(header, name); }, names());
	}

	Header judged_error(const Message &message, const Words &words) const
	{
		const Decoded decoded = decode_received(message);
		const Header &header = decoded.header;
		if (header.type != RDMA_ERROR)
			throw Violation("what came is no RDMA_ERROR: " + describe(header));
		if (header.error != evaluate(words.at(2), {}))
			throw Violation("the RDMA_ERROR is another: " + describe(header));
		if (words.at(2) == "VERS" && (header.version_low != evaluate(words.at(3), {}) ||
					      header.version_high != evaluate(words.at(4), {})))
			throw Violation("the range of versions is another: " + describe(header));
		if (header.xid != sent_.xid)
			throw Violation("the RDMA_ERROR has another XID than the Call (bis-04, 5.5)");
		if (header.version != sent_.version)
			throw Violation("the RDMA_ERROR has version " + std::to_string(header.version) +
					", the Call had " + std::to_string(sent_.version) + " (bis-04, 5.5)");
		if (header.credits == 0)
			throw Violation("the RDMA_ERROR grants no credit");
		if (!decoded.payload.empty())
			throw Violation("there are bytes behind the RDMA_ERROR");
		if (message.invalidated)
			throw Violation("the RDMA_ERROR invalidates a handle");
		return header;
	}

	// expect refusal: an RDMA_ERROR that says CHUNK, or a Reply that says GARBAGE_ARGS (bis-04, 8.1.1 and 5.5.2)
	void expect_refusal()
	{
		Link &here = link();
		const Message message = next_message(here, "a refusal");
		answered_ = take_outstanding(here, message.bytes);
		if (decode_received(message).header.type == RDMA_ERROR) {
			static_cast<void>(judged_error(message, {"expect", "error", "CHUNK"}));
			return;
		}
		if (!answered_)
			throw Violation("a message came for an XID that is not outstanding: " +
					describe_message(message.bytes));
		const NfsResult result = answered_->judge(message).result;
		check_rpc_status(result.accepted, result.rpc_status, "garbage-args");
	}

	Message next_call(Link &here)
	{
		if (here.early_calls.empty())
			return next_message(here, "a Call in the reverse direction", Awaited::call);
		Message message = std::move(here.early_calls.front());
		here.early_calls.pop_front();
		return message;
	}

	// expect call: one in the reverse direction.
	void expect_call(const Step &step)
	{
		Link &here = link();
		const Message message = next_call(here);
		if (message.bytes.size() > here.agreement.reply_threshold)
			throw Violation("the Call is longer than the inline threshold (RFC 8167, 4.2)");
		here.reverse_call = decode_received(message);
		const Header &header = here.reverse_call->header;
		here.reverse_stream = stream_of(here, *here.reverse_call);
		if (is_call(here.reverse_stream) != true)
			throw Violation("what came is no Call: " + describe(header));
		check_all(
			step.block, [&](const std::string &name) { return field(header, name); }, names());
	}

	// Not before many Calls have been answered, one after the other.
	void expect_no_call()
	{
		constexpr int ROUND_TRIPS = 64;
		Link &here = link();
		for (int i = 0; i < ROUND_TRIPS; i++) {
			send({{0, {"send", "null"}}, {}});
			static_cast<void>(judged_reply(here));
			if (!here.early_calls.empty())
				throw Violation("a Call came in the reverse direction: " +
						describe_message(here.early_calls.front().bytes));
		}
	}

	// Nothing comes of it, or the RDMA_ERROR that these words expect: two Calls behind it are answered, and nothing else.
	void expect_dropped(const Words *error = nullptr)
	{
		Link &here = link();
		here.outstanding.clear();
		const Header dropped = sent_;
		for (int i = 0; i < 2; i++) {
			auto fence = std::make_unique<Transaction>(*here.connection, here.agreement,
								   nfs3::null(next_xid()), Style::as_needed,
								   std::vector<Line>{}, Names{});
			const Frame frame = fence->frame();
			transmit(here, frame);
			Message message = next_message(here, "the Reply to a NULL Call behind it");
			if (error && decode_received(message).header.type == RDMA_ERROR) {
				sent_ = dropped;
				static_cast<void>(judged_error(message, *std::exchange(error, nullptr)));
				message = next_message(here, "the Reply to a NULL Call behind it");
			}
			if (XdrReader(message.bytes).u32("rdma_xid") != frame.header.xid)
				throw Violation("it was not dropped: " + describe_message(message.bytes));
			static_cast<void>(fence->judge(message));
		}
	}

	void expect_closed()
	{
		Link &here = link();
		for (;;) {
			const Event event = next_event(here);
			if (std::holds_alternative<Closed>(event))
				return;
			if (std::holds_alternative<TimedOut>(event))
				throw Violation("the connection is still up");
			// Calls that came before what closes the connection may be answered.
			const Message &message = std::get<Message>(event);
			if (!take_outstanding(here, message.bytes))
				throw Violation("a message came instead: " + describe_message(message.bytes));
			if (XdrReader(message.bytes).u32("rdma_xid") == sent_.xid)
				throw Violation("it was answered: " + describe_message(message.bytes));
		}
	}

	void expect_refused()
	{
		if (!links_.contains(current_) || links_[current_].connection)
			throw Violation("the connection came about");
		if (links_[current_].why != NotConnected::Why::rejected)
			throw Violation("it was not refused but came to nothing: " + links_[current_].refused);
	}

	void expect_scratch(bool written)
	{
		const Bytes content = server_.scratch_content(written_.size());
		if (written && content != written_)
			throw Violation("the file does not hold what was written");
		if (!written && content != Bytes(content.size()))
			throw Violation("the file has been written to");
	}

	// expect untouched MEMORY[+OFFSET]: memory that the case has named, or that of the last Call, holds what it held.
	void expect_untouched(const std::string &what)
	{
		const std::size_t plus = what.find('+');
		const std::string name = what.substr(0, plus);
		const std::uint64_t from = plus == std::string::npos ? 0 : evaluate(what.substr(plus + 1), {});
		Link &here = links_[current_];
		const auto named = here.memory.find(name);
		const Memory *const memory = named != here.memory.end() ? &named->second :
					     last_call()		? last_call()->memory(name) :
									  nullptr;
		if (!memory || from > memory->bytes().size())
			throw ScriptError("there is no memory called '" + what + "'");
		const std::size_t size = memory->bytes().size();
		const Bytes content = named != here.memory.end() ? pattern(0, size, MEMORY_SEED) :
								   Bytes(size, Transaction::UNWRITTEN);
		if (!std::equal(content.begin() + static_cast<std::ptrdiff_t>(from), content.end(),
				memory->bytes().begin() + static_cast<std::ptrdiff_t>(from)))
			throw Violation("memory '" + what + "' has been written to");
	}

	void trace(const std::string &line)
	{
		result_.trace.push_back((links_.size() > 1 ? current_ + ": " : "") + line);
	}

	static constexpr unsigned MEMORY_SEED = 77;

	const Case &test_;
	Export &server_;
	Patience patience_;
	CaseResult &result_;
	std::uint32_t xid_;
	std::map<std::string, Link> links_;
	std::string current_ = "main";
	std::string expectation_ = "a connection";
	/// XID and version of the message that was sent last, as it went out.
	Header sent_;
	/// With the last Reply.
	std::uint32_t granted_ = 0;
	std::uint32_t invalidated_ = 0;
	std::unique_ptr<Transaction> answered_;
	std::uint64_t read_offset_ = 0;
	Bytes written_;
	/// Another one for each run of a case: what an earlier one has written proves nothing.
	unsigned seed_ = next_seed();
	/// But for those that were returned.
	std::vector<Delegated> delegated_;
};

void run_once(Run &run, const Case &test, std::uint64_t value, CaseResult &result)
{
	const std::string which =
		test.variable.empty() ? "" : test.variable.substr(1) + " = " + std::to_string(value) + ": ";
	result.trace.clear();
	try {
		run.steps(test.steps_for(value));
		result.came = "the same";
	} catch (const ScriptError &) {
		throw;
	} catch (const Unable &error) {
		result.outcome = Outcome::skipped;
		result.came = error.what();
	} catch (const std::runtime_error &error) {
		result.outcome = Outcome::failed;
		result.came = which + "instead of " + run.expectation() + ": " + error.what();
	}
}

} // namespace

CaseResult run_server_case(const Case &test, Export &server, Patience patience)
{
	CaseResult result = new_result(test);
	const Clock::time_point started = Clock::now();
	{
		Run run(test, server, patience, result);
		for (const std::uint64_t value : test.values)
			if (result.outcome == Outcome::passed)
				run_once(run, test, value, result);
	}
	if (const auto ill = server.health()) {
		result.outcome = Outcome::failed;
		result.in_order = false;
		result.came += "; after it a well-behaved requester is not served: " + *ill;
	}
	result.seconds = std::chrono::duration<double>(Clock::now() - started).count();
	return result;
}

} // namespace peer
