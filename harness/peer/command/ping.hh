// SPDX-License-Identifier: GPL-2.0-only
//
// rpcordma-peer ping: how long NULL calls take, and how long the same would take without RPC.

#pragma once

#include <CLI/CLI.hpp>

#include "command/command.hh"

namespace peer {

void add_ping(CLI::App &app, Invocation &invocation);

} // namespace peer
