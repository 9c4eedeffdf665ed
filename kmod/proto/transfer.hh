// SPDX-License-Identifier: GPL-2.0-only
/// How a Call travels, and what room its Reply is given (RFC 8166, 3.5).
#pragma once

#include <algorithm>
#include <cstdint>
#include <expected>
#include <utility>

#include "wire/header.hh"

namespace rpcordma::proto {

/// A Payload stream as the upper layer holds it: a head, then whole or partial pages, then a tail. Sizes in bytes.
struct Stream {
	std::uint32_t head = 0;
	std::uint32_t pages = 0;
	std::uint32_t tail = 0;
	/// The pages hold exactly one DDP-eligible data item; its roundup padding, if any, begins the tail.
	bool pages_are_ddp_eligible = false;

	[[nodiscard]] constexpr std::uint64_t size() const noexcept { return std::uint64_t{head} + pages + tail; }
};

/// What of a stream is registered: its pages alone, or all of it.
enum class Extent : std::uint8_t { pages, whole };

/// The inline thresholds of one direction pair, in bytes: what the largest Call and the largest Reply may be, header
/// included (RFC 8166, 3.3.2).
struct InlineThresholds {
	std::uint32_t call;
	std::uint32_t reply;
};

/// What both peers keep to in one version.
struct Terms {
	wire::Version version;
	InlineThresholds thresholds;
};

/// Whether data items may leave the Payload stream at all.
enum class Reduction : std::uint8_t {
	allowed,
	/// RPCSEC_GSS integrity or privacy covers the stream as a whole (rfc5666bis-04, 10.2.2.3).
	forbidden,
};

enum class CallTransfer : std::uint8_t {
	/// RDMA_MSG with the whole Payload stream.
	inline_message,
	/// RDMA_MSG; a Read chunk carries the pages.
	read_chunk,
	/// RDMA_NOMSG; a Position Zero Read chunk carries the whole Payload stream.
	position_zero,
};

/// For trace events and the log: scripts look for these words (Documentation/administration.rst).
[[nodiscard]] inline const char *name_of(CallTransfer transfer) noexcept
{
	static constexpr const char *names[] = {"inline", "Read chunk", "Position Zero Read chunk"};
	return names[std::to_underlying(transfer)];
}

enum class ReplyRoom : std::uint8_t {
	/// The largest Reply fits inline.
	inline_message,
	/// A Write chunk for the pages; the rest fits inline.
	write_chunk,
	/// A Reply chunk for the whole Payload stream.
	reply_chunk,
};

/// For trace events and the log: scripts look for these words (Documentation/administration.rst).
[[nodiscard]] inline const char *name_of(ReplyRoom room) noexcept
{
	static constexpr const char *names[] = {"inline", "Write chunk", "Reply chunk"};
	return names[std::to_underlying(room)];
}

/// One transaction's transfers, before any memory is registered.
struct Plan {
	CallTransfer call;
	ReplyRoom reply;
	/// The size of the RPC-over-RDMA header of the Call, in bytes.
	std::uint32_t header_size;
	/// The number of bytes at the front of the tail that stay out of the Payload stream, because they are the
	/// roundup padding of a reduced data item (RFC 8166, 3.4.4.4): 0 to 3, and never more than the tail.
	std::uint32_t tail_skip;
	/// The number of Payload stream bytes that follow the header.
	std::uint32_t inline_size;
	/// The segments of the Call's Read chunk, and those of the chunk for the Reply; zero where there is none.
	std::uint32_t read_segments = 0;
	std::uint32_t room_segments = 0;
};

enum class PlanError : std::uint8_t {
	/// Even RDMA_NOMSG would not fit the call inline threshold, for its number of segments.
	header_too_large,
};

/// For trace events and the log: scripts look for these words (Documentation/administration.rst).
[[nodiscard]] inline const char *name_of(PlanError error) noexcept
{
	static constexpr const char *names[] = {"header above the inline threshold"};
	return names[std::to_underlying(error)];
}

/// The chunk that a Call offers its Reply. The Reply's header carries it back, so that its size is known beforehand.
struct OfferedRoom {
	ReplyRoom kind;
	/// Zero where there is no chunk.
	std::uint32_t segments;

	/// The size in bytes of the Call's header, with so many segments in its Read chunk; or of the Reply's, with none.
	[[nodiscard]] constexpr std::uint64_t header_size(wire::Version version, std::uint32_t reads) const noexcept
	{
		return wire::header_size(version, reads, kind == ReplyRoom::write_chunk ? segments : 0,
					 kind == ReplyRoom::reply_chunk ? segments : 0);
	}
};

/// Chooses that chunk. `segments` is as in plan_transfer().
template <typename Segments>
[[nodiscard]] constexpr OfferedRoom choose_reply_room(const Stream &reply, const Segments &segments, const Terms &terms,
						      Reduction reduction) noexcept;

/// Chooses the transfers of one transaction. Inline is preferred, then reduction, then a long message; the header's
/// exact size for the segments at hand is taken into account.
/// `reply` says the largest Reply that can come. `call_segments` and `reply_segments` are called with an Extent and say how many
/// segments registering that takes; only for what may be registered, because counting is work.
template <typename CallSegments, typename ReplySegments>
[[nodiscard]] constexpr std::expected<Plan, PlanError>
plan_transfer(const Stream &call, const CallSegments &call_segments, const Stream &reply,
	      const ReplySegments &reply_segments, const Terms &terms, Reduction reduction) noexcept;

/// Where the bytes of a Reply go in the room that the upper layer gave for it, in bytes.
struct Placement {
	/// Copied to the head.
	std::uint32_t head;
	/// Copied to the pages; zero where a Write chunk has filled them.
	std::uint32_t pages;
	/// What the pages hold in the end, copied or written.
	std::uint32_t pages_filled;
	/// Roundup padding that the upper layer expects in front of the tail: less than a written item needs only where
	/// the room has no tail for it and nothing follows.
	std::uint32_t tail_padding;
	/// Copied to the tail, behind that padding.
	std::uint32_t tail;

	/// The size of the Reply as the upper layer sees it.
	[[nodiscard]] constexpr std::uint32_t size() const noexcept
	{
		return head + pages_filled + tail_padding + tail;
	}
};

enum class PlacementError : std::uint8_t {
	/// The Reply is larger than the room that the upper layer gave.
	too_large,
};

/// For trace events and the log: scripts look for these words (Documentation/administration.rst).
[[nodiscard]] inline const char *name_of(PlacementError error) noexcept
{
	static constexpr const char *names[] = {"larger than the room for it"};
	return names[std::to_underlying(error)];
}

/// Places a Reply of which `inline_size` bytes came in the message and `written` bytes came by the Write chunk, zero
/// where it was not used.
/// A reduced item begins where the room's pages begin; a Reply that ends before that position has a shorter head, and
/// then the item follows what there is.
[[nodiscard]] std::expected<Placement, PlacementError> place_reply(const Stream &room, std::uint32_t inline_size,
								   std::uint32_t written) noexcept;

// Templates for what counts segments.

/// Whether the pages may leave the Payload stream.
[[nodiscard]] constexpr bool may_be_reduced(const Stream &stream, Reduction reduction) noexcept
{
	return reduction == Reduction::allowed && stream.pages_are_ddp_eligible;
}

/// A Read chunk's Position is a multiple of four (RFC 8166, 3.4.5), and not zero, which has a meaning of its own.
[[nodiscard]] constexpr bool is_read_chunk_position(std::uint32_t position) noexcept
{
	return position != 0 && position % wire::xdr_unit == 0;
}

template <typename Segments>
constexpr OfferedRoom choose_reply_room(const Stream &reply, const Segments &segments, const Terms &terms,
					Reduction reduction) noexcept
{
	const std::uint32_t threshold = terms.thresholds.reply;
	if (wire::header_size(terms.version, 0, 0, 0) + reply.size() <= threshold)
		return {ReplyRoom::inline_message, 0};
	if (may_be_reduced(reply, reduction)) {
		const OfferedRoom room{ReplyRoom::write_chunk, segments(Extent::pages)};
		// The tail is counted whole: the padding of an item whose length is not known yet might be none.
		const std::uint64_t reduced = std::uint64_t{reply.head} + reply.tail;
		if (room.segments != 0 && room.header_size(terms.version, 0) + reduced <= threshold)
			return room;
	}
	return {ReplyRoom::reply_chunk, segments(Extent::whole)};
}

template <typename CallSegments, typename ReplySegments>
constexpr std::expected<Plan, PlanError> plan_transfer(const Stream &call, const CallSegments &call_segments,
						       const Stream &reply, const ReplySegments &reply_segments,
						       const Terms &terms, Reduction reduction) noexcept
{
	const std::uint32_t threshold = terms.thresholds.call;
	const OfferedRoom room = choose_reply_room(reply, reply_segments, terms, reduction);
	const auto plan = [&](CallTransfer transfer, std::uint32_t reads, std::uint64_t header, std::uint32_t tail_skip,
			      std::uint64_t inline_size) {
		return Plan{.call = transfer,
			    .reply = room.kind,
			    .header_size = static_cast<std::uint32_t>(header),
			    .tail_skip = tail_skip,
			    .inline_size = static_cast<std::uint32_t>(inline_size),
			    .read_segments = reads,
			    .room_segments = room.segments};
	};

	const std::uint64_t inline_header = room.header_size(terms.version, 0);
	if (inline_header + call.size() <= threshold)
		return plan(CallTransfer::inline_message, 0, inline_header, 0, call.size());

	if (may_be_reduced(call, reduction) && is_read_chunk_position(call.head)) {
		const std::uint32_t reads = call_segments(Extent::pages);
		const std::uint64_t header = room.header_size(terms.version, reads);
		// A reduced item takes its roundup padding with it (RFC 8166, 3.4.4.4).
		const std::uint32_t tail_skip = std::min(wire::roundup_padding(call.pages), call.tail);
		const std::uint64_t reduced = std::uint64_t{call.head} + call.tail - tail_skip;
		if (reads != 0 && header + reduced <= threshold)
			return plan(CallTransfer::read_chunk, reads, header, tail_skip, reduced);
	}

	const std::uint32_t reads = call_segments(Extent::whole);
	const std::uint64_t header = room.header_size(terms.version, reads);
	if (header <= threshold)
		return plan(CallTransfer::position_zero, reads, header, 0, 0);
	return std::unexpected(PlanError::header_too_large);
}

} // namespace rpcordma::proto
