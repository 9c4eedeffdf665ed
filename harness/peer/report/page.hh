// SPDX-License-Identifier: GPL-2.0-only
//
// What the HTML pages have in common. They are well-formed as XML too, so that any parser reads them, and load nothing from
// elsewhere.

#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

namespace peer {

/// The page up to its body; @style is added to the style that all pages have.
void begin_page(std::ostream &out, const std::string &title, std::string_view style);
/// Its end, with a script.
void end_page(std::ostream &out, std::string_view script);

/// A text as a link to the section of a specification; only the text where nobody knows where that is. Escaped.
[[nodiscard]] std::string specification_link(const std::string &identifier, const std::string &text);

} // namespace peer
