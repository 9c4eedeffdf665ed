// SPDX-License-Identifier: GPL-2.0-only
//
// Outcomes on a terminal that has colours.

#pragma once

#include <string>
#include <string_view>

#include "report/report.hh"

namespace peer {

/// The text in the colour of an outcome.
[[nodiscard]] std::string in_colour_of(Outcome outcome, std::string_view text);

} // namespace peer
