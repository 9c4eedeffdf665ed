// SPDX-License-Identifier: GPL-2.0-only
//
// What all commands that listen for clients have in common.

#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

namespace peer {

struct Listening {
	std::string host; // empty: every address
	std::uint16_t port = 20049;
	std::uint16_t mount_port = 20048;
};

void add_listening(CLI::App &command, Listening &listening);
/// What a client runs to mount this machine at /mnt, in NFS version "3" or "4.1".
[[nodiscard]] std::string mount_command(const Listening &listening, const std::string &version);

} // namespace peer
