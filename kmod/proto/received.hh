// SPDX-License-Identifier: GPL-2.0-only
/// What a message that a requester received is, and to which transaction it belongs.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <variant>

#include "proto/arrival.hh"

namespace rpcordma::proto {

/// Something for the call with this XID: a Reply, an RDMA_ERROR, or bytes that should have been one of them, in which case
/// the body is an error and the call can expect nothing better.
struct ForCall {
	wire::Xid xid;
	/// As it came: see grant_of().
	std::uint32_t credits;
	std::expected<wire::Body, wire::Error> body;
};

/// Nothing that could belong to a transaction: counted, traced and forgotten.
enum class Dropped : std::uint8_t {
	/// The four fixed fields are not all there.
	too_short,
	/// A version that was never spoken on this connection.
	unsupported_version,
	/// An RDMA_ERROR that cannot be decoded, which has to be discarded silently (rfc5666bis-04, 5.5).
	undecodable_error,
};

/// A Call is one in the reverse direction (RFC 8167, 5.1). Whether its Payload stream has its XID has not been looked at.
using Received = std::variant<ForCall, Call, Dropped>;

/// Decodes a message and finds what it is. RDMA_MSG's direction is that of the RPC message that it carries; RDMA_NOMSG
/// with a Read list is a Call, because only a Call has one (RFC 8166, 3.4.5).
[[nodiscard]] Received classify_received(wire::Bytes message) noexcept;

/// The grant that the message carries, once it is known to be for a call of ours. None where nothing in the message says
/// that it is a Reply, RDMA_ERROR above all: it might answer the other direction as well, and then its credit value has
/// to be ignored (RFC 8167, 4.1).
[[nodiscard]] std::optional<std::uint32_t> grant_of(const ForCall &message) noexcept;

} // namespace rpcordma::proto
