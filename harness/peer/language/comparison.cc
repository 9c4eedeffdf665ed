// SPDX-License-Identifier: GPL-2.0-only

#include "language/comparison.hh"

#include <algorithm>
#include <sstream>

namespace peer {

namespace {

using Span = std::span<const std::uint8_t>;

constexpr std::size_t ROW = 16;
constexpr std::size_t MOST_ROWS = 4;

Span row_of(Span bytes, std::size_t at)
{
	return at >= bytes.size() ? Span() : bytes.subspan(at, std::min(ROW, bytes.size() - at));
}

std::string hex_of(Span bytes)
{
	constexpr std::string_view DIGITS = "0123456789abcdef";
	std::string text;
	for (const std::uint8_t byte : bytes) {
		text += text.empty() ? "" : " ";
		text += DIGITS[byte >> 4];
		text += DIGITS[byte & 15];
	}
	return text;
}

std::vector<std::string> words_of(const std::string &text)
{
	std::istringstream in(text);
	std::vector<std::string> words;
	for (std::string word; in >> word;)
		words.push_back(word);
	return words;
}

} // namespace

Compared compare(const std::string &what, const std::string &expected, const std::string &came)
{
	return {.what = what, .expected = expected, .came = came, .differs = expected != came};
}

Comparison compare_bytes(Span expected, Span came)
{
	Comparison rows = {compare("bytes", std::to_string(expected.size()), std::to_string(came.size()))};
	const std::size_t end = std::max(expected.size(), came.size());
	for (std::size_t at = 0; at < end && rows.size() <= MOST_ROWS; at += ROW) {
		const Span wanted = row_of(expected, at);
		const Span found = row_of(came, at);
		if (!std::equal(wanted.begin(), wanted.end(), found.begin(), found.end()))
			rows.push_back(compare("from byte " + std::to_string(at), hex_of(wanted), hex_of(found)));
	}
	return rows;
}

std::string in_hex(std::uint64_t number)
{
	std::ostringstream out;
	out << "0x" << std::hex << number;
	return out.str();
}

std::vector<MarkedWord> words_marked(const std::string &text, const std::string &other)
{
	const std::vector<std::string> mine = words_of(text);
	const std::vector<std::string> theirs = words_of(other);
	std::vector<MarkedWord> marked;
	for (std::size_t i = 0; i < mine.size(); i++)
		marked.push_back({mine[i], mine.size() != theirs.size() || mine[i] != theirs[i]});
	return marked;
}

} // namespace peer
