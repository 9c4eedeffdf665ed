// SPDX-License-Identifier: GPL-2.0-only

#include "suite/words.hh"

#include <algorithm>
#include <map>

#include "report/text.hh"

namespace peer {

bool contains(const Words &words, const std::string &word)
{
	return std::find(words.begin(), words.end(), word) != words.end();
}

std::optional<std::string> behind(const Words &words, const std::string &word)
{
	const auto found = std::find(words.begin(), words.end(), word);
	if (found == words.end() || found + 1 == words.end())
		return std::nullopt;
	return *(found + 1);
}

std::uint64_t number_behind(const Words &words, const std::string &word, std::uint64_t usual, const Names &names)
{
	const auto text = behind(words, word);
	return text ? evaluate(*text, names) : usual;
}

Bytes bytes_of_hex(const std::string &digits)
{
	Frame frame;
	apply(frame, {0, {"payload", digits}}, {});
	return frame.payload;
}

std::string step_sending(ByteView message)
{
	return "send raw " + (message.empty() ? "nothing" : hex_of(message));
}

Bytes private_data_of(const Words &words)
{
	Bytes data(number_behind(words, "offset", 0));
	const Bytes said = bytes_of_hex(behind(words, "private").value_or(""));
	data.insert(data.end(), said.begin(), said.end());
	data.resize(number_behind(words, "length", data.size()));
	return data;
}

std::string expectation_of(const Step &step)
{
	std::string text = text_of(Words(step.line.words.begin() + 1, step.line.words.end()));
	for (const Line &line : step.block)
		text += ", " + text_of(line.words);
	return text;
}

Comparison compare_errors(const Header &expected, const Decoded &came)
{
	const Header &header = came.header;
	return {compare("type", name_of_type(expected), name_of_type(header)),
		compare("error", name_of_error(expected), header.type == RDMA_ERROR ? name_of_error(header) : "none"),
		compare("XID", in_hex(expected.xid), in_hex(header.xid)),
		compare("version", std::to_string(expected.version), std::to_string(header.version)),
		{.what = "credits",
		 .expected = "at least 1",
		 .came = std::to_string(header.credits),
		 .differs = header.credits == 0},
		compare("bytes behind the header", "0", std::to_string(came.payload.size()))};
}

namespace {

using Fields = std::function<std::optional<std::uint64_t>(const std::string &)>;

// "data.handle (7)"
std::string with_value(const std::string &word, const Names &names)
{
	try {
		const std::string value = std::to_string(evaluate(word, names));
		return value == word ? word : word + " (" + value + ")";
	} catch (const ScriptError &) {
		return word;
	}
}

// "FIELD OPERATOR VALUE [or VALUE]", beside what came. A line behind the one that is wrong may be about what is not there.
Compared compare_field(const Line &line, const Fields &fields, const Names &names)
{
	const auto found = fields(line.words[0]);
	std::string expected = line.words.at(1);
	for (std::size_t i = 2; i < line.words.size(); i++)
		expected += " " + (line.words[i] == "or" ? "or" : with_value(line.words[i], names));
	Compared row = {
		.what = line.words[0], .expected = expected, .came = found ? std::to_string(*found) : "nothing"};
	try {
		row.differs = check(line, {.value = fields, .memory = {}}, names).has_value();
	} catch (const ScriptError &) {
		row.differs = true;
	}
	return row;
}

Comparison compare_all(const std::vector<Line> &lines, const Fields &fields, const Names &names)
{
	Comparison rows;
	for (const Line &line : lines)
		rows.push_back(compare_field(line, fields, names));
	return rows;
}

} // namespace

void check_all(const std::vector<Line> &lines, const Fields &fields, const Names &names)
{
	for (const Line &line : lines)
		if (const auto wrong = check(line, {.value = fields, .memory = {}}, names))
			throw Violation(*wrong, compare_all(lines, fields, names));
}

void check_private_data(ByteView received, const std::vector<Line> &lines, const Names &names)
{
	const auto found = find_private_data(received);
	if (!found)
		throw Violation("there is no private data of RFC 8797",
				{compare("private data", "of RFC 8797", "none of it")});
	const std::map<std::string, std::uint64_t> fields = {
		{"send", found->send_size},
		{"receive", found->receive_size},
		{"invalidation", found->remote_invalidation},
		{"reserved", found->reserved},
	};
	const auto field = [&](const std::string &name) {
		const auto value = fields.find(name);
		return value == fields.end() ? std::nullopt : std::optional(value->second);
	};
	check_all(lines, field, names);
}

Decoded decode_received(const Message &message)
{
	try {
		return decode(message.bytes);
	} catch (const Malformed &malformed) {
		throw Violation(std::string("what came cannot be decoded: ") + malformed.what());
	}
}

Features features_of(const Case &test)
{
	Features features;
	for (const std::string &name : test.features) {
		features.push_back(feature_called(name));
		if (!features.back())
			throw ScriptError(test.name + ": the peer has no feature '" + name + "'");
	}
	return features;
}

void check_option(const Decoded &answer, const Header &sent, const Words &words, const Names &names)
{
	const Header &header = answer.header;
	if (header.type != RDMA2_OPTIONAL || header.direction != DIRECTION_REPLY)
		throw Violation("what came is no answer to an option: " + describe(header),
				{compare("type", "OPTIONAL", name_of_type(header))});
	if (header.xid != sent.xid)
		throw Violation("the answer has another XID than the option: " + describe(header),
				{compare("XID", in_hex(sent.xid), in_hex(header.xid))});
	if (header.credits == 0)
		throw Violation("the answer grants no credit");
	if (header.option != evaluate(words.at(2), names))
		throw Violation("the answer is of another type: " + describe(header),
				{compare("opttype", in_hex(evaluate(words.at(2), names)), in_hex(header.option))});
	if (const Bytes data = words.size() > 3 ? bytes_of_hex(words[3]) : Bytes(); header.option_info != data)
		throw Violation("the answer has other data", compare_bytes(data, header.option_info));
	if (!answer.payload.empty())
		throw Violation("there are bytes behind the answer");
}

void check_rpc_status(bool accepted, std::uint32_t status, const std::string &name)
{
	static const std::map<std::string, std::uint32_t> STATUSES = {
		{"success", RPC_SUCCESS},
		{"prog-unavail", RPC_PROG_UNAVAIL},
		{"prog-mismatch", RPC_PROG_MISMATCH},
		{"proc-unavail", RPC_PROC_UNAVAIL},
		{"garbage-args", RPC_GARBAGE_ARGS},
		{"system-err", RPC_SYSTEM_ERR},
		{"rpc-mismatch", RPC_MISMATCH},
		{"auth-error", RPC_AUTH_ERROR},
	};
	const auto wanted = STATUSES.find(name);
	if (wanted == STATUSES.end())
		throw ScriptError("'" + name + "' is no RPC status");
	const bool is_rejection = name == "rpc-mismatch" || name == "auth-error";
	if (accepted != is_rejection && status == wanted->second)
		return;
	const std::string came = std::string(accepted ? "accept_stat " : "reject_stat ") + std::to_string(status);
	throw Violation("RPC " + came + " came", {compare("RPC status",
							  std::string(is_rejection ? "reject_stat " : "accept_stat ") +
								  std::to_string(wanted->second),
							  came)});
}

void check_reach(const Transferred &done, const std::string &wanted)
{
	if (wanted != "ok" && wanted != "fails" && wanted != "unrefused")
		throw ScriptError("an RDMA operation is 'ok', 'fails' or is 'unrefused', not '" + wanted + "'");
	if (done.ok ? wanted == "fails" : wanted == "ok" || (wanted == "unrefused" && done.is_refused()))
		throw Violation(done.ok ? "it worked" : "it failed: " + done.status);
	if (done.inconclusive)
		throw Violation("it was not refused, but failed at this end: " + done.status);
}

std::string time_text(unsigned time, unsigned times)
{
	return "time " + std::to_string(time) + " of " + std::to_string(times) + ": ";
}

CaseResult new_result(const Case &test)
{
	CaseResult result;
	result.name = test.name;
	result.section = test.section;
	result.level = test.level;
	result.title = test.title;
	result.requirements = test.requirements;
	result.outcome = Outcome::passed;
	for (const Step &step : test.steps) {
		if (step.line.words[0] == "expect")
			result.expected += (result.expected.empty() ? "" : "; ") + expectation_of(step);
	}
	return result;
}

} // namespace peer
