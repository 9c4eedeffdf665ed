// SPDX-License-Identifier: GPL-2.0-only

#include "report/text.hh"

#include <algorithm>
#include <array>
#include <cstdint>

namespace peer {

namespace {

// A character, and how many bytes it takes; no bytes where there is none in UTF-8.
struct Character {
	std::uint32_t code = 0;
	std::size_t bytes = 0;
};

bool is_continuation(char byte) noexcept
{
	return (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
}

// What a first byte says of the character: its length, its bits, and the least code that needs this length.
struct Lead {
	std::uint8_t mask;
	std::uint8_t value;
	std::size_t bytes;
	std::uint32_t least;
};

constexpr std::array<Lead, 4> LEADS = {{
	{0x80, 0x00, 1, 0},
	{0xe0, 0xc0, 2, 0x80},
	{0xf0, 0xe0, 3, 0x800},
	{0xf8, 0xf0, 4, 0x10000},
}};

Character next_character(std::string_view text) noexcept
{
	const auto first = static_cast<unsigned char>(text[0]);
	for (const Lead &lead : LEADS) {
		if ((first & lead.mask) != lead.value || text.size() < lead.bytes)
			continue;
		std::uint32_t code = first & static_cast<std::uint8_t>(~lead.mask);
		for (std::size_t i = 1; i < lead.bytes; i++) {
			if (!is_continuation(text[i]))
				return {};
			code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
		}
		if (code < lead.least)
			return {};
		return {code, lead.bytes};
	}
	return {};
}

// Also what XML 1.0 has no place for: surrogates, and the last two of the first plane.
bool is_printable(std::uint32_t code) noexcept
{
	if (code == '\n' || code == '\t')
		return true;
	const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
	const bool surrogate = code >= 0xd800 && code < 0xe000;
	return !control && !surrogate && code != 0xfffe && code != 0xffff && code <= 0x10ffff;
}

void append_escaped(std::string &result, char byte)
{
	constexpr std::string_view DIGITS = "0123456789abcdef";
	const auto value = static_cast<unsigned char>(byte);
	result += "\\x";
	result += DIGITS[value >> 4];
	result += DIGITS[value & 15];
}

} // namespace

std::string printable(std::string_view text)
{
	std::string result;
	while (!text.empty()) {
		const Character next = next_character(text);
		const std::size_t length = next.bytes ? next.bytes : 1;
		if (next.bytes && is_printable(next.code))
			result += text.substr(0, length);
		else
			for (const char byte : text.substr(0, length))
				append_escaped(result, byte);
		text.remove_prefix(length);
	}
	return result;
}

std::string on_one_line(std::string_view text)
{
	std::string line = printable(text);
	std::replace(line.begin(), line.end(), '\n', ' ');
	std::replace(line.begin(), line.end(), '\t', ' ');
	return line;
}

std::string hex_of(std::span<const std::uint8_t> bytes)
{
	constexpr std::string_view DIGITS = "0123456789abcdef";
	std::string text;
	for (const std::uint8_t byte : bytes) {
		text += DIGITS[byte >> 4];
		text += DIGITS[byte & 0xf];
	}
	return text;
}

std::size_t characters(std::string_view text) noexcept
{
	std::size_t count = 0;
	for (const char byte : text)
		count += !is_continuation(byte);
	return count;
}

std::string cut_to(std::string_view text, std::size_t length)
{
	if (length == 0 || characters(text) <= length)
		return std::string(text);
	std::size_t end = 0;
	for (std::size_t kept = 0; kept < length; end++)
		kept += end + 1 == text.size() || !is_continuation(text[end + 1]);
	// The last of them makes room for the ellipsis.
	do
		end--;
	while (is_continuation(text[end]));
	return std::string(text.substr(0, end)) + "…";
}

std::string pad_to(std::string_view text, std::size_t length)
{
	const std::size_t present = characters(text);
	return std::string(text) + std::string(length > present ? length - present : 0, ' ');
}

} // namespace peer
