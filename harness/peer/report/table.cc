// SPDX-License-Identifier: GPL-2.0-only

#include "report/report.hh"

#include <sys/ioctl.h>

#include <algorithm>
#include <ostream>
#include <sstream>

#include "report/colour.hh"
#include "report/side_by_side.hh"
#include "report/text.hh"

namespace peer {

namespace {

constexpr std::size_t OUTCOME_WIDTH = 7;
constexpr std::size_t LEVEL_WIDTH = 10;
constexpr std::string_view INDENTATION = "        ";

// The columns whose width depends on what is in them.
struct Columns {
	std::size_t name;
	std::size_t section;
};

// What most rows fit in, for those that are shown before the others are known.
constexpr Columns USUAL_COLUMNS = {.name = 34, .section = 18};

Columns columns_of(const Report &report)
{
	Columns columns = {.name = 0, .section = 0};
	for (const CaseResult &result : report.results) {
		columns.name = std::max(columns.name, characters(printable(result.name)));
		columns.section = std::max(columns.section, characters(printable(result.section)));
	}
	return columns;
}

void write_detail(std::ostream &out, std::string_view label, const std::string &text)
{
	if (text.empty())
		return;
	std::istringstream lines(printable(text));
	std::string lead = std::string(INDENTATION) + pad_to(label, 10);
	for (std::string line; std::getline(lines, line);) {
		out << lead << on_one_line(line) << '\n';
		lead.assign(lead.size(), ' ');
	}
}

void write_details(std::ostream &out, const CaseResult &result)
{
	if (result.outcome == Outcome::passed)
		return;
	if (result.outcome == Outcome::failed)
		write_detail(out, "expected", result.expected);
	write_detail(out, result.outcome == Outcome::failed ? "came" : "why", result.came);
	write_side_by_side(out, result.comparison, std::string(INDENTATION) + pad_to("", 8));
}

// As long as it is: a terminal breaks lines, and what is cut is missing.
void write_row(std::ostream &out, const CaseResult &result, const Columns &columns, bool colour)
{
	const std::string outcome = pad_to(name_of(result.outcome), OUTCOME_WIDTH);
	out << (colour ? in_colour_of(result.outcome, outcome) : outcome) << ' ' << pad_to(result.level, LEVEL_WIDTH)
	    << ' ' << pad_to(on_one_line(result.section), columns.section) << ' '
	    << pad_to(on_one_line(result.name), columns.name) << ' ' << on_one_line(result.title) << '\n';
	write_details(out, result);
}

} // namespace

std::size_t terminal_width(int descriptor)
{
	winsize size = {};
	return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void write_row(std::ostream &out, const CaseResult &result, bool colour)
{
	write_row(out, result, USUAL_COLUMNS, colour);
}

void write_table(std::ostream &out, const Report &report, bool colour)
{
	const Columns columns = columns_of(report);
	for (const CaseResult &result : report.results)
		write_row(out, result, columns, colour);
	write_summary(out, report);
}

void write_summary(std::ostream &out, const Report &report)
{
	out << report.verdict() << '\n';
	for (const Weight &weight : report.tested_weights())
		out << "  " << weight.title << ": " << report.count(Outcome::passed, weight) << " passed, "
		    << report.count(Outcome::failed, weight) << " failed, " << report.count(Outcome::skipped, weight)
		    << " skipped\n";
	out << report.count(Outcome::passed) << " passed, " << report.count(Outcome::failed) << " failed, "
	    << report.count(Outcome::skipped) << " skipped";
	if (!report.interrupted.empty())
		out << "; " << report.interruption();
	out << '\n';
}

} // namespace peer
