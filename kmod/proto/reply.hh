// SPDX-License-Identifier: GPL-2.0-only
/// Whether a Reply is acceptable, against what the requester offered with the Call (RFC 8166, 3.4.6 and 3.5.3;
/// rfc5666bis-04, 5.3).
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <utility>
#include <variant>

#include "wire/header.hh"

namespace rpcordma::proto {

/// What this requester offered: at most one of the two. An empty array is a chunk that was not offered. The sum of an
/// array's lengths fits 32 bits.
struct Offer {
	wire::SegmentArray write_chunk;
	wire::SegmentArray reply_chunk;
};

/// The Payload stream came in the message; `written` bytes of it by the Write chunk.
struct ShortReply {
	wire::Bytes payload;
	std::uint32_t written;
};
/// The first `length` bytes of the Reply chunk are the Payload stream.
struct LongReply {
	std::uint32_t length;
};
/// The responder speaks other versions (ERR_VERS), or could not make sense of the header or form a reply (ERR_CHUNK).
struct VersionRefused {
	std::uint32_t low;
	std::uint32_t high;
};
struct ChunksRefused {};

using Accepted = std::variant<ShortReply, LongReply, VersionRefused, ChunksRefused>;

/// Whether it is no Reply.
[[nodiscard]] constexpr bool is_error(const Accepted &accepted) noexcept
{
	return std::holds_alternative<VersionRefused>(accepted) || std::holds_alternative<ChunksRefused>(accepted);
}

enum class ReplyError : std::uint8_t {
	/// RDMA_MSGP or RDMA_DONE, which no reply is.
	wrong_type,
	/// A Reply has the version of its Call.
	other_version,
	/// A Reply has no Read list.
	read_list,
	/// More Write chunks than were offered.
	write_list,
	/// A chunk came back with another number of segments.
	segment_count,
	/// A segment came back with another handle or offset.
	segment_changed,
	/// A segment came back longer than it was.
	segment_too_long,
	/// Bytes in a segment behind one that is not full: chunks are filled contiguously.
	not_contiguous,
	/// A Reply chunk that was not offered, or one with bytes in it beside a Payload stream in the message.
	reply_chunk,
	/// RDMA_NOMSG without a Reply chunk, or with one beside a Write chunk in use, which are never offered together.
	no_payload,
	/// The Payload stream is too short to be an RPC Reply.
	payload_too_short,
	/// The Payload stream begins with another XID than the header.
	xid_mismatch,
	/// The RPC message is not a Reply.
	not_a_reply,
};

/// For trace events and the log: scripts look for these words (Documentation/administration.rst).
[[nodiscard]] inline const char *name_of(ReplyError error) noexcept
{
	static constexpr const char *names[] = {"RDMA_MSGP or RDMA_DONE",
						"other version than the Call's",
						"Read list in a Reply",
						"more Write chunks than offered",
						"other number of segments than offered",
						"other handle or offset than offered",
						"segment longer than offered",
						"chunk not filled contiguously",
						"Reply chunk not offered, or in use beside an inline Payload stream",
						"no Payload stream",
						"Payload stream too short",
						"other XID in the Payload stream",
						"RPC message is not a Reply"};
	return names[std::to_underlying(error)];
}

/// The smallest RPC Reply in bytes: XID, message type, reply status, reject status, authentication status (RFC 5531, 9).
inline constexpr std::uint32_t smallest_rpc_reply = 20;

/// Judges what came for the call `xid`. An absent Write list, or Reply chunk in RDMA_MSG, is taken as an unused one.
/// The Payload stream of a LongReply cannot be seen from here: its XID has to be checked where the memory is
/// (payload_is_reply).
[[nodiscard]] std::expected<Accepted, ReplyError> accept_reply(const wire::Body &body, wire::Xid xid,
							       const Offer &offer) noexcept;

/// Whether a Payload stream begins like an RPC Reply to `xid`. Errors: payload_too_short, xid_mismatch, not_a_reply.
[[nodiscard]] std::expected<void, ReplyError> payload_is_reply(wire::Bytes payload, wire::Xid xid) noexcept;

/// What an RPC that fails is told by: a Reply from which the upper layer's decoder makes the error.
enum class Failure : std::uint8_t {
	/// It is too short for a Reply: EIO.
	unintelligible,
	/// It denies the version of RPC (RFC 5531, 9): EPROTONOSUPPORT.
	version_denied,
};

/// Such a Reply to the call `xid`.
class FailureReply {
    public:
	FailureReply(wire::Xid xid, Failure failure) noexcept;
	[[nodiscard]] wire::Bytes bytes() const noexcept { return std::span(bytes_).first(size_); }

    private:
	std::array<std::byte, 4 * wire::xdr_unit> bytes_;
	std::uint32_t size_;
};

} // namespace rpcordma::proto
