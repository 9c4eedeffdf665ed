// SPDX-License-Identifier: GPL-2.0-only
//
// The commands "conform", "run" and "serve".

#pragma once

#include <CLI/CLI.hpp>

#include "command/command.hh"

namespace peer {

/// conform SERVER, conform --listen: every case, and a report. The status is FAILED where a case did not pass.
void add_conform(CLI::App &app, Invocation &invocation);
/// run FILE...: single cases, with every message of theirs.
void add_run(CLI::App &app, Invocation &invocation);
/// serve: a small file server in memory.
void add_serve(CLI::App &app, Invocation &invocation);

} // namespace peer
