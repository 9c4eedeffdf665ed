// SPDX-License-Identifier: GPL-2.0-only

#include "report/matrix.hh"

#include <algorithm>
#include <map>
#include <set>

#include "language/case.hh"
#include "report/natural_order.hh"
#include "report/specification.hh"

namespace peer {

namespace {

void take_results(Report &whole, const Report &part)
{
	for (const CaseResult &result : part.results) {
		const auto earlier = std::find_if(whole.results.begin(), whole.results.end(),
						  [&](const CaseResult &other) { return other.name == result.name; });
		if (earlier == whole.results.end())
			whole.results.push_back(result);
		else
			*earlier = result;
	}
	if (whole.requirements.empty())
		whole.requirements = part.requirements;
}

std::vector<Report> columns_of(const std::vector<Report> &reports)
{
	std::vector<Report> columns;
	for (const Report &report : reports) {
		if (report.role != reports.front().role)
			throw ScriptError("reports about servers and about clients have no rows in common");
		const auto same = std::find_if(columns.begin(), columns.end(), [&](const Report &column) {
			return column.called() == report.called();
		});
		if (same == columns.end())
			columns.push_back(report);
		else
			take_results(*same, report);
	}
	return columns;
}

// "padding", of "server/padding-is-not-written".
std::string subject_of(const std::string &name)
{
	const std::string stem = name.substr(name.find('/') + 1);
	return stem.substr(0, stem.find('-'));
}

Cell cell_of(const CaseResult &result)
{
	return {.outcome = result.outcome, .came = result.outcome == Outcome::passed ? "" : result.came};
}

// What failed tells more than what passed, and that more than what was skipped.
Cell cell_of(const std::vector<const CaseResult *> &results)
{
	for (const Outcome outcome : {Outcome::failed, Outcome::passed, Outcome::skipped})
		for (const CaseResult *const result : results)
			if (result->outcome == outcome) {
				Cell cell = cell_of(*result);
				if (!cell.came.empty())
					cell.came.insert(0, result->name + ": ");
				return cell;
			}
	return {};
}

std::vector<MatrixRow> rows_of_cases(const std::vector<Report> &columns)
{
	std::map<std::string, MatrixRow> rows;
	for (std::size_t column = 0; column < columns.size(); column++)
		for (const CaseResult &result : columns[column].results) {
			MatrixRow &row =
				rows.try_emplace(result.name, MatrixRow{.level = result.level,
									.subject = subject_of(result.name),
									.name = result.name,
									.section = section_identifier(result.section),
									.title = result.title,
									.cells = {}})
					.first->second;
			row.cells.resize(columns.size());
			row.cells[column] = cell_of(result);
		}
	std::vector<MatrixRow> all;
	for (auto &[name, row] : rows)
		all.push_back(std::move(row));
	return all;
}

std::string section_of(const Requirement &requirement)
{
	return requirement.identifier.substr(0, requirement.identifier.rfind('-'));
}

// Those that some case tested. One that says the same as another has that one's row.
std::vector<MatrixRow> rows_of_requirements(const std::vector<Report> &columns)
{
	std::vector<MatrixRow> rows;
	std::set<std::string> known;
	for (const Report &any : columns)
		for (const Requirement &requirement : any.requirements) {
			if (!requirement.same_as.empty() || !known.insert(requirement.identifier).second)
				continue;
			MatrixRow row = {.level = requirement.level,
					 .subject = section_of(requirement),
					 .name = requirement.identifier,
					 .section = section_of(requirement),
					 .title = requirement.what,
					 .cells = {}};
			for (const Report &column : columns)
				row.cells.push_back(cell_of(column.results_for(requirement)));
			if (std::any_of(row.cells.begin(), row.cells.end(),
					[](const Cell &cell) { return cell.outcome.has_value(); }))
				rows.push_back(std::move(row));
		}
	return rows;
}

// Its place in weights(); behind them where it has none.
std::size_t rank_of(const std::string &level)
{
	const auto &all = weights();
	const auto found =
		std::find_if(all.begin(), all.end(), [&](const Weight &weight) { return weight.has(level); });
	return static_cast<std::size_t>(found - all.begin());
}

bool comes_before(const MatrixRow &a, const MatrixRow &b)
{
	const InNaturalOrder before;
	if (rank_of(a.level) != rank_of(b.level))
		return rank_of(a.level) < rank_of(b.level);
	if (a.subject != b.subject)
		return before(a.subject, b.subject);
	return before(a.name, b.name);
}

} // namespace

std::string MatrixRow::heading() const
{
	const std::size_t rank = rank_of(level);
	return (rank < weights().size() ? weights()[rank].title : level) + ", " + subject;
}

bool MatrixRow::differs() const
{
	std::set<Outcome> outcomes;
	for (const Cell &cell : cells)
		if (cell.outcome)
			outcomes.insert(*cell.outcome);
	return outcomes.size() > 1;
}

std::size_t Matrix::differences() const
{
	return static_cast<std::size_t>(
		std::count_if(rows.begin(), rows.end(), [](const MatrixRow &row) { return row.differs(); }));
}

std::string Matrix::heading() const
{
	return std::to_string(columns.size()) + " " + columns.front().role + "s: " + std::to_string(differences()) +
	       " of " + std::to_string(rows.size()) + (rows_are == Rows::cases ? " cases" : " requirements") +
	       " differ";
}

Matrix matrix_of(const std::vector<Report> &reports, Matrix::Rows rows_are)
{
	Matrix matrix = {.columns = columns_of(reports), .rows_are = rows_are, .rows = {}};
	matrix.rows = rows_are == Matrix::Rows::cases ? rows_of_cases(matrix.columns) :
							rows_of_requirements(matrix.columns);
	std::stable_sort(matrix.rows.begin(), matrix.rows.end(), comes_before);
	return matrix;
}

} // namespace peer
