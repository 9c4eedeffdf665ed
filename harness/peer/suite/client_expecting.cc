// SPDX-License-Identifier: GPL-2.0-only
//
// What a case expects of the client.

#include "suite/client_run.hh"

#include <algorithm>
#include <utility>

#include "suite/export.hh"

namespace peer {

void Suite::expect(const Step &step)
{
	const Words &words = step.line.words;
	const std::string &what = words.at(1);
	expectation_ = expectation_of(step);
	if (what == "call")
		check_all(
			step.block, [this](const std::string &name) { return field_of(held(), name); }, names());
	else if (what == "client")
		expect_client(words);
	else if (what == "connection")
		expect_connection(words.at(2));
	else if (what == "reply" || what == "error")
		expect_reverse(step);
	else if (what == "option")
		expect_option(step);
	else if (what == "dropped")
		expect_dropped(words);
	else if (what == "private")
		check_private(step);
	else
		throw ScriptError("'" + what + "' is nothing that can be expected of a client");
}

std::uint64_t Suite::length_of_reads(const Header &header)
{
	std::uint64_t length = 0;
	for (const ReadSegment &read : header.reads)
		length += read.target.length;
	return length;
}

bool Suite::has_result()
{
	const File *const file = tree_.find(result_file());
	return file && parse_result(file->content);
}

const ClientResult &Suite::client_result()
{
	if (!client_) {
		serve_until([this] { return has_result(); }, "the client's result");
		begin_ = {};
		client_ = parse_result(tree_.find(result_file())->content);
	}
	return *client_;
}

void Suite::expect_client(const Words &words)
{
	const ClientResult &result = client_result();
	const auto other = std::find(words.begin(), words.end(), "or");
	const auto wrong = fault_of(result, Words(words.begin() + 2, other));
	if (!wrong)
		return;
	const Comparison comparison = {{.what = "the client's operation",
					.expected = text_of(Words(words.begin() + 2, words.end())),
					.came = result.described(),
					.differs = true}};
	if (other == words.end())
		throw Violation(*wrong, comparison);
	if (const auto as_well = fault_of(result, Words(other + 1, words.end())))
		throw Violation(*wrong == *as_well ? *wrong : *wrong + ", and " + *as_well, comparison);
}

std::optional<std::string> Suite::fault_of(const ClientResult &result, const Words &outcome)
{
	const std::string &name = outcome.at(0);
	if (name == "ok" && result.status != 0)
		return "the client's operation failed: " + result.output;
	if (name == "ok" || (name == "any" && result.status == 0))
		return fault_of_data(result);
	if (name == "any")
		return std::nullopt;
	if (result.status == 0)
		return "the client's operation succeeded";
	return name == "fails" ? std::nullopt : fault_of_error(result, outcome);
}

std::optional<std::string> Suite::fault_of_error(const ClientResult &result, const Words &outcome)
{
	static const std::map<std::string, std::string> ERRORS = {
		{"EIO", "Input/output error"},		{"EPROTONOSUPPORT", "Protocol not supported"},
		{"ETIMEDOUT", "Connection timed out"},	{"EACCES", "Permission denied"},
		{"ENAMETOOLONG", "File name too long"},
	};
	const auto error = ERRORS.find(outcome.at(0));
	if (error == ERRORS.end())
		throw ScriptError("'" + outcome[0] + "' is no error that is known here");
	const std::size_t seen = count_of(error->second, result.output);
	if (seen == 0)
		return "the client's operation failed otherwise: " + result.output;
	if (contains(outcome, "times") && seen != number(outcome, "times", 1))
		return "it failed " + std::to_string(seen) + " times: " + result.output;
	return std::nullopt;
}

std::size_t Suite::count_of(const std::string &part, const std::string &text)
{
	std::size_t count = 0;
	for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
		count++;
	return count;
}

std::optional<std::string> Suite::fault_of_data(const ClientResult &result)
{
	const std::string &operation = instance_->test->operation[0];
	const std::size_t size = instance_->size();
	const bool reads_so_much = operation == "idle" || operation == "killed";
	if ((operation == "read" || reads_so_much) &&
	    result.read != cksum_line(pattern(0, reads_so_much ? 8192 : size, 3)))
		return "the client read other data than the file has: " + result.read;
	if (operation == "acl" && tree_.find("cases/" + instance_->name + "/data")->acl != acl_of(size))
		return "the file has not got its ACL";
	if (operation == "write" && tree_.find("cases/" + instance_->name + "/new")->content != pattern(0, size, 1))
		return "what the client wrote is not what came";
	if (operation == "readlink" && result.read != cksum_line(line_of('l', instance_->link_length())))
		return "the client read another link: " + result.read;
	if (operation == "rename" && !tree_.find("cases/" + instance_->name + "/" + std::string(size, '0')))
		return "the file has not got its new name";
	if (operation == "list" && result.output != std::to_string(size))
		return "the client saw " + result.output + " names in a directory of " + std::to_string(size);
	if (operation == "stat" && result.output != std::to_string(std::max(DATA_SIZE, size)))
		return "the client took the file's size for " + result.output;
	return std::nullopt;
}

void Suite::expect_connection(const std::string &what)
{
	if (what == "closed") {
		serve_until([this] { return !ended_.empty(); }, "the end of the connection");
		return;
	}
	static_cast<void>(client_result());
	// What has come meanwhile counts.
	serve_for({});
	if (!ended_.empty())
		throw Violation("the client has closed the connection", {compare("the connection", "kept", "closed")});
}

void Suite::expect_dropped(const Words &words)
{
	std::uint64_t allowed = number(words, "or", NOTHING);
	const bool is_fenced = has_backchannel();
	if (!is_fenced)
		static_cast<void>(client_result());
	for (int i = 0; is_fenced && i < 2; i++)
		expect_fence(allowed);
	if (!is_fenced && !others_.empty() && is_error(others_.front().second, allowed))
		others_.pop_front();
	if (!others_.empty())
		throw Violation("what came is " + describe_message(others_.front().second.bytes));
}

void Suite::expect_fence(std::uint64_t &allowed)
{
	Frame fence = new_frame();
	fence.payload = callback(fence.header.xid, {"send", "call", "null"}).stream;
	send_once(fence);
	Message message = next_other("the Reply to a Call behind it");
	if (allowed != NOTHING && is_error(message, allowed)) {
		allowed = NOTHING;
		message = next_other("the Reply to a Call behind it");
	}
	if (decode_received(message).header.xid != fence.header.xid)
		throw Violation("it was not dropped: " + describe_message(message.bytes));
}

bool Suite::is_error(const Message &message, std::uint64_t code) const
{
	const Header header = decode_received(message).header;
	return header.type == RDMA_ERROR && header.error == code && header.xid == sent_.xid &&
	       header.version == sent_.version &&
	       (code != ERR_VERS || (header.version_low == VERSION_1 && header.version_high == highest_version()));
}

bool Suite::has_backchannel()
{
	const auto &all = service_.backchannels();
	return std::any_of(all.begin(), all.end(), [this](const auto &there) { return there.connection == current(); });
}

Message Suite::next_other(const std::string &awaited)
{
	serve_until([this] { return !others_.empty() || !ended_.empty(); }, awaited);
	if (others_.empty())
		throw Violation("the client closed the connection");
	Message message = std::move(others_.front().second);
	others_.pop_front();
	return message;
}

void Suite::expect_reverse(const Step &step)
{
	Words words = step.line.words;
	const std::string allowed = behind(words, "or").value_or("");
	words.erase(std::find(words.begin(), words.end(), "or"), words.end());
	const bool is_error = words[1] == "error";
	if (allowed == "dropped" && is_error)
		return expect_dropped({"expect", "dropped", "or", words.at(2)});
	if (allowed == "dropped" && nothing_comes())
		return;
	if (!allowed.empty() && allowed != "dropped" && comes_as_error(evaluate(allowed, {})))
		return;
	const ReverseAnswer answer = next_reverse_answer(is_error, words.size() > 2 ? words[2] : "success");
	if (is_error && answer.decoded.header.error != evaluate(words.at(2), {}))
		throw Violation("the RDMA_ERROR is another: " + describe(answer.decoded.header),
				compare_errors({.xid = answer.decoded.header.xid,
						.version = sent_.version,
						.type = RDMA_ERROR,
						.error = static_cast<std::uint32_t>(evaluate(words.at(2), {}))},
					       answer.decoded));
	check_answer(step, answer);
}

void Suite::expect_option(const Step &step)
{
	const Decoded answer = decode_received(next_other("the answer to an option"));
	check_option(answer, sent_, step.line.words, names());
	check_all(
		step.block, [&](const std::string &name) { return field(answer.header, name); }, names());
}

bool Suite::nothing_comes()
{
	static_cast<void>(client_result());
	return others_.empty();
}

bool Suite::comes_as_error(std::uint64_t code)
{
	Message message = next_other("an answer");
	if (is_error(message, code))
		return true;
	others_.emplace_front(current(), std::move(message));
	return false;
}

Suite::ReverseAnswer Suite::next_reverse_answer(bool is_error, const std::string &status)
{
	const Message message = next_other("an answer");
	ReverseAnswer answer = {.length = message.bytes.size(), .decoded = decode_received(message), .stream = {}};
	const Header &header = answer.decoded.header;
	if (!sent_xids_.contains(header.xid))
		throw Violation("it has the XID of nothing that was sent: " + describe(header));
	if (header.version != sent_.version)
		throw Violation("it has another version than the Call (RFC 8167, 5.2)",
				{compare("version", std::to_string(sent_.version), std::to_string(header.version))});
	if (is_error != (header.type == RDMA_ERROR))
		throw Violation("what came is " + describe(header),
				{compare("type", is_error ? "ERROR" : "MSG", name_of_type(header))});
	if (header.version == VERSION_2 && header.direction != DIRECTION_REPLY)
		throw Violation("its direction is not REPLY (draft-cel-nfsv4-rpcrdma-version-two-01, 4.2.2)");
	if (header.credits == 0)
		throw Violation("it grants no credit");
	if (!is_error)
		answer.stream = judge_reverse_reply(answer.decoded, status);
	return answer;
}

void Suite::check_answer(const Step &step, const ReverseAnswer &answer)
{
	const auto fields = [&](const std::string &name) -> std::optional<std::uint64_t> {
		if (name == "length")
			return answer.length;
		if (name == "status")
			return read_callback_reply(answer.stream);
		return field(answer.decoded.header, name);
	};
	check_all(step.block, fields, names());
}

Bytes Suite::judge_reverse_reply(const Decoded &decoded, const std::string &status) const
{
	if (decoded.header.type != RDMA_MSG && decoded.header.type != RDMA_NOMSG)
		throw Violation("it is no RDMA_MSG or RDMA_NOMSG: " + describe(decoded.header));
	const Bytes stream = stream_of_reply(sent_, decoded, memory_);
	try {
		XdrReader xdr(stream);
		const ReplyHeader reply = read_reply(xdr);
		if (reply.xid != decoded.header.xid)
			throw Violation("the RPC message has another XID than its header (RFC 8167, 5.2)");
		check_rpc_status(reply.accepted, reply.status, status);
	} catch (const Malformed &malformed) {
		throw Violation(std::string("what came is no Reply: ") + malformed.what());
	}
	return stream;
}

} // namespace peer
