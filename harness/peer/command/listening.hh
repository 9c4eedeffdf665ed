// SPDX-License-Identifier: GPL-2.0-only
//
// What all commands that listen for clients have in common.

#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "suite/client_suite.hh"

namespace peer {

/// The options that say where: host and ports.
void add_listening(CLI::App &command, ListenSettings &listening);
/// What a client runs to mount this machine at /mnt, in NFS version "3" or "4.1".
[[nodiscard]] std::string mount_command(const ListenSettings &listening, const std::string &version);

} // namespace peer
