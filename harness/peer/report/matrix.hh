// SPDX-License-Identifier: GPL-2.0-only
//
// Implementations side by side.

#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "report/report.hh"

namespace peer {

/// What one implementation came to in a row.
struct Cell {
	std::optional<Outcome> outcome; // nothing where it was not tested
	std::string came; // of what failed or was skipped

	bool operator==(const Cell &other) const { return outcome == other.outcome; }
};

struct MatrixRow {
	std::string level;
	std::string subject; // rows of one subject stand together
	std::string name; // of a case, or the identifier of a requirement
	std::string section; // its identifier
	std::string title;
	std::vector<Cell> cells; // one for each implementation

	/// What it stands below, with the others of its weight and subject: "MUST, padding".
	[[nodiscard]] std::string heading() const;
	/// Whether implementations that were tested differ.
	[[nodiscard]] bool differs() const;
};

struct Matrix {
	/// What the rows are.
	enum class Rows { cases, requirements };

	/// One for each implementation: its reports made one.
	std::vector<Report> columns;
	Rows rows_are = Rows::cases;
	/// MUSTs first; then by subject.
	std::vector<MatrixRow> rows;

	[[nodiscard]] std::size_t differences() const;
	/// "The server under test: 7 of 330 cases differ".
	[[nodiscard]] std::string heading() const;
};

/// Reports with the same name are of the same implementation, and the later ones overrule. Throws ScriptError where some are of
/// servers and others of clients.
[[nodiscard]] Matrix matrix_of(const std::vector<Report> &reports, Matrix::Rows rows_are);

/// As a table for the terminal: with @only_differences, of the rows that differ.
void write_matrix(std::ostream &out, const Matrix &matrix, bool only_differences, bool colour);

} // namespace peer
