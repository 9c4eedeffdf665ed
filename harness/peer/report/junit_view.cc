// SPDX-License-Identifier: GPL-2.0-only

#include "report/view.hh"

#include <algorithm>
#include <sstream>

#include "report/report.hh"
#include "report/setup.hh"
#include "report/side_by_side.hh"

namespace peer {

namespace {

double seconds_of(const Report &report)
{
	double seconds = 0;
	for (const CaseResult &result : report.results)
		seconds += result.seconds;
	return seconds;
}

View properties_view(const Report &report)
{
	std::vector<Fact> properties = {{"device", report.device}};
	if (!report.name.empty())
		properties.push_back({"name", report.name});
	properties.push_back({"peer-version", report.peer_version});
	for (const Fact &fact : facts_of(report))
		properties.push_back(fact);
	properties.push_back({"verdict", report.verdict()});
	if (!report.interrupted.empty())
		properties.push_back({"interrupted", report.interrupted});
	return facts_view(properties);
}

// "server.RFC 8166, 3_4_5": what reads JUnit makes a tree of the dots.
std::string class_of(const CaseResult &result, const Report &report)
{
	std::string section = result.section;
	std::replace(section.begin(), section.end(), '.', '_');
	return report.role + "." + section;
}

View case_view(const CaseResult &result, const Report &report)
{
	std::ostringstream comparison;
	write_side_by_side(comparison, result.comparison, "");
	View view = case_view(result);
	view["class"] = class_of(result, report);
	view["comparison"] = comparison.str();
	view["messages"] = result.trace;
	return view;
}

} // namespace

View junit_view(const Report &report)
{
	View cases = View::array();
	for (const CaseResult &result : report.results)
		cases.push_back(case_view(result, report));
	return made_printable({{"name", "rpcordma-peer." + report.role},
			       {"started", report.started},
			       {"seconds", seconds_of(report)},
			       {"failures", report.count(Outcome::failed)},
			       {"skipped", report.count(Outcome::skipped)},
			       {"properties", properties_view(report)},
			       {"cases", std::move(cases)},
			       {"interruption", report.interruption()}});
}

} // namespace peer
