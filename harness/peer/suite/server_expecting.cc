// SPDX-License-Identifier: GPL-2.0-only
//
// What a case expects.

#include "suite/server_run.hh"

#include <algorithm>
#include <utility>

#include "engine/direction.hh"
#include "service/service.hh"

namespace peer {

Event Run::receive(Link &here, Deadline deadline)
{
	Event event = here.connection->receive(deadline);
	if (const auto *const message = std::get_if<Message>(&event)) {
		record(false, message->bytes, message->invalidated);
		trace("<- " + describe_message(message->bytes) +
		      (message->invalidated ? " invalidates=" + std::to_string(*message->invalidated) : ""));
	} else if (const auto *const closed = std::get_if<Closed>(&event))
		trace("<- closed: " + closed->reason);
	return event;
}

Event Run::next_event(Link &here, Awaited awaited)
{
	const Deadline deadline = patience_.deadline();
	do {
		Event event = receive(here, deadline);
		auto *const message = std::get_if<Message>(&event);
		if (message && answer_option(here, *message))
			continue;
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

Message Run::next_message(Link &here, const std::string &what, Awaited awaited)
{
	Event event = next_event(here, awaited);
	if (const auto *const closed = std::get_if<Closed>(&event))
		throw Violation("the connection ended instead of " + what + ": " + closed->reason,
				{compare("what comes", what, "the end of the connection")});
	if (std::holds_alternative<TimedOut>(event))
		throw Violation("nothing came in time instead of " + what, {compare("what comes", what, "nothing")});
	return std::get<Message>(std::move(event));
}

bool Run::is_reverse_call(const Link &here, const Message &message)
{
	if (!here.has_backchannel)
		return false;
	const Decoded decoded = decode_received(message);
	const Header &header = decoded.header;
	const bool is_outstanding = std::any_of(here.outstanding.begin(), here.outstanding.end(),
						[&](const auto &call) { return call.first == header.xid; });
	return !is_outstanding && is_call_message(decoded);
}

bool Run::answer_probe(Link &here, const Message &message)
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
	send_beside(here, frame);
	return true;
}

bool Run::answer_option(Link &here, const Message &message)
{
	if (here.agreement.version != VERSION_2)
		return false;
	Frame frame;
	try {
		const auto answer = answer_to_option(decode(message.bytes), features_);
		if (!answer)
			return false;
		frame.header = *answer;
	} catch (const Malformed &) {
		return false;
	}
	frame.header.credits = here.reverse_credits;
	send_beside(here, frame);
	return true;
}

void Run::send_beside(Link &here, const Frame &frame)
{
	const Bytes bytes = frame.bytes();
	record(true, bytes);
	trace("-> " + describe_message(bytes));
	const Transferred sent = here.connection->send(bytes, std::nullopt, patience_.deadline());
	if (!sent.ok)
		trace("   which failed: " + sent.status);
}

void Run::expect(const Step &step)
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
	else if (what == "option")
		expect_option(step);
	else if (what == "no-call")
		expect_no_call();
	else if (what == "dropped")
		expect_dropped_or(behind(words, "or"));
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

std::unique_ptr<Transaction> Run::take_outstanding(Link &here, ByteView message)
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

void Run::get_delegation(const Step &step)
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

Reply Run::judged_reply(Link &here, bool again)
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

void Run::expect_reply(const Step &step)
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
		throw Violation("NFS status " + std::to_string(result.status) + " came",
				{compare("NFS status", "0", std::to_string(result.status))});
	if (result.status == 0 && words.size() == 2)
		judge_data(result);
}

void Run::judge_data(const NfsResult &result) const
{
	const std::string &name = answered_->call().name;
	Bytes expected;
	if (name.ends_with(" READ") || name.ends_with(" READ and READLINK"))
		expected = pattern(read_offset_, result.count);
	if (name.ends_with(" READLINK"))
		expected.insert(expected.end(), server_.link_target.begin(), server_.link_target.end());
	if (result.data != expected)
		throw Violation("the data that were read are not those of the file, or of the link",
				compare_bytes(expected, result.data));
}

void Run::expect_replies(std::uint64_t count)
{
	for (std::uint64_t i = 0; i < count; i++) {
		const Reply reply = judged_reply(link());
		check_rpc_status(reply.result.accepted, reply.result.rpc_status, "success");
		if (reply.result.status != 0)
			throw Violation("NFS status " + std::to_string(reply.result.status) + " came with Reply " +
					std::to_string(i));
		judge_data(reply.result);
	}
}

void Run::expect_error(const Step &step)
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

Header Run::expected_error(const Words &words)
{
	Header expected = {.xid = sent_.xid,
			   .version = sent_.version,
			   .type = RDMA_ERROR,
			   .reads = {},
			   .writes = {},
			   .reply = {},
			   .error = static_cast<std::uint32_t>(evaluate(words.at(2), {}))};
	if (words.at(2) == "VERS") {
		expected.version_low = static_cast<std::uint32_t>(evaluate(words.at(3), names()));
		expected.version_high = static_cast<std::uint32_t>(evaluate(words.at(4), names()));
	}
	return expected;
}

Header Run::judged_error(const Message &message, const Words &words)
{
	const Decoded decoded = decode_received(message);
	const Header &header = decoded.header;
	const Header expected = expected_error(words);
	const auto require = [&](bool is_so, const std::string &wrong) {
		if (!is_so)
			throw Violation(wrong, compare_errors(expected, decoded));
	};
	require(header.type == RDMA_ERROR, "what came is no RDMA_ERROR: " + describe(header));
	require(header.error == expected.error, "the RDMA_ERROR is another: " + describe(header));
	require(words.at(2) != "VERS" ||
			(header.version_low == expected.version_low && header.version_high == expected.version_high),
		"the range of versions is another: " + describe(header));
	require(header.xid == expected.xid, "the RDMA_ERROR has another XID than the Call (bis-04, 5.5)");
	require(header.version == expected.version, "the RDMA_ERROR has version " + std::to_string(header.version) +
							    ", the Call had " + std::to_string(expected.version) +
							    " (bis-04, 5.5)");
	require(header.credits != 0, "the RDMA_ERROR grants no credit");
	require(decoded.payload.empty(), "there are bytes behind the RDMA_ERROR");
	if (message.invalidated)
		throw Violation("the RDMA_ERROR invalidates a handle");
	return header;
}

void Run::expect_refusal()
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

Message Run::next_call(Link &here)
{
	if (here.early_calls.empty())
		return next_message(here, "a Call in the reverse direction", Awaited::call);
	Message message = std::move(here.early_calls.front());
	here.early_calls.pop_front();
	return message;
}

void Run::expect_call(const Step &step)
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
	if (const auto fault = direction_fault(*here.reverse_call))
		throw Violation(*fault);
	check_all(
		step.block, [&](const std::string &name) { return field(header, name); }, names());
}

void Run::expect_no_call()
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

void Run::expect_option(const Step &step)
{
	const Message message = next_message(link(), "the answer to an option");
	const Decoded answer = decode_received(message);
	check_option(answer, sent_, step.line.words, names());
	if (message.invalidated)
		throw Violation("the answer invalidates a handle");
	check_all(
		step.block, [&](const std::string &name) { return field(answer.header, name); }, names());
}

void Run::expect_dropped_or(const std::optional<std::string> &error)
{
	const Words allowed = {"expect", "error", error.value_or("")};
	expect_dropped(error ? &allowed : nullptr);
}

void Run::expect_dropped(const Words *error)
{
	Link &here = link();
	here.outstanding.clear();
	const Header dropped = sent_;
	for (int i = 0; i < 2; i++) {
		auto fence = std::make_unique<Transaction>(*here.connection, here.agreement, nfs3::null(next_xid()),
							   Style::as_needed, std::vector<Line>{}, Names{});
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

void Run::expect_closed()
{
	Link &here = link();
	for (;;) {
		const Event event = next_event(here);
		if (std::holds_alternative<Closed>(event))
			return;
		if (std::holds_alternative<TimedOut>(event))
			throw Violation("the connection is still up",
					{compare("what comes", "the end of the connection", "nothing")});
		// Calls that came before what closes the connection may be answered.
		const Message &message = std::get<Message>(event);
		if (!take_outstanding(here, message.bytes))
			throw Violation(
				"a message came instead: " + describe_message(message.bytes),
				{compare("what comes", "the end of the connection", describe_message(message.bytes))});
		if (XdrReader(message.bytes).u32("rdma_xid") == sent_.xid)
			throw Violation(
				"it was answered: " + describe_message(message.bytes),
				{compare("what comes", "the end of the connection", describe_message(message.bytes))});
	}
}

void Run::expect_refused()
{
	if (!links_.contains(current_) || links_[current_].connection)
		throw Violation("the connection came about");
	if (links_[current_].why != NotConnected::Why::rejected)
		throw Violation("it was not refused but came to nothing: " + links_[current_].refused);
}

void Run::expect_scratch(bool written)
{
	const Bytes content = server_.scratch_content(written_.size());
	if (written && content != written_)
		throw Violation("the file does not hold what was written", compare_bytes(written_, content));
	if (const Bytes zeros(content.size()); !written && content != zeros)
		throw Violation("the file has been written to", compare_bytes(zeros, content));
}

void Run::expect_untouched(const std::string &what)
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
	const auto expected = ByteView(content).subspan(from);
	const auto found = memory->bytes().subspan(from);
	if (!std::equal(expected.begin(), expected.end(), found.begin()))
		throw Violation("memory '" + what + "' has been written to", compare_bytes(expected, found));
}

} // namespace peer
