// SPDX-License-Identifier: GPL-2.0-only

#include "report/side_by_side.hh"

#include <algorithm>
#include <ostream>

#include "report/text.hh"

namespace peer {

namespace {

// What a column is as wide as, and the blanks behind it.
constexpr std::size_t GAP = 2;

template <typename Text> std::size_t width_of(const Comparison &comparison, std::string_view title, Text text)
{
	std::size_t width = characters(title);
	for (const Compared &row : comparison)
		width = std::max(width, characters(on_one_line(text(row))));
	return width + GAP;
}

// Lines below the words that differ; nothing where that is all of them.
std::string underline(const std::string &text, const std::string &other)
{
	std::string line;
	bool is_needed = false;
	for (const MarkedWord &word : words_marked(text, other)) {
		line += (line.empty() ? "" : " ") + std::string(characters(word.text), word.differs ? '^' : ' ');
		is_needed = is_needed || !word.differs;
	}
	return is_needed ? line.substr(0, line.find_last_not_of(' ') + 1) : "";
}

} // namespace

void write_side_by_side(std::ostream &out, const Comparison &comparison, std::string_view indentation)
{
	if (comparison.empty())
		return;
	const std::size_t what = width_of(comparison, "", [](const Compared &row) { return row.what; });
	const std::size_t expected = width_of(comparison, "expected", [](const Compared &row) { return row.expected; });
	out << indentation << "  " << std::string(what, ' ') << pad_to("expected", expected) << "came\n";
	for (const Compared &row : comparison) {
		const std::string wanted = on_one_line(row.expected);
		const std::string found = on_one_line(row.came);
		out << indentation << (row.differs ? "! " : "  ") << pad_to(on_one_line(row.what), what)
		    << pad_to(wanted, expected) << found << '\n';
		if (const std::string line = row.differs ? underline(found, wanted) : ""; !line.empty())
			out << indentation << std::string(2 + what + expected, ' ') << line << '\n';
	}
}

} // namespace peer
