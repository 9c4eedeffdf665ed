// SPDX-License-Identifier: GPL-2.0-only
/// What two peers agree on when a connection is set up, and what a failed attempt means.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "proto/transfer.hh"
#include "wire/private_data.hh"

namespace rpcordma::proto {

/// The inline threshold that every peer supports that speaks this version, in bytes (RFC 8166, 3.3.3;
/// draft-cel-nfsv4-rpcrdma-version-two-01, 2.3).
[[nodiscard]] constexpr std::uint32_t least_threshold(wire::Version version) noexcept
{
	return version == wire::Version::one ? RPCRDMA_V1_DEFAULT_INLINE : RPCRDMA_V2_DEFAULT_INLINE;
}

/// The size of Receives, in bytes, where this end takes up to `own` and both have agreed on a threshold of `agreed`. A peer
/// that sends no private data may be set up for more than it then promises: what every peer of version 2 supports costs little.
[[nodiscard]] constexpr std::uint32_t receive_size(std::uint32_t own, std::uint32_t agreed,
						   wire::Version highest) noexcept
{
	return std::max({least_threshold(highest), agreed, std::min<std::uint32_t>(own, RPCRDMA_V2_DEFAULT_INLINE)});
}

/// What holds for the life of one connection (RFC 8797, 4).
struct Agreement {
	/// Those of version 1.
	InlineThresholds inline_thresholds;
	/// Both peers set the R field.
	bool remote_invalidation;

	/// What was agreed, and never less than what the version itself promises.
	[[nodiscard]] Terms terms(wire::Version version) const noexcept;
};

/// The requester's view: its own private data and the responder's.
[[nodiscard]] Agreement agree(const wire::PrivateData &requester, const wire::PrivateData &responder) noexcept;

/// Why an attempt to connect ended, as the connection manager says it.
enum class ConnectEvent : std::uint8_t {
	established,
	/// The address could not be resolved, or there is no device for it.
	address_error,
	/// No route leads to the peer, or the network is down.
	route_error,
	/// No answer, no path in the fabric, or an error on the way.
	unreachable,
	/// The peer answered with a reject.
	rejected,
	/// Our own device failed or went away.
	device_removed,
	/// What the connection manager itself lacked for a moment, such as memory: nothing is known of the peer.
	short_of_resources,
};

/// Reject reasons (InfiniBand specification, 12.6.7.2): a stale connection and an invalid service make a difference. iWARP has
/// only consumer rejects, as a negative errno, which the caller passes as consumer_defined.
enum class RejectReason : std::uint16_t {
	invalid_service_id = 8,
	stale_connection = 10,
	consumer_defined = 28,
};

/// What the RPC layer is told.
enum class ConnectOutcome : std::uint8_t {
	connected,
	/// Nobody listens there, on a host that is up: a service may begin to at any moment.
	refused,
	/// Somebody listens there, and does not take the connection.
	turned_away,
	/// The host or network cannot be reached now.
	host_unreachable,
	network_unreachable,
	/// Something temporary: worth another attempt soon.
	try_again,
	/// The device is gone.
	no_device,
};

/// For trace events and the log: scripts look for these words (Documentation/administration.rst).
[[nodiscard]] inline const char *name_of(ConnectOutcome outcome) noexcept
{
	static constexpr const char *names[] = {"connected",	       "refused",   "refused",	"host unreachable",
						"network unreachable", "try again", "no device"};
	return names[std::to_underlying(outcome)];
}

/// What an attempt to connect has come to. `reason` says something only where the event is `rejected`.
[[nodiscard]] ConnectOutcome connect_outcome(ConnectEvent event, RejectReason reason) noexcept;

/// Whether a requester connects again at once, or after a delay. No attempts follow each other without bound: each has to have
/// taken long, or to have led to a Reply, or the next one waits. The caller serialises the calls.
class Reconnection {
    public:
	/// When the next attempt comes, where one delay follows another.
	enum class Pace : std::uint8_t {
		at_once,
		/// After a delay that stays what it is: a server that is being started is found before its grace period is over.
		steady,
		/// After one that grows.
		slowing,
	};

	/// What has lasted so long has kept the rate of attempts low by itself.
	static constexpr std::uint64_t lasting_ms = 20'000;

	/// Who had a connection end.
	enum class By : std::uint8_t {
		/// For a Reply that did not come, say: another connection may bring it.
		requester,
		/// Or the network, or a device.
		others,
	};

	/// An attempt begins.
	void begin() noexcept;
	/// It has failed so, `ms` milliseconds later.
	void failed(ConnectOutcome outcome, std::uint64_t ms) noexcept;
	/// The connection has brought its first Reply.
	void replied() noexcept;
	/// A connection ends that was begun `ms` milliseconds ago. What ends it first counts.
	void ended(By by, std::uint64_t ms) noexcept;
	[[nodiscard]] Pace pace() const noexcept { return pace_; }

    private:
	bool has_ended_ = false;
	bool is_useful_ = false;
	Pace pace_ = Pace::at_once;
	/// Since the last Reply the requester has ended a connection early once.
	bool is_spent_ = false;
};

} // namespace rpcordma::proto
