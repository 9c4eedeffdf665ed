// SPDX-License-Identifier: GPL-2.0-only
//
// What somebody may have meant who wrote a word that means nothing.

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace peer {

/// In how many letters two words differ: by one that is missing, one too many, another one, or two that are exchanged.
[[nodiscard]] std::size_t distance(std::string_view a, std::string_view b);
/// The known word that is most like this one, or that begins with it; nothing where none is like it.
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string> &known);
/// "; did you mean WORD?", or nothing.
[[nodiscard]] std::string suggestion(std::string_view word, const std::vector<std::string> &known);

} // namespace peer
