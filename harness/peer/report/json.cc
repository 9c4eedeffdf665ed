// SPDX-License-Identifier: GPL-2.0-only

#include "report/report.hh"

#include <ostream>

#include <nlohmann/json.hpp>

namespace peer {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const CaseResult &result)
{
	return {{"name", result.name},
		{"section", result.section},
		{"level", result.level},
		{"title", result.title},
		{"requirements", result.requirements},
		{"outcome", name_of(result.outcome)},
		{"expected", result.expected},
		{"came", result.came},
		{"trace", result.trace},
		{"seconds", result.seconds},
		{"in_order", result.in_order}};
}

Json json_of(const Requirement &requirement, const Report &report)
{
	Json cases = Json::array();
	for (const CaseResult *const result : report.results_for(requirement))
		cases.push_back(result->name);
	return {{"identifier", requirement.identifier},
		{"level", requirement.level},
		{"who", requirement.who},
		{"seen", requirement.seen},
		{"what", requirement.what},
		{"same_as", requirement.same_as.empty() ? Json() : Json(requirement.same_as)},
		{"cases", std::move(cases)}};
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
	Json json = {{"role", report.role},
		     {"device", report.device},
		     {"started", report.started},
		     {"peer_version", report.peer_version},
		     {"planned", report.planned},
		     {"interrupted", report.interrupted.empty() ? Json() : Json(report.interrupted)},
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
