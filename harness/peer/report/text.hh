// SPDX-License-Identifier: GPL-2.0-only
//
// Text that came from elsewhere, made fit for a terminal, and for documents in UTF-8 such as XML.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace peer {

/// The text with what is not printable written as \xNN: control characters other than line feed and tab, and bytes that
/// are not UTF-8.
[[nodiscard]] std::string printable(std::string_view text);
/// Printable, with blanks in the place of line feeds and tabs.
[[nodiscard]] std::string on_one_line(std::string_view text);

/// Bytes in hexadecimal, two digits each.
[[nodiscard]] std::string hex_of(std::span<const std::uint8_t> bytes);

/// How many characters a text in UTF-8 has.
[[nodiscard]] std::size_t characters(std::string_view text) noexcept;
/// The text's first characters, with an ellipsis as the last of them where there are more; all of it for a length of
/// zero.
[[nodiscard]] std::string cut_to(std::string_view text, std::size_t length);
/// The text, with spaces up to this length.
[[nodiscard]] std::string pad_to(std::string_view text, std::size_t length);

} // namespace peer
