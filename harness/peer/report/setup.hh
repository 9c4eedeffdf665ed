// SPDX-License-Identifier: GPL-2.0-only
//
// How a run was done, for people.

#pragma once

#include <string>
#include <vector>

#include "report/report.hh"

namespace peer {

/// "inline thresholds": "Calls 4096 bytes, Replies 4096 bytes".
struct Fact {
	std::string name;
	std::string value;
};

/// What is known of the tester, the connection and the options. What is not known is left out.
[[nodiscard]] std::vector<Fact> facts_of(const Report &report);
/// The words of a command line as a shell has to be given them.
[[nodiscard]] std::string shell_words(const std::vector<std::string> &words);

} // namespace peer
