// SPDX-License-Identifier: GPL-2.0-only
//
// rpcordma-peer fuzz: messages changed at random, and what a server or a client makes of them.

#pragma once

#include <CLI/CLI.hpp>

#include "command/command.hh"

namespace peer {

void add_fuzz(CLI::App &app, Invocation &invocation);

} // namespace peer
