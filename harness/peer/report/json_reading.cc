// SPDX-License-Identifier: GPL-2.0-only

#include "report/report.hh"

#include <charconv>
#include <istream>

#include <nlohmann/json.hpp>

#include "language/case.hh"

namespace peer {

namespace {

using nlohmann::json;

std::string text_of(const json &value)
{
	return value.is_null() ? std::string() : value.get<std::string>();
}

Outcome outcome_called(const std::string &name)
{
	for (const Outcome outcome : OUTCOMES)
		if (name_of(outcome) == name)
			return outcome;
	throw ScriptError("'" + name + "' is no outcome");
}

Comparison comparison_of(const json &from)
{
	Comparison rows;
	for (const json &row : from)
		rows.push_back({.what = row.at("what"),
				.expected = row.at("expected"),
				.came = row.at("came"),
				.differs = row.at("differs")});
	return rows;
}

std::vector<std::uint8_t> bytes_of_hex(const std::string &text)
{
	if (text.size() % 2 != 0)
		throw ScriptError("half a byte in hexadecimal");
	std::vector<std::uint8_t> bytes;
	for (std::size_t at = 0; at < text.size(); at += 2) {
		std::uint8_t &byte = bytes.emplace_back();
		const char *const end = text.data() + at + 2;
		if (std::from_chars(text.data() + at, end, byte, 16).ptr != end)
			throw ScriptError("'" + text.substr(at, 2) + "' is no byte in hexadecimal");
	}
	return bytes;
}

std::vector<Exchanged> messages_of(const json &from)
{
	std::vector<Exchanged> messages;
	for (const json &message : from) {
		Exchanged &next = messages.emplace_back();
		next = {.seconds = message.at("seconds"),
			.connection = message.at("connection"),
			.is_sent = message.at("sent"),
			.bytes = bytes_of_hex(message.at("bytes"))};
		if (const json &handle = message.at("invalidates"); !handle.is_null())
			next.invalidates = handle.get<std::uint32_t>();
	}
	return messages;
}

CaseResult result_of(const json &from)
{
	return {.name = from.at("name"),
		.section = from.at("section"),
		.level = from.at("level"),
		.title = from.at("title"),
		.requirements = from.at("requirements"),
		.outcome = outcome_called(from.at("outcome")),
		.expected = from.at("expected"),
		.came = from.at("came"),
		.comparison = comparison_of(from.at("comparison")),
		.trace = from.at("trace"),
		.messages = messages_of(from.at("messages")),
		.messages_left_out = from.at("messages_left_out"),
		.seconds = from.at("seconds"),
		.in_order = from.at("in_order"),
		.command = text_of(from.at("command"))};
}

Requirement requirement_of(const json &from)
{
	return {.identifier = from.at("identifier"),
		.level = from.at("level"),
		.who = from.at("who"),
		.seen = from.at("seen"),
		.what = from.at("what"),
		.same_as = text_of(from.at("same_as"))};
}

Tester tester_of(const json &from)
{
	return {.kernel = text_of(from.at("kernel")),
		.device = text_of(from.at("device")),
		.driver = text_of(from.at("driver")),
		.firmware = text_of(from.at("firmware")),
		.transport = text_of(from.at("transport"))};
}

std::optional<Terms> terms_of(const json &from)
{
	if (from.is_null())
		return std::nullopt;
	Terms terms = {.announced = {},
		       .call_threshold = from.at("call_threshold"),
		       .reply_threshold = from.at("reply_threshold"),
		       .credits = from.at("credits")};
	if (const json &announced = from.at("announced"); !announced.is_null())
		terms.announced = {.send_size = announced.at("send_size"),
				   .receive_size = announced.at("receive_size"),
				   .remote_invalidation = announced.at("remote_invalidation")};
	return terms;
}

RunSettings settings_of(const json &from)
{
	return {.arguments = from.at("arguments"),
		.strict = from.at("strict"),
		.protocol = from.at("protocol"),
		.repeat = from.at("repeat"),
		.patience = from.at("patience"),
		.seed = from.at("seed")};
}

Report report_of(const json &from)
{
	Report report = {.role = from.at("role"),
			 .device = from.at("device"),
			 .name = text_of(from.at("name")),
			 .started = from.at("started"),
			 .peer_version = from.at("peer_version"),
			 .tester = tester_of(from.at("tester")),
			 .terms = terms_of(from.at("terms")),
			 .settings = settings_of(from.at("settings")),
			 .planned = from.at("planned"),
			 .interrupted = text_of(from.at("interrupted")),
			 .results = {}};
	for (const json &result : from.at("results"))
		report.results.push_back(result_of(result));
	for (const json &requirement : from.at("requirements"))
		report.requirements.push_back(requirement_of(requirement));
	return report;
}

} // namespace

Report read_json(std::istream &in, const std::string &name)
{
	try {
		const json from = json::parse(in);
		if (!from.is_object() || from.value("format", json()) != FORMAT)
			throw ScriptError(name + " is no report of rpcordma-peer as JSON");
		const unsigned version = from.at("format_version");
		if (version != FORMAT_VERSION)
			throw ScriptError(name + " has format version " + std::to_string(version) + ", and not " +
					  std::to_string(FORMAT_VERSION));
		return report_of(from);
	} catch (const json::exception &error) {
		throw ScriptError(name + " is no report of rpcordma-peer as JSON: " + error.what());
	}
}

} // namespace peer
