// SPDX-License-Identifier: GPL-2.0-only
//
// The command "report".

#pragma once

#include <CLI/CLI.hpp>

#include "command/command.hh"

namespace peer {

/// report FILE...: shows reports of earlier runs, and writes them in other forms.
void add_report(CLI::App &app, Invocation &invocation);

} // namespace peer
