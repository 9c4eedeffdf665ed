// SPDX-License-Identifier: GPL-2.0-only
/// How a responder's own Call, in the reverse direction, travels (RFC 8167, 5.3).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "proto/transfer.hh"
#include "wire/header.hh"

namespace rpcordma::proto {

/// Whether chunks are offered to a peer of which nothing tells that it takes them.
enum class ReverseChunks : std::uint8_t {
	never,
	/// Where a message is too small.
	as_needed,
	/// For every Call and every Reply: to try the peer.
	always,
};

struct ReversePlan {
	/// RDMA_NOMSG: the Payload stream travels in a Position Zero Read chunk.
	bool is_long;
	/// A Reply chunk is offered.
	bool has_reply_chunk;
};

/// What a responder knows when it sends such a Call.
struct ReverseRoom {
	/// The connection's, as they are called in the forward direction: the other way round here.
	InlineThresholds thresholds;
	ReverseChunks chunks;
	/// The peer can read.
	bool reads;
	/// That of the Call.
	wire::Version version = wire::Version::one;
};

/// Chooses how a Call of `call_size` bytes travels whose Reply has no more than `reply_size`. None where the Call fits no
/// message and no chunk may be offered. A Reply that may be too large for a message is hoped for without a chunk: its sender
/// answers with ERR_CHUNK where it is.
[[nodiscard]] std::optional<ReversePlan> plan_reverse_call(std::uint32_t call_size, std::uint32_t reply_size,
							   const ReverseRoom &room) noexcept;

/// Whether a message that has the XID of such a Call may be the answer to it: one in direction REPLY, or an RDMA_ERROR.
[[nodiscard]] bool may_answer_reverse_call(const wire::Header &message) noexcept;

/// Whether a message says that it is an RDMA_ERROR, of any version, whether or not the rest can be decoded.
[[nodiscard]] bool is_error(wire::Bytes message) noexcept;

/// The XID of the Call that an RDMA_ERROR ends (rfc5666bis-04, 5.5); none where the message is something else, or an error
/// that cannot be decoded. A responder's Calls are the only ones that it may get such an answer to.
[[nodiscard]] std::optional<wire::Xid> refused_call(wire::Bytes message) noexcept;

/// How many Receives a responder keeps posted for the Replies to so many Calls, beside those for Calls of the forward direction
/// (RFC 8167, 4.3.2): one more, because a Reply lets the next Call go before its own Receive is posted again.
[[nodiscard]] constexpr std::uint32_t receives_for_reverse_replies(std::uint32_t calls) noexcept
{
	return calls + 1;
}

/// The Reply to a Call that no program serves: PROG_UNAVAIL (RFC 5531, 9).
using UnservedReply = std::array<std::byte, 6 * wire::xdr_unit>;
[[nodiscard]] UnservedReply unserved_reply(wire::Xid call) noexcept;

} // namespace rpcordma::proto
