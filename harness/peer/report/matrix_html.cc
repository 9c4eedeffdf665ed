// SPDX-License-Identifier: GPL-2.0-only

#include "report/matrix.hh"

#include <algorithm>
#include <ostream>
#include <set>

#include "report/page.hh"
#include "report/text.hh"

namespace peer {

namespace {

constexpr std::string_view STYLE = R"css(
body { max-width: 110rem; }
.wide { overflow-x: auto; }
.summary { width: auto; margin-top: 1rem; }
.summary td:not(:first-child), .summary th:not(:first-child) { text-align: center; }
.matrix td.cell, .matrix th.cell { text-align: center; min-width: 5.5rem; }
.matrix tr.differs { background: var(--raised); }
.matrix tr.differs td:first-child { box-shadow: inset .25rem 0 var(--link); }
.matrix td.failed { font-weight: bold; }
.matrix td:first-child { min-width: 14rem; overflow-wrap: anywhere; }
.matrix td.title { min-width: 18rem; }
.matrix td.title a { white-space: nowrap; }
.matrix td p { margin: 0; }
.matrix details summary { cursor: pointer; }
.matrix details p { max-width: 24rem; font-weight: normal; text-align: left; overflow-wrap: anywhere;
	color: var(--text); font-size: .85rem; }
.matrix tbody th { padding-top: 1.2rem; font-size: .95rem; color: var(--text); }
@media (max-width: 45rem) {
	.matrix, .matrix tbody, .matrix tr, .matrix td, .matrix tbody th { display: block; }
	.matrix thead { display: none; }
	.matrix td { border: 0; padding: .15rem .5rem; }
	.matrix td code { font-weight: bold; }
	.matrix td.cell { display: flex; justify-content: space-between; gap: 0 1rem; text-align: right; }
	.matrix td.cell::before { flex: 1; content: attr(data-name); color: var(--quiet); font-weight: normal;
		text-align: left; }
	.matrix summary { white-space: nowrap; }
	.matrix td.cell:has(details[open]) { flex-wrap: wrap; }
	.matrix tr { padding: .4rem 0; border-bottom: 1px solid var(--line); }
}
)css";

// A group of rows has a heading, which goes with them.
constexpr std::string_view SCRIPT = R"js(
const form = document.querySelector("form");
function filter() {
	const words = form.text.value.toLowerCase().split(/\s+/).filter(Boolean);
	let shown = 0;
	for (const row of document.querySelectorAll("tr[data-level]")) {
		const text = row.textContent.toLowerCase();
		row.hidden = !(words.every(word => text.includes(word)) &&
			(!form.level.value || row.dataset.level === form.level.value) &&
			(!form.differing.checked || row.classList.contains("differs")));
		shown += !row.hidden;
	}
	for (const group of document.querySelectorAll(".matrix tbody"))
		group.hidden = !group.querySelector("tr[data-level]:not([hidden])");
	form.shown.value = shown + " shown";
}
form.hidden = false;
form.addEventListener("input", filter);
form.addEventListener("submit", event => event.preventDefault());
filter();
)js";

std::string verdict_class(const Report &report)
{
	const std::optional<bool> conforms = report.conforms();
	return !conforms ? "skipped" : *conforms ? "passed" : "failed";
}

bool is_tested(const Weight &weight, const Matrix &matrix)
{
	return std::any_of(matrix.columns.begin(), matrix.columns.end(), [&](const Report &column) {
		return column.count(Outcome::passed, weight) + column.count(Outcome::failed, weight) > 0;
	});
}

// What passed of what was tested.
void write_summary(std::ostream &out, const Matrix &matrix)
{
	out << "<div class=\"wide\">\n<table class=\"summary\">\n<thead><tr><th></th>";
	for (const Report &column : matrix.columns)
		out << "<th>" << escape_markup(column.called()) << "</th>";
	out << "</tr></thead>\n<tbody>\n<tr><td>begun</td>";
	for (const Report &column : matrix.columns)
		out << "<td class=\"quiet\">" << escape_markup(column.started.substr(0, column.started.find('T')))
		    << "</td>";
	out << "</tr>\n<tr><td>verdict</td>";
	for (const Report &column : matrix.columns)
		out << "<td class=\"" << verdict_class(column) << "\">"
		    << (!column.conforms() ? "none" :
			*column.conforms() ? "conforms" :
					     "does not conform")
		    << "</td>";
	out << "</tr>\n";
	for (const Weight &weight : weights()) {
		if (!is_tested(weight, matrix))
			continue;
		out << "<tr><td>" << weight.title << "</td>";
		for (const Report &column : matrix.columns) {
			const std::size_t passed = column.count(Outcome::passed, weight);
			const std::size_t failed = column.count(Outcome::failed, weight);
			out << "<td class=\""
			    << (failed > 0 ? "failed" :
				passed > 0 ? "passed" :
					     "quiet")
			    << "\">" << passed << " of " << passed + failed << "</td>";
		}
		out << "</tr>\n";
	}
	out << "</tbody>\n</table>\n</div>\n";
}

// Hidden until the script runs: without one there is nothing that it could do.
void write_filter(std::ostream &out, const Matrix &matrix, bool only_differences)
{
	std::set<std::string> levels;
	for (const MatrixRow &row : matrix.rows)
		levels.insert(row.level);
	out << "<form hidden=\"hidden\">\n<input type=\"search\" name=\"text\" placeholder=\"Words to look for\" "
	    << "aria-label=\"Words to look for\" />\n<select name=\"level\" aria-label=\"Level\">"
	    << "<option value=\"\">every level</option>";
	for (const std::string &level : levels)
		out << "<option>" << escape_markup(level) << "</option>";
	out << "</select>\n<label><input type=\"checkbox\" name=\"differing\""
	    << (only_differences ? " checked=\"checked\"" : "")
	    << " /> differences only</label>\n<output name=\"shown\" class=\"quiet\"></output>\n</form>\n";
}

// On a narrow screen each cell has its column's name before it.
void write_cell(std::ostream &out, const Cell &cell, const std::string &column)
{
	const std::string outcome = cell.outcome ? name_of(*cell.outcome) : "–";
	out << "<td class=\"cell " << (cell.outcome ? outcome : "quiet") << "\" data-name=\"" << escape_markup(column)
	    << "\">";
	if (cell.came.empty())
		out << outcome;
	else
		out << "<details><summary>" << outcome << "</summary><p>" << escape_markup(cell.came)
		    << "</p></details>";
	out << "</td>";
}

void write_row(std::ostream &out, const MatrixRow &row, const Matrix &matrix)
{
	out << "<tr data-level=\"" << escape_markup(row.level) << '"' << (row.differs() ? " class=\"differs\"" : "")
	    << "><td><code>" << escape_markup(row.name) << "</code></td>";
	for (std::size_t column = 0; column < row.cells.size(); column++)
		write_cell(out, row.cells[column], matrix.columns[column].called());
	out << "<td class=\"title\">" << escape_markup(row.title) << " <span class=\"quiet\">("
	    << specification_link(row.section, row.section) << ")</span></td></tr>\n";
}

void write_rows(std::ostream &out, const Matrix &matrix)
{
	out << "<div class=\"wide\">\n<table class=\"matrix\">\n<thead><tr><th>"
	    << (matrix.rows_are == Matrix::Rows::cases ? "Case" : "Requirement") << "</th>";
	for (const Report &column : matrix.columns)
		out << "<th class=\"cell\">" << escape_markup(column.called()) << "</th>";
	out << "<th>What is required</th></tr></thead>\n";
	std::string heading;
	for (const MatrixRow &row : matrix.rows) {
		if (const std::string next = row.heading(); next != heading) {
			out << (heading.empty() ? "" : "</tbody>\n") << "<tbody>\n<tr><th colspan=\""
			    << matrix.columns.size() + 2 << "\">" << escape_markup(next) << "</th></tr>\n";
			heading = next;
		}
		write_row(out, row, matrix);
	}
	out << (heading.empty() ? "" : "</tbody>\n") << "</table>\n</div>\n";
}

} // namespace

void write_matrix_html(std::ostream &out, const Matrix &matrix, bool only_differences)
{
	const std::string title = "Conformance of " + matrix.heading();
	begin_page(out, title, STYLE);
	out << "<h1>" << escape_markup(title) << "</h1>\n";
	write_summary(out, matrix);
	write_filter(out, matrix, only_differences);
	write_rows(out, matrix);
	end_page(out, SCRIPT);
}

} // namespace peer
