// SPDX-License-Identifier: GPL-2.0-only
/// The transport header of a message, in any version of the protocol that has a codec: v1.hh, v2.hh. Which codec it is, the
/// fixed fields say.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "uapi/rpcrdma_v1.h"
#include "uapi/rpcrdma_v2.h"
#include "wire/chunk.hh"
#include "wire/xdr.hh"

namespace rpcordma::wire {

/// A transaction identifier, as a number (the kernel's rq_xid has it in network byte order).
enum class Xid : std::uint32_t {};

/// The versions that there is a codec for.
enum class Version : std::uint32_t { one = RPCRDMA_V1, two = RPCRDMA_V2 };

/// Whether it is one of those up to `highest`.
[[nodiscard]] constexpr bool is_spoken(std::uint32_t version, Version highest) noexcept
{
	return version >= std::to_underlying(Version::one) && version <= std::to_underlying(highest);
}

/// Which way the RPC message goes that a message carries or is about: RPC's msg_type (RFC 5531, 9).
enum class Direction : std::uint32_t { call = RPCRDMA_V2_CALL, reply = RPCRDMA_V2_REPLY };

/// The size in bytes of the smallest header of any version that carries an RPC message: version 1's without a chunk. A receiver
/// discards what is shorter before it takes any field of it for one (RFC 8166, 4.5).
inline constexpr std::size_t smallest_header = RPCRDMA_V1_FIXED_SIZE + chunks_size(0, 0, 0);

/// The four fields that stand at the same place in every version of the protocol (rfc5666bis-04, 5.2).
struct FixedFields {
	Xid xid;
	std::uint32_t version;
	/// Asked for in a Call, granted in a Reply.
	std::uint32_t credits;
	/// The header type: rdma_proc.
	std::uint32_t type;

	/// RDMA_ERROR, which is the same type in every version.
	[[nodiscard]] constexpr bool is_error() const noexcept { return type == RPCRDMA_V1_ERROR; }
	/// Errors: truncated.
	[[nodiscard]] static Result<FixedFields> decode(Reader &reader) noexcept;
	/// Errors: no_room.
	[[nodiscard]] Result<void> encode(Writer &writer) const noexcept;
};

/// RDMA_MSG: the Payload stream follows the header.
struct Msg {
	Chunks chunks;
	Bytes payload;
	/// None in version 1, whose header does not say it.
	std::optional<Direction> direction = std::nullopt;
};
/// RDMA_NOMSG: a chunk holds the Payload stream. Bytes after the header are ignored.
struct NoMsg {
	Chunks chunks;
	/// As in Msg.
	std::optional<Direction> direction = std::nullopt;
};
/// RDMA_MSGP, version 1: reserved; never to be sent (rfc5666bis-04, 5.6.1).
struct MsgP {
	std::uint32_t align;
	std::uint32_t threshold;
	Chunks chunks;
	Bytes payload;
};
/// RDMA_DONE, version 1: reserved; never to be sent (rfc5666bis-04, 5.6.2).
struct Done {};
/// RDMA_ERROR with ERR_VERS: the versions that the peer supports, inclusive. The same in every version.
struct VersionError {
	std::uint32_t low;
	std::uint32_t high;

	/// Reads one after the error code. Errors: truncated.
	[[nodiscard]] static Result<VersionError> decode(Reader &reader) noexcept;
};
/// RDMA_ERROR with ERR_CHUNK, or version 2's with ERR_BAD_HEADER: the peer could not make sense of a header, or no reply is
/// possible.
struct ChunkError {};
/// Version 2's RDMA2_ERROR with ERR_INVAL_OPTION: the peer does not know the type of an optional message.
struct OptionError {};
/// Version 2's RDMA2_OPTIONAL (draft-cel-nfsv4-rpcrdma-version-two-01, 3.1).
struct Optional {
	Direction direction;
	std::uint32_t type;
	Bytes info;
	/// All, part, or nothing of a Payload stream.
	Bytes payload;
};

using Body = std::variant<Msg, NoMsg, MsgP, Done, VersionError, ChunkError, OptionError, Optional>;

struct Header {
	FixedFields fixed;
	Body body;
};

/// Decodes what follows the fixed fields, which `reader` is behind. A version without a codec is unsupported_version, except for
/// the ERR_VERS arm of RDMA_ERROR, which no version changes (rfc5666bis-04, 5.1.3).
/// Errors: unsupported_version, unknown_type, truncated, bad_discriminator, bad_count, bad_direction, unknown_error_code.
[[nodiscard]] Result<Body> decode_body(const FixedFields &fixed, Reader reader) noexcept;

/// The direction that a header of version 2 says it has, whether or not what follows can be decoded. None where it says none: of
/// another version or type, of an undefined direction, or cut before it. `reader` is behind the fixed fields.
[[nodiscard]] std::optional<Direction> direction_said(const FixedFields &fixed, Reader reader) noexcept;

/// An RDMA_MSG without a chunk, as most messages are: Msg is large to copy, for its chunks.
struct PlainMsg {
	Bytes payload;
	/// As in Msg.
	std::optional<Direction> direction;
};

/// Finds one in one step: what decode_body() makes of it too. None where the message is anything else. `reader` is behind the
/// fixed fields.
[[nodiscard]] std::optional<PlainMsg> plain_msg(const FixedFields &fixed, Reader reader) noexcept;

/// Whether it is an RDMA_MSG of a version that there is a codec for. Its type is the same in all of them.
[[nodiscard]] constexpr bool is_msg(const FixedFields &fixed) noexcept
{
	static_assert(RPCRDMA_V1_MSG == RPCRDMA_V2_MSG);
	return fixed.type == RPCRDMA_V1_MSG && is_spoken(fixed.version, Version::two);
}

/// Decodes what follows the fixed fields of an RDMA_MSG: what decode_body() makes of it, without a Body to copy. `reader` is behind
/// the fixed fields.
/// Errors: truncated, bad_discriminator, bad_count, bad_direction.
[[nodiscard]] Result<Msg> decode_msg(const FixedFields &fixed, Reader reader) noexcept;

/// Decodes a whole received message. Errors: those of FixedFields::decode and decode_body.
[[nodiscard]] Result<Header> decode(Bytes message) noexcept;

/// What stands in front of the chunk lists.
struct Front {
	Xid xid;
	Version version;
	std::uint32_t credits;
	Direction direction;
	/// RDMA_NOMSG, not RDMA_MSG.
	bool is_long;
};

/// Each writes one header to the front of `room` and returns its size in bytes. Errors: no_room.
[[nodiscard]] Result<std::size_t> encode(MutableBytes room, const Front &front, const ChunksToSend &chunks) noexcept;
/// The same for a responder, which gives the Call's chunks back.
[[nodiscard]] Result<std::size_t> encode(MutableBytes room, const Front &front, const ReturnedChunks &chunks) noexcept;
/// Writes a message that carries an RPC message once more, in another version. `message` is one that was sent. Errors: those of
/// decode(), unknown_type where it carries none, no_room.
[[nodiscard]] Result<std::size_t> translate(Bytes message, Version version, MutableBytes room) noexcept;
/// `version` is that of the message that is answered (rfc5666bis-04, 5.5).
[[nodiscard]] Result<std::size_t> encode_error(MutableBytes room, Xid xid, std::uint32_t version, std::uint32_t credits,
					       VersionError range) noexcept;
[[nodiscard]] Result<std::size_t> encode_error(MutableBytes room, Xid xid, std::uint32_t version, std::uint32_t credits,
					       ChunkError) noexcept;
/// Version 2 alone has it.
[[nodiscard]] Result<std::size_t> encode_error(MutableBytes room, Xid xid, std::uint32_t credits, OptionError) noexcept;

/// Where rdma_optinfo begins in a message of type RDMA2_OPTIONAL, in bytes: behind the fixed fields, the direction, the type and
/// the count.
inline constexpr std::size_t option_info_offset = RPCRDMA_V1_FIXED_SIZE + 3 * xdr_unit;
/// Writes the header of an optional message around `info_size` bytes of rdma_optinfo, which are at option_info_offset of `room`
/// already, and returns its size in bytes. Errors: no_room.
[[nodiscard]] Result<std::size_t> encode_option(MutableBytes room, Xid xid, std::uint32_t credits, Direction direction,
						std::uint32_t type, std::size_t info_size) noexcept;

/// The number of bytes in front of the chunk lists.
[[nodiscard]] constexpr std::size_t front_size(Version version) noexcept
{
	return version == Version::one ? RPCRDMA_V1_FIXED_SIZE : RPCRDMA_V1_FIXED_SIZE + xdr_unit;
}

/// The size in bytes of a header with these numbers of segments: see chunks_size().
[[nodiscard]] constexpr std::size_t header_size(Version version, std::uint32_t reads, std::uint32_t write_segments,
						std::uint32_t reply_segments) noexcept
{
	return front_size(version) + chunks_size(reads, write_segments, reply_segments);
}

/// The size in bytes of the header of a Reply.
[[nodiscard]] inline std::size_t header_size(Version version, const ReturnedChunks &chunks) noexcept
{
	return front_size(version) + chunks.size();
}

// For each message: not worth a call each.

inline Result<FixedFields> FixedFields::decode(Reader &reader) noexcept
{
	const auto bytes = TRY(reader.take<RPCRDMA_V1_FIXED_SIZE>());
	return FixedFields{
		.xid = Xid{load_word<0>(bytes)},
		.version = load_word<1>(bytes),
		.credits = load_word<2>(bytes),
		.type = load_word<3>(bytes),
	};
}

inline std::optional<PlainMsg> plain_msg(const FixedFields &fixed, Reader reader) noexcept
{
	if (!is_msg(fixed))
		return std::nullopt;
	std::optional<Direction> direction;
	if (fixed.version == RPCRDMA_V2) {
		const auto word = reader.boolean();
		if (!word)
			return std::nullopt;
		static_assert(RPCRDMA_V2_CALL == 0 && RPCRDMA_V2_REPLY == 1);
		direction = *word ? Direction::reply : Direction::call;
	}
	constexpr std::size_t lists_size = chunks_size(0, 0, 0);
	const Bytes rest = reader.rest();
	if (rest.size() < lists_size)
		return std::nullopt;
	const auto lists = rest.first<lists_size>();
	if (load_word<0>(lists) != 0 || load_word<1>(lists) != 0 || load_word<2>(lists) != 0)
		return std::nullopt;
	return PlainMsg{rest.subspan(lists_size), direction};
}

inline Result<void> FixedFields::encode(Writer &writer) const noexcept
{
	const auto bytes = TRY(writer.take<RPCRDMA_V1_FIXED_SIZE>());
	store_word<0>(bytes, std::to_underlying(xid));
	store_word<1>(bytes, version);
	store_word<2>(bytes, credits);
	store_word<3>(bytes, type);
	return {};
}

} // namespace rpcordma::wire
