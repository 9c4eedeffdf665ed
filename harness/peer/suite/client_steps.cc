// SPDX-License-Identifier: GPL-2.0-only
//
// What the responder does in a case.

#include "suite/client_run.hh"

#include <algorithm>
#include <utility>

#include "suite/export.hh"

namespace peer {

Connection &Suite::connection()
{
	Connection *const there = responder_.connection(current());
	if (!there)
		throw Violation("there is no connection");
	return *there;
}

Deadline Suite::deadline() const
{
	return std::max({settings_.patience.deadline(), Clock::now() + patience_, begin_});
}

void Suite::take_early()
{
	for (ArrivedCall &call : std::exchange(early_, {}))
		if (!take_call(call) && responder_.awaits_reply(call))
			responder_.send(call.connection, responder_.plan(call));
}

void Suite::serve_until(const std::function<bool()> &done, const std::string &awaited)
{
	take_early();
	const Deadline end = deadline();
	while (!responder_.serve_until(done, std::min(end, Clock::now() + LOOK_AROUND))) {
		if (hooks_.ended())
			throw ClientEnded("the client's command ended while " + awaited + " was waited for");
		if (Clock::now() >= end)
			throw Violation(awaited + " did not come");
	}
}

void Suite::serve_for(Clock::duration time)
{
	responder_.serve_until([] { return false; }, Clock::now() + time);
}

void Suite::await(const Words &words)
{
	if (words.at(1) == "connect")
		return await_request();
	expectation_ = "a Call to " + words[1];
	const std::size_t times = number_behind(words, "times", 1, names());
	if (!contains(words, "beside")) {
		held_.reset();
		held_beside_.clear();
	}
	awaited_operation_ = words[1];
	awaited_calls_ = held_count() + times;
	awaits_any_file_ = contains(words, "anywhere");
	serve_until([this] { return held_count() == awaited_calls_ || has_result(); }, "a Call to " + words[1]);
	if (held_count() < awaited_calls_)
		throw Violation("the client's operation ended without it: " + client_result().described());
	awaited_operation_.clear();
	// What ended before the client came to this case is not of this case: the last mount's connection, above all.
	if (begin_ != Deadline{})
		ended_.clear();
	begin_ = {};
}

void Suite::await_request()
{
	expectation_ = "a connection request";
	awaits_request_ = true;
	serve_until([this] { return held_request_.has_value(); }, "a connection request");
	awaits_request_ = false;
}

void Suite::need(const Step &step)
{
	const std::string &what = step.line.words.at(1);
	if (what == "private")
		return need_private(step);
	if (what == "connection")
		return need_connection();
	const bool of_answer = what == "answer";
	if (!of_answer && what != "call")
		throw ScriptError("a case needs things of an answer, a call or private data, or a connection");
	const auto fields = [&](const std::string &name) {
		if (!of_answer)
			return field_of(held(), name);
		return name == "length" ? std::optional<std::uint64_t>(last_.bytes().size()) :
					  field(last_.header, name);
	};
	for (const Line &line : step.block)
		if (const auto wrong = check(line, {.value = fields, .memory = {}}, names()))
			throw Unable("the case needs something else: " + *wrong);
}

void Suite::need_private(const Step &step)
{
	try {
		check_private(step);
	} catch (const Violation &wrong) {
		throw Unable(std::string("the case needs something else: ") + wrong.what());
	}
}

void Suite::need_connection()
{
	static_cast<void>(client_result());
	serve_for({});
	if (!ended_.empty())
		throw Unable("the client has closed the connection");
}

void Suite::check_private(const Step &step)
{
	check_private_data(held_request_ ? held_request_->private_data() : responder_.last_private_data(), step.block,
			   names());
}

ArrivedCall &Suite::held()
{
	if (!held_)
		throw ScriptError("no Call is held: \"on OPERATION\" holds one");
	return *held_;
}

Request Suite::request()
{
	if (!held_request_)
		throw ScriptError("no connection request is held: \"on connect\" holds one");
	Request taken = std::move(*held_request_);
	held_request_.reset();
	return taken;
}

void Suite::answer(const Step &step)
{
	const Words &words = step.line.words;
	const std::string what = words.size() > 1 ? words[1] : "";
	if (what == "nothing")
		return;
	static_cast<void>(connection());
	if (what == "again")
		return expect_sent(responder_.send(current(), last_));
	if (what == "others") {
		for (const ArrivedCall &call : std::exchange(held_beside_, {}))
			if (responder_.connection(call.connection))
				expect_sent(responder_.send(call.connection, responder_.plan(call)));
		return;
	}
	Answer answer = responder_.plan(held(), what == "long");
	if (what == "error") {
		Header &header = answer.frame.header;
		header.type = RDMA_ERROR;
		header.error = static_cast<std::uint32_t>(evaluate(words.at(2), {}));
		if (words.size() > 4) {
			header.version_low = static_cast<std::uint32_t>(evaluate(words[3], {}));
			header.version_high = static_cast<std::uint32_t>(evaluate(words[4], {}));
		}
		answer.frame.payload.clear();
		answer.placed.clear();
	}
	for (const Line &line : step.block) {
		last_ = answer.frame;
		if (line.words[0].starts_with("stream["))
			change_stream(answer, line.words);
		else
			apply(answer.frame, line, names());
	}
	last_ = answer.frame;
	const bool is_sent = responder_.send(held_->connection, answer, !contains(words, "without"));
	expect_sent(is_sent || contains(words, "late"));
}

void Suite::expect_sent(bool sent)
{
	if (!sent)
		throw Violation("the message did not go out");
}

std::uint32_t Suite::number(const Words &words, const char *word, std::uint64_t usual)
{
	return static_cast<std::uint32_t>(number_behind(words, word, usual));
}

void Suite::change_stream(Answer &answer, const Words &words)
{
	if (answer.frame.header.type != RDMA_NOMSG || !answer.frame.header.reply)
		throw ScriptError("stream[n] is about Replies in a Reply chunk; payload[n] is of the others");
	const std::size_t index = evaluate(words.at(0).substr(7, words[0].find(']') - 7), {});
	Bytes word(answer.stream.begin() + static_cast<std::ptrdiff_t>(answer.reply_from + 4 * index),
		   answer.stream.begin() + static_cast<std::ptrdiff_t>(answer.reply_from + 4 * index + 4));
	change_word(word, 0, words.at(1), evaluate(words.at(2), {}));
	std::copy(word.begin(), word.end(),
		  answer.stream.begin() + static_cast<std::ptrdiff_t>(answer.reply_from + 4 * index));
}

void Suite::accept(const Words &words)
{
	Acceptance how = usual_acceptance();
	how.private_data->send_size = number(words, "send", how.private_data->send_size);
	how.private_data->receive_size = number(words, "receive", how.private_data->receive_size);
	how.private_data->remote_invalidation = contains(words, "invalidation");
	if (contains(words, "silent"))
		how.private_data.reset();
	if (contains(words, "private"))
		how.raw_private_data = private_data_of(words);
	how.reads = number(words, "reads", how.reads);
	how.credits = number(words, "credits", how.credits);
	responder_.accept(request(), how);
	// Those that follow within the case are accepted as usual again; it is not there for the next case.
	is_unusual_ = true;
}

void Suite::grant(const Words &words)
{
	responder_.acceptance.credits = static_cast<std::uint32_t>(evaluate(words.at(1), {}));
	is_unusual_ = true;
}

void Suite::speak(const Versions &versions)
{
	const bool is_usual = versions.low == VERSION_1 && versions.high == VERSION_1;
	responder_.versions = versions;
	is_unusual_ = is_unusual_ || !is_usual;
}

void Suite::make_memory(const Words &words)
{
	static const std::map<std::string, Access> ACCESS = {
		{"read", Access::read}, {"write", Access::write}, {"read-write", Access::read_write}};
	keep(words.at(1), Memory(connection(), evaluate(words.at(2), {}), ACCESS.at(words.at(3))));
}

void Suite::keep(const std::string &name, Memory memory)
{
	if (std::exchange(memory_connection_, current()) != current())
		memory_.clear();
	memory_.insert_or_assign(name, std::move(memory));
}

void Suite::starve()
{
	if (Connection *const connection = responder_.connection(current()))
		connection->starve();
}

void Suite::end(bool in_order)
{
	memory_.clear();
	responder_.end(current(), in_order);
}

void Suite::send(const Step &step)
{
	const Words &words = step.line.words;
	const std::string &what = words.at(1);
	Frame frame = new_frame();
	if (what == "call") {
		frame.payload = callback(frame.header.xid, words).stream;
	} else if (what == "reply") {
		XdrWriter xdr;
		write(xdr, ReplyHeader{.xid = frame.header.xid});
		frame.header.direction = DIRECTION_REPLY;
		frame.payload = xdr.take();
	} else if (what == "option") {
		frame.header.type = RDMA2_OPTIONAL;
		frame.header.option = static_cast<std::uint32_t>(evaluate(words.at(2), names()));
		frame.header.option_info = words.size() > 3 ? bytes_of_hex(words[3]) : Bytes();
	} else if (what == "raw") {
		const Bytes bytes = bytes_of_hex(words.at(2));
		frame.damage.push_back([bytes](Bytes &message) { message = bytes; });
	} else if (what == "zeros") {
		const std::uint64_t length = evaluate(words.at(2), {});
		frame.damage.push_back([length](Bytes &message) { message.assign(length, 0); });
	} else {
		throw ScriptError("'" + what + "' is nothing that can be sent to a client");
	}
	for (const Line &line : step.block) {
		if (line.words[0] == "long")
			travel_long(frame, number(line.words, "long", 1));
		else
			apply(frame, line, names());
	}
	last_ = frame;
	sent_ = frame.header;
	sent_xids_ = {frame.header.xid};
	send_once(frame);
	for (std::uint32_t times = number(words, "times", 1); times > 1; times--) {
		frame.header.xid = ++own_xid_;
		if (frame.payload.size() >= 4)
			change_word(frame.payload, 0, "=", frame.header.xid);
		sent_xids_.insert(frame.header.xid);
		send_once(frame);
	}
}

void Suite::keep_outstanding(const Step &step)
{
	const Words &words = step.line.words;
	const std::uint64_t most = evaluate(words.at(1), {});
	const std::uint32_t times = number(words, "times", 1);
	std::map<std::uint32_t, std::uint32_t> slots; // by the XID of the Call that has it
	std::uint32_t sent = 0;
	expectation_ = expectation_of(step);
	while (sent < times || !slots.empty()) {
		if (sent < times && slots.size() < most) {
			const std::uint32_t slot = first_unused(slots);
			slots[send_in_slot(words, slot)] = slot;
			sent++;
			continue;
		}
		const ReverseAnswer answer = next_reverse_answer(false, "success");
		slots.erase(answer.decoded.header.xid);
		sent_xids_.erase(answer.decoded.header.xid);
		check_answer(step, answer);
	}
}

std::uint32_t Suite::first_unused(const std::map<std::uint32_t, std::uint32_t> &slots)
{
	std::uint32_t slot = 0;
	while (std::any_of(slots.begin(), slots.end(), [slot](const auto &used) { return used.second == slot; }))
		slot++;
	return slot;
}

Frame Suite::new_frame()
{
	Frame frame;
	frame.header.xid = ++own_xid_;
	frame.header.version = held_ ? held_->message.header.version : VERSION_1;
	frame.header.credits = 8;
	return frame;
}

std::uint32_t Suite::send_in_slot(const Words &words, std::uint32_t slot)
{
	Frame frame = new_frame();
	frame.payload = callback(frame.header.xid, words, slot).stream;
	last_ = frame;
	sent_ = frame.header;
	sent_xids_.insert(frame.header.xid);
	send_once(frame);
	return frame.header.xid;
}

void Suite::send_once(const Frame &frame)
{
	static_cast<void>(connection());
	expect_sent(responder_.send_beside(current(), frame));
}

void Suite::travel_long(Frame &frame, std::uint32_t segments)
{
	Memory memory(connection(), frame.payload.size(), Access::read);
	std::copy(frame.payload.begin(), frame.payload.end(), memory.bytes().begin());
	frame.header.type = RDMA_NOMSG;
	const std::size_t size = frame.payload.size();
	for (std::uint32_t i = 0; i < segments; i++)
		frame.header.reads.push_back(
			{0, memory.segment(size * i / segments, size * (i + 1) / segments - size * i / segments)});
	frame.payload.clear();
	keep("call", std::move(memory));
}

Payload Suite::callback(std::uint32_t xid, const Words &words, std::uint32_t slot)
{
	const auto &backchannels = service_.backchannels();
	const auto found = std::find_if(backchannels.begin(), backchannels.end(),
					[this](const auto &there) { return there.connection == current(); });
	if (words.at(2) == "null") {
		const Service::Backchannel nobody = {
			.connection = current(), .program = CALLBACK_PROGRAM, .session = {}};
		return callback_null(xid, found == backchannels.end() ? nobody : *found);
	}
	if (found == backchannels.end())
		throw Violation("the client has given this connection no backchannel");
	const std::uint32_t sequence = ++slot_sequence_[{found->session, slot}];
	return words[2] == "recalls" ? callback_recall_any(xid, *found, slot, sequence, number(words, "recalls", 0)) :
				       callback_sequence(xid, *found, slot, sequence);
}

void Suite::reach(const Words &words)
{
	const Segment segment = evaluate_segment(words.at(2), names());
	expectation_ = text_of(words);
	const Transferred done = transfer(words[1], segment);
	check_reach(done, words.at(3));
	// An RDMA operation that fails ends the connection, here at once, there in a while.
	if (!done.ok)
		end(false);
}

Transferred Suite::transfer(const std::string &operation, const Segment &segment)
{
	Connection &there = connection();
	Memory memory(there, segment.length, Access::none);
	const Deadline deadline = settings_.patience.deadline();
	if (operation == "read")
		return there.read(segment, memory, 0, deadline);
	if (operation == "write")
		return there.write_and_confirm(memory, 0, segment.length, segment, deadline);
	if (there.device().transport == "iWARP")
		throw Unable("iWARP has no RDMA Write with immediate data");
	return there.write_with_immediate(memory, 0, segment.length, segment, deadline);
}

} // namespace peer
