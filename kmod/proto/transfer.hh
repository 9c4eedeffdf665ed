// SPDX-License-Identifier: GPL-2.0-only
/// How a Call travels, and what room its Reply is given (RFC 8166, 3.5).
#pragma once

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

/// The number of segments that registering takes: of the pages alone, and of the whole stream.
struct SegmentCounts {
	std::uint32_t pages = 0;
	std::uint32_t whole = 0;
};

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

/// Whether the Reply takes no chunk, however large it becomes: then plan_transfer() asks for no segments of it.
[[nodiscard]] constexpr bool reply_fits_inline(const Stream &reply, const Terms &terms) noexcept
{
	return wire::header_size(terms.version, 0, 0, 0) + reply.size() <= terms.thresholds.reply;
}

/// Whether the Call takes no Read chunk, whichever of its chunks the Reply is offered: then plan_transfer() asks for no
/// segments of the Call. It may take none where this is false too.
[[nodiscard]] constexpr bool call_fits_inline(const Stream &call, SegmentCounts reply_segments,
					      const Terms &terms) noexcept
{
	return wire::header_size(terms.version, 0, reply_segments.pages, reply_segments.whole) + call.size() <=
	       terms.thresholds.call;
}

/// Chooses the transfers of one transaction. Inline is preferred, then reduction, then a long message; the header's
/// exact size for the segments at hand is taken into account.
/// `reply` says the largest Reply that can come. The numbers of segments of what fits inline may be left zero: see
/// reply_fits_inline() and call_fits_inline().
[[nodiscard]] std::expected<Plan, PlanError> plan_transfer(const Stream &call, SegmentCounts call_segments,
							   const Stream &reply, SegmentCounts reply_segments,
							   const Terms &terms, Reduction reduction) noexcept;

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

} // namespace rpcordma::proto
