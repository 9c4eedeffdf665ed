// SPDX-License-Identifier: GPL-2.0-only

#include "report/report.hh"

#include <algorithm>
#include <iomanip>
#include <map>
#include <ostream>
#include <set>
#include <sstream>

#include "report/natural_order.hh"
#include "report/page.hh"
#include "report/setup.hh"
#include "report/side_by_side.hh"
#include "report/specification.hh"
#include "report/text.hh"

namespace peer {

namespace {

constexpr std::string_view STYLE = R"css(
.bar { display: flex; height: .6rem; margin: 1rem 0 .5rem; border-radius: 4px; overflow: hidden;
	background: var(--line); }
.bar span { background: currentColor; }
.totals { display: flex; flex-wrap: wrap; gap: 1.5rem; margin: 0; padding: 0; list-style: none; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; font-size: .9rem; }
.facts dt { color: var(--quiet); } .facts dd { margin: 0; overflow-wrap: anywhere; }
.totals b { font-size: 1.3rem; }
details { border-bottom: 1px solid var(--line); }
details[open] { background: var(--raised); }
summary { display: grid; grid-template-columns: 5rem 6.5rem minmax(10rem, 18rem) 1fr; gap: .8rem;
	padding: .35rem .5rem; cursor: pointer; }
summary code { overflow-wrap: anywhere; }
.compared { width: auto; margin-top: .6rem; }
.compared td { overflow-wrap: anywhere; } .compared code { white-space: pre-wrap; }
.compared tr.differs td:first-child { color: var(--failed); font-weight: bold; }
mark { padding: 0 .1rem; border-radius: 2px; color: var(--page); background: var(--failed); }
.body { padding: 0 .7rem .9rem; }
td:first-child, td:nth-child(2) { white-space: nowrap; }
@media (max-width: 45rem) {
	summary { grid-template-columns: 5rem 1fr; gap: .2rem .8rem; }
	summary code, summary span:last-child { grid-column: 1 / -1; }
	.facts { grid-template-columns: 1fr; gap: 0; } .facts dd { margin-bottom: .5rem; }
	.weights { width: 100%; } td:first-child { white-space: normal; }
	.requirements, .requirements tbody, .requirements tr, .requirements td { display: block; }
	.requirements thead { display: none; } .requirements td { border: 0; padding: .1rem .5rem; }
	.requirements td:nth-child(2) { white-space: normal; } .requirements td { overflow-wrap: anywhere; }
	.requirements tr { padding: .5rem 0; border-bottom: 1px solid var(--line); }
	.compared td { display: block; border: 0; } .compared thead { display: none; }
	.compared tr { border-bottom: 1px solid var(--line); }
	.compared td + td::before { content: "expected: "; color: var(--quiet); }
	.compared td + td + td::before { content: "came: "; }
}
)css";

// Rows of both the results and the requirements say in data- attributes what they are found by.
constexpr std::string_view SCRIPT = R"js(
const form = document.querySelector("form");
function filter() {
	const words = form.text.value.toLowerCase().split(/\s+/).filter(Boolean);
	let shown = 0;
	for (const row of document.querySelectorAll("[data-outcome]")) {
		const text = row.textContent.toLowerCase();
		row.hidden = !(words.every(word => text.includes(word)) &&
			(!form.outcome.value || row.dataset.outcome.split(" ").includes(form.outcome.value)) &&
			(!form.level.value || row.dataset.level === form.level.value));
		shown += !row.hidden && row.tagName === "DETAILS";
	}
	for (const section of document.querySelectorAll("section"))
		section.hidden = !section.querySelector("[data-outcome]:not([hidden])");
	form.shown.value = shown + " shown";
}
function reveal() {
	const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
	if (row && row.tagName === "DETAILS") {
		row.open = true;
		row.scrollIntoView();
	}
}
form.hidden = false;
form.addEventListener("input", filter);
form.addEventListener("submit", event => event.preventDefault());
addEventListener("hashchange", reveal);
filter();
reveal();
)js";

using Sections = std::map<std::string, std::vector<const CaseResult *>, InNaturalOrder>;

Sections sections_of(const Report &report)
{
	Sections sections;
	for (const CaseResult &result : report.results)
		sections[result.section].push_back(&result);
	return sections;
}

// An id may hold no blanks.
std::string anchor_of(const std::string &name)
{
	std::string anchor = printable(name);
	std::replace_if(
		anchor.begin(), anchor.end(),
		[](char character) { return character == ' ' || character == '\n' || character == '\t'; }, '-');
	return escape_markup(anchor);
}

std::string title_of(const Report &report)
{
	return "Conformance of " + std::string(report.name.empty() ? "the " : "") + report.called();
}

void write_heading(std::ostream &out, const Report &report)
{
	out << "<h1>" << escape_markup(title_of(report)) << "</h1>\n<p class=\"quiet\">RPC-over-RDMA version"
	    << (report.settings.protocol == 1 ? " 1" : "s 1 and 2") << ". Begun " << escape_markup(report.started)
	    << ".</p>\n";
	if (!report.interrupted.empty())
		out << "<p class=\"failed\"><b>This run was " << escape_markup(report.interruption()) << ".</b></p>\n";
}

void write_facts(std::ostream &out, const Report &report)
{
	out << "<dl class=\"facts\">\n";
	for (const Fact &fact : facts_of(report))
		out << "<dt>" << escape_markup(fact.name) << "</dt><dd>" << escape_markup(fact.value) << "</dd>\n";
	out << "</dl>\n";
}

void write_totals(std::ostream &out, const Report &report)
{
	out << "<div class=\"bar\">";
	for (const Outcome outcome : OUTCOMES)
		out << "<span class=\"" << name_of(outcome) << "\" style=\"flex-grow: " << report.count(outcome)
		    << "\"></span>";
	out << "</div>\n<ul class=\"totals\">\n";
	for (const Outcome outcome : OUTCOMES)
		out << "<li class=\"" << name_of(outcome) << "\"><b>" << report.count(outcome) << "</b> "
		    << name_of(outcome) << "</li>\n";
	out << "</ul>\n";
}

// What is no MUST stands apart from the verdict.
void write_verdict(std::ostream &out, const Report &report)
{
	const std::optional<bool> conforms = report.conforms();
	out << "<p class=\"verdict "
	    << (!conforms ? "skipped" :
		*conforms ? "passed" :
			    "failed")
	    << "\">" << report.verdict() << "</p>\n<table class=\"weights\">\n<thead><tr><th>Level</th>";
	for (const Outcome outcome : OUTCOMES)
		out << "<th>" << name_of(outcome) << "</th>";
	out << "</tr></thead>\n<tbody>\n";
	for (const Weight &weight : report.tested_weights()) {
		out << "<tr><td>" << weight.title << "</td>";
		for (const Outcome outcome : OUTCOMES) {
			const std::size_t count = report.count(outcome, weight);
			out << "<td class=\"" << (count ? name_of(outcome) : "quiet") << "\">" << count << "</td>";
		}
		out << "</tr>\n";
	}
	out << "</tbody>\n</table>\n";
}

void write_option(std::ostream &out, const std::string &value)
{
	out << "<option>" << escape_markup(value) << "</option>";
}

// Hidden until the script runs: without one there is nothing that it could do.
void write_filter(std::ostream &out, const Report &report)
{
	std::set<std::string> levels;
	for (const CaseResult &result : report.results)
		levels.insert(result.level);
	for (const Requirement &requirement : report.requirements)
		levels.insert(requirement.level);

	out << "<form hidden=\"hidden\">\n<input type=\"search\" name=\"text\" placeholder=\"Words to look for\" "
	    << "aria-label=\"Words to look for\" />\n<select name=\"outcome\" aria-label=\"Outcome\">"
	    << "<option value=\"\">every outcome</option>";
	for (const Outcome outcome : OUTCOMES)
		write_option(out, name_of(outcome));
	if (!report.requirements.empty())
		write_option(out, "uncovered");
	out << "</select>\n<select name=\"level\" aria-label=\"Level\"><option value=\"\">every level</option>";
	for (const std::string &level : levels)
		write_option(out, level);
	out << "</select>\n<output name=\"shown\" class=\"quiet\"></output>\n</form>\n";
}

void write_part(std::ostream &out, std::string_view title, const std::string &text)
{
	if (!text.empty())
		out << "<h3>" << title << "</h3>\n<pre>" << escape_markup(text) << "</pre>\n";
}

void write_requirement_links(std::ostream &out, const CaseResult &result, const Report &report)
{
	if (result.requirements.empty())
		return;
	out << "<h3>Requirements</h3>\n<p>";
	for (const std::string &identifier : result.requirements) {
		const bool listed =
			std::any_of(report.requirements.begin(), report.requirements.end(),
				    [&](const Requirement &other) { return other.identifier == identifier; });
		if (listed)
			out << "<a href=\"#" << anchor_of(identifier) << "\">" << escape_markup(identifier) << "</a> ";
		else
			out << escape_markup(identifier) << ' ';
	}
	out << "</p>\n";
}

std::string joined(const std::vector<std::string> &lines)
{
	std::string text;
	for (const std::string &line : lines)
		text += line + '\n';
	return text;
}

void write_case(std::ostream &out, const CaseResult &result, const Report &report)
{
	const std::string outcome = name_of(result.outcome);
	std::ostringstream seconds;
	seconds << std::fixed << std::setprecision(3) << result.seconds;
	out << "<details id=\"" << anchor_of(result.name) << "\" data-outcome=\"" << outcome << "\" data-level=\""
	    << escape_markup(result.level) << '"' << (result.outcome == Outcome::failed ? " open=\"open\"" : "")
	    << ">\n<summary><b class=\"" << outcome << "\">" << outcome << "</b><span class=\"quiet\">"
	    << escape_markup(result.level) << "</span><code>" << escape_markup(result.name) << "</code><span>"
	    << escape_markup(result.title) << "</span></summary>\n<div class=\"body\">\n";
	write_part(out, "Expected", result.expected);
	write_part(out, result.outcome == Outcome::skipped ? "Why it was skipped" : "Came", result.came);
	write_side_by_side_html(out, result.comparison);
	write_part(out, "Messages", joined(result.trace));
	write_requirement_links(out, result, report);
	write_part(out, "To run it alone", result.command);
	out << "<p class=\"quiet\">" << seconds.str() << " s</p>\n</div>\n</details>\n";
}

void write_results(std::ostream &out, const Report &report)
{
	for (const auto &[section, results] : sections_of(report)) {
		out << "<section>\n<h2>" << specification_link(section_identifier(section), section) << "</h2>\n";
		for (const CaseResult *const result : results)
			write_case(out, *result, report);
		out << "</section>\n";
	}
}

// What a requirement's row is found by: the outcomes of its cases, or that it has none.
std::string outcomes_of(const std::vector<const CaseResult *> &results, const Requirement &requirement)
{
	std::set<std::string> outcomes;
	for (const CaseResult *const result : results)
		outcomes.insert(name_of(result->outcome));
	if (outcomes.empty() && requirement.visible())
		outcomes.insert("uncovered");
	std::string text;
	for (const std::string &outcome : outcomes)
		text += (text.empty() ? "" : " ") + outcome;
	return text;
}

void write_requirement(std::ostream &out, const Requirement &requirement, const Report &report)
{
	const std::vector<const CaseResult *> results = report.results_for(requirement);
	out << "<tr id=\"" << anchor_of(requirement.identifier) << "\" data-outcome=\""
	    << outcomes_of(results, requirement) << "\" data-level=\"" << escape_markup(requirement.level) << "\"><td>"
	    << specification_link(requirement.identifier, requirement.identifier) << "</td><td class=\"quiet\">"
	    << escape_markup(requirement.level) << "</td><td>" << escape_markup(requirement.what)
	    << " <span class=\"quiet\">(" << escape_markup(requirement.who);
	if (!requirement.same_as.empty())
		out << "; also <a href=\"#" << anchor_of(requirement.same_as) << "\">"
		    << escape_markup(requirement.same_as) << "</a>";
	out << ")</span></td><td>";
	for (const CaseResult *const result : results)
		out << "<a class=\"" << name_of(result->outcome) << "\" href=\"#" << anchor_of(result->name) << "\">"
		    << escape_markup(result->name) << "</a> ";
	if (results.empty() && requirement.visible())
		out << "<span class=\"quiet\">no case in this run</span>";
	else if (results.empty())
		out << "<span class=\"quiet\">cannot be seen: " << escape_markup(requirement.seen.substr(4))
		    << "</span>";
	out << "</td></tr>\n";
}

void write_requirements(std::ostream &out, const Report &report)
{
	if (report.requirements.empty())
		return;
	out << "<section>\n<h2>Requirements and their "
	       "cases</h2>\n<table class=\"requirements\">\n<thead><tr><th>Requirement</th><th>Level</th>"
	    << "<th>What is required</th><th>Cases</th></tr></thead>\n<tbody>\n";
	for (const Requirement &requirement : report.requirements)
		write_requirement(out, requirement, report);
	out << "</tbody>\n</table>\n</section>\n";
}

} // namespace

void write_html(std::ostream &out, const Report &report)
{
	begin_page(out, title_of(report), STYLE);
	write_heading(out, report);
	write_verdict(out, report);
	write_totals(out, report);
	write_facts(out, report);
	write_filter(out, report);
	write_results(out, report);
	write_requirements(out, report);
	end_page(out, SCRIPT);
}

} // namespace peer
