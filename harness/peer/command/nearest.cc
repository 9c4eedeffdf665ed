// SPDX-License-Identifier: GPL-2.0-only

#include "command/nearest.hh"

#include <algorithm>

namespace peer {

// Optimal string alignment: the table of distances between beginnings of both, of which three rows are needed.
std::size_t distance(std::string_view a, std::string_view b)
{
	std::vector<std::size_t> before_last(b.size() + 1);
	std::vector<std::size_t> last(b.size() + 1);
	std::vector<std::size_t> row(b.size() + 1);
	for (std::size_t j = 0; j <= b.size(); j++)
		row[j] = j;
	for (std::size_t i = 1; i <= a.size(); i++) {
		before_last.swap(last);
		last.swap(row);
		row[0] = i;
		for (std::size_t j = 1; j <= b.size(); j++) {
			row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = std::min(row[j], before_last[j - 2] + 1);
		}
	}
	return row[b.size()];
}

std::string nearest(std::string_view word, const std::vector<std::string> &known)
{
	std::string found;
	// A third of its letters may be wrong: with more, it is another word.
	std::size_t least = (word.size() + 2) / 3 + 1;
	for (const std::string &candidate : known) {
		const bool begins = !word.empty() && candidate.starts_with(word);
		const std::size_t differs = begins ? 1 : distance(word, candidate);
		if (differs < least) {
			least = differs;
			found = candidate;
		}
	}
	return found;
}

std::string suggestion(std::string_view word, const std::vector<std::string> &known)
{
	const std::string found = nearest(word, known);
	return found.empty() ? "" : "; did you mean " + found + "?";
}

} // namespace peer
