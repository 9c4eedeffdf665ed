// SPDX-License-Identifier: GPL-2.0-only
/// The headers of RPC-over-RDMA version 1 (RFC 8166; rfc5666bis-04, 5.1): all message types, both ways.
#pragma once

#include <cstdint>
#include <variant>

#include "uapi/rpcrdma_v1.h"
#include "wire/chunk.hh"
#include "wire/xdr.hh"

namespace rpcordma::wire {

/// A transaction identifier, as a number (the kernel's rq_xid has it in network byte order).
enum class Xid : std::uint32_t {};

/// The size of the smallest header in bytes: fixed fields, and no chunks. A receiver discards what is shorter before it takes any
/// field of it for one (RFC 8166, 4.5).
inline constexpr std::size_t smallest_header = RPCRDMA_V1_FIXED_SIZE + chunks_size(0, 0, 0);

/// The four fields that stand at the same place in every version of the protocol (rfc5666bis-04, 5.2).
struct FixedFields {
	Xid xid;
	std::uint32_t version;
	/// Asked for in a Call, granted in a Reply.
	std::uint32_t credits;
	/// The header type: rdma_proc.
	std::uint32_t type;

	/// Errors: truncated.
	[[nodiscard]] static Result<FixedFields> decode(Reader &reader) noexcept;
	/// Errors: no_room.
	[[nodiscard]] Result<void> encode(Writer &writer) const noexcept;
};

/// RDMA_MSG: the Payload stream follows the header.
struct Msg {
	Chunks chunks;
	Bytes payload;
};
/// RDMA_NOMSG: a chunk holds the Payload stream. Bytes after the header are ignored.
struct NoMsg {
	Chunks chunks;
};
/// RDMA_MSGP: reserved; never to be sent (rfc5666bis-04, 5.6.1).
struct MsgP {
	std::uint32_t align;
	std::uint32_t threshold;
	Chunks chunks;
	Bytes payload;
};
/// RDMA_DONE: reserved; never to be sent (rfc5666bis-04, 5.6.2).
struct Done {};
/// RDMA_ERROR with ERR_VERS: the versions that the peer supports, inclusive.
struct VersionError {
	std::uint32_t low;
	std::uint32_t high;
};
/// RDMA_ERROR with ERR_CHUNK: the peer could not make sense of a header, or no reply is possible.
struct ChunkError {};

using Body = std::variant<Msg, NoMsg, MsgP, Done, VersionError, ChunkError>;

struct Header {
	FixedFields fixed;
	Body body;
};

/// Decodes what follows the fixed fields. `fixed.version` must have been looked at first: any other than 1 is
/// unsupported_version, except for the ERR_VERS arm of RDMA_ERROR, which no version changes.
/// Errors: unsupported_version, unknown_type, truncated, bad_discriminator, bad_count, unknown_error_code.
[[nodiscard]] Result<Body> decode_body(const FixedFields &fixed, Reader &reader) noexcept;

/// Decodes a whole received message. Errors: those of FixedFields::decode and decode_body.
[[nodiscard]] Result<Header> decode(Bytes message) noexcept;

/// Each writes one header to the front of `room` and returns its size in bytes. Errors: no_room.
[[nodiscard]] Result<std::size_t> encode_msg(MutableBytes room, Xid xid, std::uint32_t credits,
					     const ChunksToSend &chunks) noexcept;
[[nodiscard]] Result<std::size_t> encode_nomsg(MutableBytes room, Xid xid, std::uint32_t credits,
					       const ChunksToSend &chunks) noexcept;
/// The same for a responder, which gives the Call's chunks back.
[[nodiscard]] Result<std::size_t> encode_returned_msg(MutableBytes room, Xid xid, std::uint32_t credits,
						      const ReturnedChunks &chunks) noexcept;
[[nodiscard]] Result<std::size_t> encode_returned_nomsg(MutableBytes room, Xid xid, std::uint32_t credits,
							const ReturnedChunks &chunks) noexcept;
/// `version` is that of the message that is answered (rfc5666bis-04, 5.5).
[[nodiscard]] Result<std::size_t> encode_error(MutableBytes room, Xid xid, std::uint32_t version, std::uint32_t credits,
					       VersionError range) noexcept;
[[nodiscard]] Result<std::size_t> encode_error(MutableBytes room, Xid xid, std::uint32_t version, std::uint32_t credits,
					       ChunkError) noexcept;

} // namespace rpcordma::wire
