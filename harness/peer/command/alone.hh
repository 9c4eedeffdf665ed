// SPDX-License-Identifier: GPL-2.0-only
//
// How to run one case of a run alone.

#pragma once

#include <string>
#include <vector>

namespace peer {

/// The shell command that runs a case as a run with this command line has run it: against the same server or client, with
/// the same options, and with its messages shown.
[[nodiscard]] std::string command_alone(const std::vector<std::string> &arguments, const std::string &name);

} // namespace peer
