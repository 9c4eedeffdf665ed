// SPDX-License-Identifier: GPL-2.0-only

#include "report/view.hh"

#include <algorithm>
#include <set>

#include "report/matrix.hh"
#include "report/specification.hh"

namespace peer {

namespace {

std::string verdict_of(const Report &report)
{
	const std::optional<bool> conforms = report.conforms();
	return !conforms ? "none" : *conforms ? "conforms" : "does not conform";
}

View columns_view(const Matrix &matrix)
{
	View columns = View::array();
	for (const Report &column : matrix.columns)
		columns.push_back({{"name", column.called()},
				   {"begun", column.started.substr(0, column.started.find('T'))},
				   {"verdict", verdict_view(column, verdict_of(column))}});
	return columns;
}

// What passed of what was tested.
View total_view(const Report &column, const Weight &weight)
{
	const std::size_t passed = column.count(Outcome::passed, weight);
	const std::size_t failed = column.count(Outcome::failed, weight);
	View outcome;
	if (passed + failed > 0)
		outcome = name_of(failed > 0 ? Outcome::failed : Outcome::passed);
	return {{"passed", passed}, {"tested", passed + failed}, {"outcome", std::move(outcome)}};
}

bool is_tested(const Weight &weight, const Matrix &matrix)
{
	return std::any_of(matrix.columns.begin(), matrix.columns.end(), [&](const Report &column) {
		return column.count(Outcome::passed, weight) + column.count(Outcome::failed, weight) > 0;
	});
}

View weights_view(const Matrix &matrix)
{
	View all = View::array();
	for (const Weight &weight : weights()) {
		if (!is_tested(weight, matrix))
			continue;
		View totals = View::array();
		for (const Report &column : matrix.columns)
			totals.push_back(total_view(column, weight));
		all.push_back({{"title", weight.title}, {"totals", std::move(totals)}});
	}
	return all;
}

std::set<std::string> levels_of(const Matrix &matrix)
{
	std::set<std::string> levels;
	for (const MatrixRow &row : matrix.rows)
		levels.insert(row.level);
	return levels;
}

View cells_view(const MatrixRow &row)
{
	View cells = View::array();
	for (const Cell &cell : row.cells)
		cells.push_back(
			{{"outcome", cell.outcome ? View(name_of(*cell.outcome)) : View()}, {"came", cell.came}});
	return cells;
}

View row_view(const MatrixRow &row)
{
	return {{"level", row.level},	   {"name", row.name},		 {"title", row.title},
		{"section", row.section},  {"url", url_of(row.section)}, {"differs", row.differs()},
		{"cells", cells_view(row)}};
}

// Rows that stand below one heading.
View groups_view(const Matrix &matrix)
{
	View groups = View::array();
	for (const MatrixRow &row : matrix.rows) {
		const std::string heading = row.heading();
		if (groups.empty() || groups.back()["heading"] != heading)
			groups.push_back({{"heading", heading}, {"rows", View::array()}});
		groups.back()["rows"].push_back(row_view(row));
	}
	return groups;
}

} // namespace

View matrix_view(const Matrix &matrix, bool only_differences)
{
	return made_printable({{"title", "Conformance of " + matrix.heading()},
			       {"columns", columns_view(matrix)},
			       {"weights", weights_view(matrix)},
			       {"levels", levels_of(matrix)},
			       {"only_differences", only_differences},
			       {"rows_are", matrix.rows_are == Matrix::Rows::cases ? "Case" : "Requirement"},
			       {"groups", groups_view(matrix)}});
}

} // namespace peer
