// SPDX-License-Identifier: GPL-2.0-only
//
// Runs a case against a server: the peer is the requester.

#pragma once

#include "report/report.hh"
#include "suite/export.hh"

namespace peer {

/// Runs a case once for each value of its variable, each on new connections, and then sees whether the server still
/// serves a well-behaved requester. Throws ScriptError where the case itself is wrong.
[[nodiscard]] CaseResult run_server_case(const Case &test, Export &server, Patience patience);

} // namespace peer
