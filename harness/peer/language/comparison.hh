// SPDX-License-Identifier: GPL-2.0-only
//
// What was expected and what came, side by side.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace peer {

/// One thing that both are known of.
struct Compared {
	std::string what; // "credits"
	std::string expected; // ">= 1"
	std::string came; // "0"
	bool differs = false;

	bool operator==(const Compared &) const = default;
};

using Comparison = std::vector<Compared>;

/// Of two texts.
[[nodiscard]] Compared compare(const std::string &what, const std::string &expected, const std::string &came);
/// Of bytes: their lengths, and the first rows of 16 that differ, in hexadecimal.
[[nodiscard]] Comparison compare_bytes(std::span<const std::uint8_t> expected, std::span<const std::uint8_t> came);

/// "0x1a".
[[nodiscard]] std::string in_hex(std::uint64_t number);

/// A word of a text.
struct MarkedWord {
	std::string text;
	bool differs = false;
};

/// The words of a text, and which of them differ from those of another one. All do where these are more, or fewer.
[[nodiscard]] std::vector<MarkedWord> words_marked(const std::string &text, const std::string &other);

} // namespace peer
