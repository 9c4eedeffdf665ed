// SPDX-License-Identifier: GPL-2.0-only
/// Ports that a machine's users cannot have for themselves, by which a server may tell its kernel from them.
#pragma once

#include <cstdint>

#include "kernel/atomic.hh"

namespace rpcordma::proto {

/// What sunrpc's clients use by default: below are those of well-known services.
inline constexpr std::uint16_t first_reserved_port = 665;
inline constexpr std::uint16_t last_reserved_port = 1023;

/// Whether a requester's port is one of them, or any other that takes a privilege.
[[nodiscard]] constexpr bool is_reserved_port(std::uint16_t port) noexcept
{
	return port != 0 && port <= last_reserved_port;
}

/// Ports to be tried, each in its turn: over iWARP one that was in use a minute ago may be of no use yet. Any number of
/// threads at once.
class ReservedPorts {
    public:
	static constexpr std::uint32_t count = last_reserved_port - first_reserved_port + 1;

	[[nodiscard]] std::uint16_t next() noexcept
	{
		return static_cast<std::uint16_t>(last_reserved_port - turn_.fetch_add_relaxed(1) % count);
	}

    private:
	/// Ordered against nothing.
	kernel::Atomic<std::uint32_t> turn_{0};
};

} // namespace rpcordma::proto
