// SPDX-License-Identifier: GPL-2.0-only
//
// What the subcommands of rpcordma-peer have in common. Each is a function add_NAME() in a file of its own.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace peer {

/// What scripts can rely on. rpcordma-peer(1) has them too.
enum Status {
	FINE = 0,
	FAILED = 1, // a case failed, or the other end misbehaved
	WRONG_USE = 2,
	NO_CONNECTION = 3, // or no device
	NO_EXPORT = 4, // the server does not let this machine work below --path
	INTERRUPTED = 128, // and the signal's number, as shells have it
};

/// How the program was called, and what became of it.
struct Invocation {
	std::vector<std::string> arguments; // with the program
	bool json = false;
	int status = FINE;
};

constexpr std::uint16_t NFS_RDMA_PORT = 20049;

/// Where somebody listens.
struct Address {
	std::string host;
	std::uint16_t port = 0;

	bool operator==(const Address &) const = default;
};

/// "10.9.0.1", "server:20049", "fd09::1", "[fd09::1]:20049", ":20049". Throws CLI::ValidationError.
[[nodiscard]] Address parse_address(const std::string &text, std::uint16_t default_port);

/// The same the other way round.
[[nodiscard]] std::string describe(const Address &address);

} // namespace peer
