// SPDX-License-Identifier: GPL-2.0-only
//
// The order in which people expect names with numbers.

#pragma once

#include <string_view>

namespace peer {

/// Numbers in the text count as numbers: section 3.4.10 comes behind 3.4.9.
struct InNaturalOrder {
	[[nodiscard]] bool operator()(std::string_view a, std::string_view b) const;
};

} // namespace peer
