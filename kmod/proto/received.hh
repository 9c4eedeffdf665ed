// SPDX-License-Identifier: GPL-2.0-only
/// What a message that a requester received is, and to which transaction it belongs.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "proto/arrival.hh"

namespace rpcordma::proto {

/// A Reply or an RDMA_ERROR for the call with this XID. What the body says has not been judged: see accept_reply().
struct ForCall {
	wire::Xid xid;
	/// As it came: see grant_of().
	std::uint32_t credits;
	wire::Body body;
	/// Of an RDMA_ERROR with ERR_VERS, any.
	std::uint32_t version = RPCRDMA_V1;
};

/// What a requester has to discard silently: counted, traced and forgotten.
enum class Dropped : std::uint8_t {
	/// Shorter than any header but an RDMA_ERROR's: not even its XID can be trusted (RFC 8166, 4.5).
	too_short,
	/// A version that was never spoken on this connection.
	unsupported_version,
	/// An RDMA_ERROR that cannot be decoded (RFC 8166, 4.5).
	undecodable_error,
	/// A header that cannot be decoded, of an unknown type, say (RFC 8166, 4.5), and does not say that it is a Call's.
	undecodable_header,
	/// RDMA_MSGP or RDMA_DONE (RFC 8166, 4.6.1, 4.6.2).
	reserved_type,
	/// An ERR_INVAL_OPTION: it says nothing of the call that has its XID. See tell_of_refusal().
	option_error,
	/// An optional message in direction REPLY whose type is not known: see Ignored::optional_reply.
	optional_reply,
};

/// For trace events and the log: scripts look for these words (Documentation/administration.rst).
[[nodiscard]] inline const char *name_of(Dropped reason) noexcept
{
	static constexpr const char *names[] = {"shorter than a header",    "unsupported version",
						"undecodable RDMA_ERROR",   "undecodable header",
						"RDMA_MSGP or RDMA_DONE",   "ERR_INVAL_OPTION",
						"unknown option in a reply"};
	return names[std::to_underlying(reason)];
}

/// A Call is one in the reverse direction (RFC 8167, 5.1). Whether its Payload stream has its XID has not been looked at. Refused
/// is what version 2 has in direction CALL: an optional message whose type is not known, or a header that cannot be decoded.
using Received = std::variant<ForCall, Call, Refused, Dropped, Option>;

/// Decodes a message and finds what it is. `highest` is the highest version that may have been spoken on the connection.
[[nodiscard]] Received classify_received(wire::Bytes message, wire::Version highest,
					 OptionalFeatures features = known_features) noexcept;

/// The grant that the message carries, once it is known to be for a call of ours. None where nothing in the message says
/// that it is a Reply, version 1's RDMA_ERROR above all: it might answer the other direction as well, and then its credit value
/// has to be ignored (RFC 8167, 4.1). Version 2's is always one (draft-cel-nfsv4-rpcrdma-version-two-01, 4.2.2).
[[nodiscard]] std::optional<std::uint32_t> grant_of(const ForCall &message) noexcept;

} // namespace rpcordma::proto
