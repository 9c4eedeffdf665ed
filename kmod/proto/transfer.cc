// SPDX-License-Identifier: GPL-2.0-only
#include "proto/transfer.hh"

#include <algorithm>

namespace rpcordma::proto {
namespace {

/// Whether the pages may leave the Payload stream, and there are segments to carry them.
constexpr bool is_reducible(const Stream &stream, SegmentCounts segments, Reduction reduction) noexcept
{
	return reduction == Reduction::allowed && stream.pages_are_ddp_eligible && segments.pages != 0;
}

/// The Reply's header carries back the chunk that was offered, so that its size is known beforehand.
ReplyRoom choose_reply_room(const Stream &reply, SegmentCounts segments, const Terms &terms,
			    Reduction reduction) noexcept
{
	const std::uint32_t threshold = terms.thresholds.reply;
	if (wire::header_size(terms.version, 0, 0, 0) + reply.size() <= threshold)
		return ReplyRoom::inline_message;
	// The tail is counted whole: the padding of an item whose length is not known yet might be none.
	const std::uint64_t reduced = std::uint64_t{reply.head} + reply.tail;
	if (is_reducible(reply, segments, reduction) &&
	    wire::header_size(terms.version, 0, segments.pages, 0) + reduced <= threshold)
		return ReplyRoom::write_chunk;
	return ReplyRoom::reply_chunk;
}

/// The segments that the Call's header has for the Reply's sake.
struct ReplySegments {
	std::uint32_t write;
	std::uint32_t reply;
};

ReplySegments reply_room_segments(ReplyRoom room, SegmentCounts counts) noexcept
{
	if (room == ReplyRoom::write_chunk)
		return {counts.pages, 0};
	if (room == ReplyRoom::reply_chunk)
		return {0, counts.whole};
	return {0, 0};
}

/// A Read chunk's Position is a multiple of four (RFC 8166, 3.4.5), and not zero, which has a meaning of its own.
constexpr bool is_read_chunk_position(std::uint32_t position) noexcept
{
	return position != 0 && position % wire::xdr_unit == 0;
}

} // namespace

std::expected<Plan, PlanError> plan_transfer(const Stream &call, SegmentCounts call_segments, const Stream &reply,
					     SegmentCounts reply_segments, const Terms &terms,
					     Reduction reduction) noexcept
{
	const std::uint32_t threshold = terms.thresholds.call;
	const ReplyRoom room = choose_reply_room(reply, reply_segments, terms, reduction);
	const ReplySegments offered = reply_room_segments(room, reply_segments);
	const auto plan = [&](CallTransfer transfer, std::uint32_t reads, std::uint64_t header, std::uint32_t tail_skip,
			      std::uint64_t inline_size) {
		return Plan{.call = transfer,
			    .reply = room,
			    .header_size = static_cast<std::uint32_t>(header),
			    .tail_skip = tail_skip,
			    .inline_size = static_cast<std::uint32_t>(inline_size),
			    .read_segments = reads,
			    .room_segments = offered.write + offered.reply};
	};

	const std::uint64_t inline_header = wire::header_size(terms.version, 0, offered.write, offered.reply);
	if (inline_header + call.size() <= threshold)
		return plan(CallTransfer::inline_message, 0, inline_header, 0, call.size());

	// A reduced item takes its roundup padding with it (RFC 8166, 3.4.4.4).
	const std::uint64_t chunk_header =
		wire::header_size(terms.version, call_segments.pages, offered.write, offered.reply);
	const std::uint32_t tail_skip = std::min(wire::roundup_padding(call.pages), call.tail);
	const std::uint64_t reduced = std::uint64_t{call.head} + call.tail - tail_skip;
	if (is_reducible(call, call_segments, reduction) && is_read_chunk_position(call.head) &&
	    chunk_header + reduced <= threshold)
		return plan(CallTransfer::read_chunk, call_segments.pages, chunk_header, tail_skip, reduced);

	const std::uint64_t long_header =
		wire::header_size(terms.version, call_segments.whole, offered.write, offered.reply);
	if (long_header <= threshold)
		return plan(CallTransfer::position_zero, call_segments.whole, long_header, 0, 0);
	return std::unexpected(PlanError::header_too_large);
}

std::expected<Placement, PlacementError> place_reply(const Stream &room, std::uint32_t inline_size,
						     std::uint32_t written) noexcept
{
	const std::uint32_t head = std::min(inline_size, room.head);
	const std::uint32_t after_head = inline_size - head;
	if (written == 0) {
		const std::uint32_t pages = std::min(after_head, room.pages);
		const std::uint32_t tail = after_head - pages;
		if (tail > room.tail)
			return std::unexpected(PlacementError::too_large);
		return Placement{head, pages, pages, 0, tail};
	}

	// The item's roundup padding was left out with it (RFC 8166, 3.4.4.4), but the upper layer looks for what
	// follows behind it.
	const std::uint32_t padding = wire::roundup_padding(written);
	const std::uint32_t fitting = after_head == 0 ? std::min(padding, room.tail) : padding;
	if (written > room.pages || std::uint64_t{fitting} + after_head > room.tail)
		return std::unexpected(PlacementError::too_large);
	return Placement{head, 0, written, fitting, after_head};
}

} // namespace rpcordma::proto
