// SPDX-License-Identifier: GPL-2.0-only
/// What two peers agree on when a connection is set up, and what a failed attempt means.
#pragma once

#include <cstdint>

#include "proto/transfer.hh"
#include "wire/private_data.hh"

namespace rpcordma::proto {

/// What holds for the life of one connection (RFC 8797, 4).
struct Agreement {
	InlineThresholds inline_thresholds;
	/// Both peers set the R field.
	bool remote_invalidation;
};

/// The requester's view: its own private data and the responder's.
[[nodiscard]] Agreement agree(const wire::PrivateData &requester, const wire::PrivateData &responder) noexcept;

/// Why an attempt to connect ended, as the connection manager says it.
enum class ConnectEvent : std::uint8_t {
	established,
	/// The address or a route to it could not be resolved, or there is no device for it.
	address_error,
	route_error,
	/// No answer, or an error on the way.
	unreachable,
	/// The peer answered with a reject.
	rejected,
	/// Our own device failed or went away.
	device_removed,
};

/// Reject reasons (InfiniBand specification, 12.6.7.2): only `stale_connection` makes a difference. iWARP has only
/// consumer rejects, as a negative errno, which the caller passes as consumer_defined.
enum class RejectReason : std::uint16_t {
	invalid_service_id = 8,
	stale_connection = 10,
	consumer_defined = 28,
};

/// What the RPC layer is told.
enum class ConnectOutcome : std::uint8_t {
	connected,
	/// Nobody listens there.
	refused,
	/// The host or network cannot be reached now.
	host_unreachable,
	network_unreachable,
	/// Something temporary: worth another attempt soon.
	try_again,
	/// The device is gone.
	no_device,
};

/// What an attempt to connect has come to. `reason` says something only where the event is `rejected`.
[[nodiscard]] ConnectOutcome connect_outcome(ConnectEvent event, RejectReason reason) noexcept;

} // namespace rpcordma::proto
