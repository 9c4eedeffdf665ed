// SPDX-License-Identifier: GPL-2.0-only

#include "report/report.hh"

#include <ostream>

#include <nlohmann/json.hpp>

#include "report/specification.hh"
#include "report/text.hh"

namespace peer {

namespace {

using Json = nlohmann::ordered_json;

// Nothing is null.
Json text_or_null(const std::string &text)
{
	return text.empty() ? Json() : Json(text);
}

Json json_of(const Comparison &comparison)
{
	Json rows = Json::array();
	for (const Compared &row : comparison)
		rows.push_back(
			{{"what", row.what}, {"expected", row.expected}, {"came", row.came}, {"differs", row.differs}});
	return rows;
}

Json json_of(const std::vector<Exchanged> &messages)
{
	Json all = Json::array();
	for (const Exchanged &message : messages)
		all.push_back({{"seconds", message.seconds},
			       {"connection", message.connection},
			       {"sent", message.is_sent},
			       {"bytes", hex_of(message.bytes)},
			       {"invalidates", message.invalidates ? Json(*message.invalidates) : Json()}});
	return all;
}

Json json_of(const CaseResult &result)
{
	return {{"name", result.name},
		{"section", result.section},
		{"url", text_or_null(url_of(section_identifier(result.section)))},
		{"level", result.level},
		{"title", result.title},
		{"requirements", result.requirements},
		{"outcome", name_of(result.outcome)},
		{"expected", result.expected},
		{"came", result.came},
		{"comparison", json_of(result.comparison)},
		{"trace", result.trace},
		{"messages", json_of(result.messages)},
		{"messages_left_out", result.messages_left_out},
		{"seconds", result.seconds},
		{"in_order", result.in_order},
		{"command", text_or_null(result.command)}};
}

Json json_of(const Requirement &requirement, const Report &report)
{
	Json cases = Json::array();
	for (const CaseResult *const result : report.results_for(requirement))
		cases.push_back(result->name);
	return {{"identifier", requirement.identifier},
		{"url", text_or_null(url_of(requirement.identifier))},
		{"level", requirement.level},
		{"who", requirement.who},
		{"seen", requirement.seen},
		{"what", requirement.what},
		{"same_as", text_or_null(requirement.same_as)},
		{"cases", std::move(cases)}};
}

Json json_of(const Tester &tester)
{
	return {{"kernel", text_or_null(tester.kernel)},
		{"device", text_or_null(tester.device)},
		{"driver", text_or_null(tester.driver)},
		{"firmware", text_or_null(tester.firmware)},
		{"transport", text_or_null(tester.transport)}};
}

Json json_of(const Terms &terms)
{
	Json announced;
	if (terms.announced)
		announced = {{"send_size", terms.announced->send_size},
			     {"receive_size", terms.announced->receive_size},
			     {"remote_invalidation", terms.announced->remote_invalidation}};
	return {{"announced", std::move(announced)},
		{"call_threshold", terms.call_threshold},
		{"reply_threshold", terms.reply_threshold},
		{"credits", terms.credits}};
}

Json json_of(const RunSettings &settings)
{
	return {{"arguments", settings.arguments}, {"strict", settings.strict},	    {"protocol", settings.protocol},
		{"repeat", settings.repeat},	   {"patience", settings.patience}, {"seed", settings.seed}};
}

Json levels_of(const Report &report)
{
	Json levels = Json::object();
	for (const Weight &weight : report.tested_weights())
		for (const Outcome outcome : OUTCOMES)
			levels[weight.word][name_of(outcome)] = report.count(outcome, weight);
	return levels;
}

// What came from the wire need not be UTF-8.
std::string text_of(const Json &json, int indent)
{
	return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

} // namespace

void write_json_line(std::ostream &out, const CaseResult &result)
{
	out << text_of(json_of(result), -1) << std::endl;
}

void write_json(std::ostream &out, const Report &report)
{
	Json json = {{"format", FORMAT},
		     {"format_version", FORMAT_VERSION},
		     {"role", report.role},
		     {"device", report.device},
		     {"name", text_or_null(report.name)},
		     {"started", report.started},
		     {"peer_version", report.peer_version},
		     {"tester", json_of(report.tester)},
		     {"terms", report.terms ? json_of(*report.terms) : Json()},
		     {"settings", json_of(report.settings)},
		     {"planned", report.planned},
		     {"interrupted", text_or_null(report.interrupted)},
		     {"conforms", report.conforms() ? Json(*report.conforms()) : Json()},
		     {"levels", levels_of(report)},
		     {"passed", report.count(Outcome::passed)},
		     {"failed", report.count(Outcome::failed)},
		     {"skipped", report.count(Outcome::skipped)},
		     {"results", Json::array()},
		     {"requirements", Json::array()}};
	for (const CaseResult &result : report.results)
		json["results"].push_back(json_of(result));
	for (const Requirement &requirement : report.requirements)
		json["requirements"].push_back(json_of(requirement, report));
	out << text_of(json, 2) << '\n';
}

} // namespace peer
