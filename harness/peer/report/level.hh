// SPDX-License-Identifier: GPL-2.0-only
//
// The levels of cases, by what they weigh: whether an implementation conforms is a matter of MUSTs alone.

#pragma once

#include <set>
#include <string>
#include <vector>

namespace peer {

/// Levels that belong together.
struct Weight {
	std::string word; // for programs, and on the command line: "must"
	std::string title; // for people
	std::set<std::string> levels; // as cases and requirements have them

	[[nodiscard]] bool has(const std::string &level) const { return levels.contains(level); }
};

/// All of them; the first is that of MUSTs.
[[nodiscard]] const std::vector<Weight> &weights();

} // namespace peer
