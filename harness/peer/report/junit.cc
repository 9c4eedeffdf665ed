// SPDX-License-Identifier: GPL-2.0-only

#include "report/report.hh"

#include <iomanip>
#include <ostream>
#include <sstream>

#include "report/setup.hh"
#include "report/side_by_side.hh"
#include "report/text.hh"

namespace peer {

namespace {

std::string attribute(std::string_view name, std::string_view value)
{
	std::string escaped = escape_markup(value);
	// A parser makes a blank of a line feed that stands in an attribute as it is.
	for (std::size_t at = 0; (at = escaped.find('\n', at)) != std::string::npos;)
		escaped.replace(at, 1, "&#10;");
	return " " + std::string(name) + "=\"" + escaped + "\"";
}

std::string attribute(std::string_view name, std::size_t value)
{
	return attribute(name, std::to_string(value));
}

std::string in_seconds(double seconds)
{
	std::ostringstream text;
	text << std::fixed << std::setprecision(3) << seconds;
	return text.str();
}

std::string seconds_of(const Report &report)
{
	double seconds = 0;
	for (const CaseResult &result : report.results)
		seconds += result.seconds;
	return in_seconds(seconds);
}

std::string counts(const Report &report)
{
	return attribute("tests", report.results.size()) + attribute("failures", report.count(Outcome::failed)) +
	       attribute("errors", std::size_t{0}) + attribute("skipped", report.count(Outcome::skipped)) +
	       attribute("time", seconds_of(report));
}

void write_property(std::ostream &out, std::string_view name, std::string_view value)
{
	out << "      <property" << attribute("name", name) << attribute("value", value) << "/>\n";
}

// "server.RFC 8166, 3_4_5": what reads JUnit makes a tree of the dots.
std::string class_of(const CaseResult &result, const Report &report)
{
	std::string section = result.section;
	for (char &character : section)
		if (character == '.')
			character = '_';
	return report.role + "." + section;
}

void write_outcome(std::ostream &out, const CaseResult &result)
{
	if (result.outcome == Outcome::failed) {
		std::ostringstream both;
		write_side_by_side(both, result.comparison, "");
		out << "      <failure" << attribute("message", result.came) << attribute("type", result.level)
		    << ">expected: " << escape_markup(result.expected) << "\ncame: " << escape_markup(result.came)
		    << '\n'
		    << escape_markup(both.str()) << "</failure>\n";
	} else if (result.outcome == Outcome::skipped)
		out << "      <skipped" << attribute("message", result.came) << "/>\n";
}

void write_case(std::ostream &out, const CaseResult &result, const Report &report)
{
	out << "    <testcase" << attribute("classname", class_of(result, report)) << attribute("name", result.name)
	    << attribute("time", in_seconds(result.seconds)) << ">\n";
	write_outcome(out, result);
	out << "      <system-out>" << escape_markup(result.level + ": " + result.title) << '\n';
	for (const std::string &line : result.trace)
		out << escape_markup(line) << '\n';
	if (!result.command.empty())
		out << escape_markup(result.command) << '\n';
	out << "</system-out>\n    </testcase>\n";
}

} // namespace

void write_junit(std::ostream &out, const Report &report)
{
	out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" << counts(report) << ">\n  <testsuite"
	    << attribute("name", "rpcordma-peer." + report.role) << counts(report)
	    << attribute("timestamp", report.started) << ">\n    <properties>\n";
	write_property(out, "device", report.device);
	if (!report.name.empty())
		write_property(out, "name", report.name);
	write_property(out, "peer-version", report.peer_version);
	for (const Fact &fact : facts_of(report))
		write_property(out, fact.name, fact.value);
	write_property(out, "verdict", report.verdict());
	if (!report.interrupted.empty())
		write_property(out, "interrupted", report.interrupted);
	out << "    </properties>\n";
	for (const CaseResult &result : report.results)
		write_case(out, result, report);
	if (!report.interrupted.empty())
		out << "    <system-err>" << escape_markup(report.interruption()) << "</system-err>\n";
	out << "  </testsuite>\n</testsuites>\n";
}

} // namespace peer
