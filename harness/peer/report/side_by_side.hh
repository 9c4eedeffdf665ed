// SPDX-License-Identifier: GPL-2.0-only
//
// What was expected and what came, in columns.

#pragma once

#include <iosfwd>
#include <string_view>

#include "language/comparison.hh"

namespace peer {

/// For terminals and plain text, each line behind @indentation. Rows that differ begin with an exclamation mark; below them
/// the words that differ are underlined, where others do not.
void write_side_by_side(std::ostream &out, const Comparison &comparison, std::string_view indentation);

} // namespace peer
