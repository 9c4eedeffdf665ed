// SPDX-License-Identifier: GPL-2.0-only
//
// The other end of measurements of bare verbs: it sends every message back, and offers memory to be read and written.

#pragma once

#include "verbs/verbs.hh"

namespace peer {

constexpr std::uint16_t ECHO_PORT = 20050;
/// What an echo offers to RDMA Reads and Writes.
constexpr std::size_t ECHO_MEMORY = 1 << 20;

/// Takes the next connection, and serves it until it ends. False where none came before the deadline.
bool serve_echo(Listener &listener, Deadline deadline);

/// A connection to an echo.
struct Echo {
	Connection connection;
	Segment memory;
};

/// Connects to one. Throws NotConnected or VerbsError, also where that is not an echo.
[[nodiscard]] Echo connect_to_echo(const std::string &host, std::uint16_t port, const ConnectionSettings &settings,
				   Deadline deadline);

} // namespace peer
