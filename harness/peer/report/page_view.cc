// SPDX-License-Identifier: GPL-2.0-only

#include "report/view.hh"

#include <algorithm>
#include <map>
#include <set>

#include "report/natural_order.hh"
#include "report/report.hh"
#include "report/setup.hh"
#include "report/specification.hh"

namespace peer {

namespace {

using Sections = std::map<std::string, std::vector<const CaseResult *>, InNaturalOrder>;

Sections sections_of(const Report &report)
{
	Sections sections;
	for (const CaseResult &result : report.results)
		sections[result.section].push_back(&result);
	return sections;
}

// An id may hold no blanks.
std::string anchor_of(std::string name)
{
	std::replace_if(
		name.begin(), name.end(),
		[](char character) { return character == ' ' || character == '\n' || character == '\t'; }, '-');
	return name;
}

// Within the page.
std::string url_of_row(const std::string &name)
{
	return "#" + anchor_of(name);
}

View total_view(Outcome outcome, std::size_t count)
{
	return {{"outcome", name_of(outcome)}, {"count", count}};
}

View totals_view(const Report &report)
{
	View totals = View::array();
	for (const Outcome outcome : OUTCOMES)
		totals.push_back(total_view(outcome, report.count(outcome)));
	return totals;
}

// What is no MUST stands apart from the verdict.
View weights_view(const Report &report)
{
	View weights = View::array();
	for (const Weight &weight : report.tested_weights()) {
		View totals = View::array();
		for (const Outcome outcome : OUTCOMES)
			totals.push_back(total_view(outcome, report.count(outcome, weight)));
		weights.push_back({{"title", weight.title}, {"totals", std::move(totals)}});
	}
	return weights;
}

// What rows can be looked for by.
View outcomes_view(const Report &report)
{
	View outcomes = View::array();
	for (const Outcome outcome : OUTCOMES)
		outcomes.push_back(name_of(outcome));
	if (!report.requirements.empty())
		outcomes.push_back("uncovered");
	return outcomes;
}

std::set<std::string> levels_of(const Report &report)
{
	std::set<std::string> levels;
	for (const CaseResult &result : report.results)
		levels.insert(result.level);
	for (const Requirement &requirement : report.requirements)
		levels.insert(requirement.level);
	return levels;
}

// Links lead to the requirements that the page lists.
View requirement_links(const CaseResult &result, const Report &report)
{
	View links = View::array();
	for (const std::string &identifier : result.requirements) {
		const bool listed =
			std::any_of(report.requirements.begin(), report.requirements.end(),
				    [&](const Requirement &other) { return other.identifier == identifier; });
		links.push_back({{"name", identifier}, {"url", listed ? url_of_row(identifier) : ""}});
	}
	return links;
}

std::string joined(const std::vector<std::string> &lines)
{
	std::string text;
	for (const std::string &line : lines)
		text += line + '\n';
	return text;
}

View case_view(const CaseResult &result, const Report &report)
{
	View view = case_view(result);
	view["anchor"] = anchor_of(result.name);
	view["comparison"] = comparison_view(result.comparison);
	view["messages"] = joined(result.trace);
	view["requirements"] = requirement_links(result, report);
	return view;
}

View sections_view(const Report &report)
{
	View sections = View::array();
	for (const auto &[section, results] : sections_of(report)) {
		View cases = View::array();
		for (const CaseResult *const result : results)
			cases.push_back(case_view(*result, report));
		sections.push_back({{"title", section},
				    {"url", url_of(section_identifier(section))},
				    {"cases", std::move(cases)}});
	}
	return sections;
}

// Why a requirement has no case; nothing where it has one.
std::string absence_of(const std::vector<const CaseResult *> &results, const Requirement &requirement)
{
	if (!results.empty())
		return {};
	return requirement.visible() ? "no case in this run" : "cannot be seen: " + requirement.seen.substr(4);
}

// What a requirement's row is found by: the outcomes of its cases, or that it has none.
std::set<std::string> outcomes_of(const std::vector<const CaseResult *> &results, const Requirement &requirement)
{
	std::set<std::string> outcomes;
	for (const CaseResult *const result : results)
		outcomes.insert(name_of(result->outcome));
	if (outcomes.empty() && requirement.visible())
		outcomes.insert("uncovered");
	return outcomes;
}

View case_links(const std::vector<const CaseResult *> &results)
{
	View links = View::array();
	for (const CaseResult *const result : results)
		links.push_back({{"name", result->name},
				 {"url", url_of_row(result->name)},
				 {"outcome", name_of(result->outcome)}});
	return links;
}

View requirement_view(const Requirement &requirement, const Report &report)
{
	const std::vector<const CaseResult *> results = report.results_for(requirement);
	View same_as;
	if (!requirement.same_as.empty())
		same_as = {{"name", requirement.same_as}, {"url", url_of_row(requirement.same_as)}};
	return {{"anchor", anchor_of(requirement.identifier)},
		{"name", requirement.identifier},
		{"url", url_of(requirement.identifier)},
		{"outcomes", outcomes_of(results, requirement)},
		{"level", requirement.level},
		{"what", requirement.what},
		{"who", requirement.who},
		{"same_as", std::move(same_as)},
		{"cases", case_links(results)},
		{"absence", absence_of(results, requirement)}};
}

View requirements_view(const Report &report)
{
	View requirements = View::array();
	for (const Requirement &requirement : report.requirements)
		requirements.push_back(requirement_view(requirement, report));
	return requirements;
}

} // namespace

View page_view(const Report &report)
{
	return made_printable(
		{{"title", "Conformance of " + std::string(report.name.empty() ? "the " : "") + report.called()},
		 {"protocol", report.settings.protocol == 1 ? "version 1" : "versions 1 and 2"},
		 {"started", report.started},
		 {"interruption", report.interruption()},
		 {"verdict", verdict_view(report, report.verdict())},
		 {"totals", totals_view(report)},
		 {"weights", weights_view(report)},
		 {"facts", facts_view(facts_of(report))},
		 {"outcomes", outcomes_view(report)},
		 {"levels", levels_of(report)},
		 {"sections", sections_view(report)},
		 {"requirements", requirements_view(report)}});
}

} // namespace peer
