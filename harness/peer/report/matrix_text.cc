// SPDX-License-Identifier: GPL-2.0-only

#include "report/matrix.hh"

#include <algorithm>
#include <ostream>

#include "report/colour.hh"
#include "report/text.hh"

namespace peer {

namespace {

constexpr std::size_t CELL_WIDTH = 8;
constexpr std::string_view INDENTATION = "  ";

std::string number_of(std::size_t column)
{
	return std::to_string(column + 1);
}

void write_legend(std::ostream &out, const Matrix &matrix)
{
	for (std::size_t column = 0; column < matrix.columns.size(); column++)
		out << INDENTATION << pad_to(number_of(column), 3) << on_one_line(matrix.columns[column].called())
		    << ": " << matrix.columns[column].verdict() << '\n';
}

// What passed of what was tested, for each level.
void write_levels(std::ostream &out, const Matrix &matrix)
{
	constexpr std::size_t WIDTH = 12;
	for (const Weight &weight : weights()) {
		std::string line;
		std::size_t all = 0;
		for (const Report &column : matrix.columns) {
			const std::size_t passed = column.count(Outcome::passed, weight);
			const std::size_t tested = passed + column.count(Outcome::failed, weight);
			line += pad_to(std::to_string(passed) + " of " + std::to_string(tested), WIDTH);
			all += tested;
		}
		if (all > 0)
			out << INDENTATION << line << weight.title << '\n';
	}
}

std::string text_of(const Cell &cell, bool colour)
{
	// What failed stands out also where there are no colours.
	const std::string text = !cell.outcome			  ? "-" :
				 *cell.outcome == Outcome::failed ? "FAILED" :
								    name_of(*cell.outcome);
	const std::string padded = pad_to(text, CELL_WIDTH);
	return colour && cell.outcome ? in_colour_of(*cell.outcome, padded) : padded;
}

void write_row(std::ostream &out, const MatrixRow &row, std::size_t name_width, bool colour)
{
	out << (row.differs() ? "! " : INDENTATION);
	for (const Cell &cell : row.cells)
		out << text_of(cell, colour);
	out << pad_to(on_one_line(row.name), name_width) << ' ' << on_one_line(row.title) << '\n';
}

void write_rows(std::ostream &out, const Matrix &matrix, const std::vector<MatrixRow> &rows, bool colour)
{
	std::size_t name_width = 0;
	for (const MatrixRow &row : rows)
		name_width = std::max(name_width, characters(on_one_line(row.name)));
	std::string heading;
	for (const MatrixRow &row : rows) {
		if (const std::string next = row.heading(); next != heading) {
			heading = next;
			out << '\n' << INDENTATION;
			for (std::size_t column = 0; column < matrix.columns.size(); column++)
				out << pad_to(number_of(column), CELL_WIDTH);
			out << on_one_line(heading) << '\n';
		}
		write_row(out, row, name_width, colour);
	}
}

} // namespace

void write_matrix(std::ostream &out, const Matrix &matrix, bool only_differences, bool colour)
{
	std::vector<MatrixRow> rows = matrix.rows;
	if (only_differences)
		std::erase_if(rows, [](const MatrixRow &row) { return !row.differs(); });
	out << matrix.heading() << "\n\n";
	write_legend(out, matrix);
	out << '\n';
	write_levels(out, matrix);
	write_rows(out, matrix, rows, colour);
}

} // namespace peer
