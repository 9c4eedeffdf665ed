// SPDX-License-Identifier: GPL-2.0-only
/// How a responder puts the Payload stream of a Call together: from the message, and from the chunks that it reads
/// (RFC 8166, 3.4.5; rfc5666bis-04, 4.4.5).
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <utility>
#include <variant>

#include "proto/arrival.hh"

namespace rpcordma::proto {

/// What a responder has room for.
struct CallLimits {
	/// The largest Payload stream, in bytes.
	std::uint32_t stream;
	/// The most segments that the Read list may have.
	std::uint32_t segments;
	/// The same for the Write list and the Reply chunk together.
	std::uint32_t room_segments;
	/// The largest Reply in a message: a Call whose chunks leave no room for the header of any Reply is refused before it
	/// is carried out.
	std::uint32_t reply_threshold;
	/// Refuses Read chunks that hold what is not DDP-eligible, where the message tells: for Long Calls, see
	/// Assembly::error_in().
	bool eligible_only = false;
	/// Whether one item may be kept apart from the message that it belongs to (CallShape::one_item).
	bool item_apart = true;
};

/// Why a Call's chunks cannot be used. The Call is answered with ERR_CHUNK.
enum class CallError : std::uint8_t {
	/// Too many segments of one kind.
	too_many_segments,
	/// The Payload stream would be larger than the responder takes.
	too_large,
	/// A Position is no multiple of four.
	position_unaligned,
	/// A Position within another Read chunk, or behind the end of the Payload stream.
	position_outside,
	/// RDMA_MSG with a Position Zero Read chunk.
	position_zero_beside_payload,
	/// RDMA_NOMSG without anything to read.
	no_payload,
	/// The Payload stream is smaller than any RPC Call.
	too_small,
	/// A Read chunk holds a data item that is not DDP-eligible (rfc5666bis-04, 8.1.1).
	not_eligible,
	/// An item's count takes in roundup padding that its chunk does not have.
	count_beyond_chunk,
	/// The chunks given back would not fit into a Reply.
	no_room_for_reply,
};

/// For trace events and the log: scripts look for these words (Documentation/administration.rst).
[[nodiscard]] inline const char *name_of(CallError error) noexcept
{
	static constexpr const char *names[] = {"too many segments",
						"larger than the largest call",
						"Position is no multiple of four",
						"Position outside the Payload stream",
						"Position Zero Read chunk beside an inline Payload stream",
						"no Payload stream",
						"too small",
						"Read chunk for an item that is not DDP-eligible",
						"count beyond its chunk",
						"no room for the header of a reply"};
	return names[std::to_underlying(error)];
}

/// What the upper layer is given.
enum class CallShape : std::uint8_t {
	/// All of it is in the message.
	in_message,
	/// A head in the message, one item that is read, a tail in the message. The item is all in the chunk: its count stands
	/// in front of it and says no more than that. The tail is too short for another.
	one_item,
	/// One stretch of memory.
	contiguous,
};

/// For trace events and the log: scripts look for these words (Documentation/administration.rst).
[[nodiscard]] inline const char *name_of(CallShape shape) noexcept
{
	static constexpr const char *names[] = {"inline", "Read chunk", "Read chunks"};
	return names[std::to_underlying(shape)];
}

/// A part of the Payload stream and where it comes from; never empty.
struct Piece {
	/// From the beginning of the memory that is filled, in bytes: the item's own in CallShape::one_item.
	std::uint32_t offset;
	std::uint32_t length;
	/// Bytes of the message, or memory of the requester's.
	std::variant<wire::Bytes, wire::Segment> source;
};

/// The pieces in the order of the stream. Needs no memory: each step looks through the Read list, whose length
/// CallLimits bounds.
class Pieces {
    public:
	/// The next piece; none when all have been seen. The bytes between two pieces are roundup padding.
	[[nodiscard]] std::optional<Piece> next() noexcept;

    private:
	friend class Assembly;
	Pieces() noexcept = default;
	explicit Pieces(const Call &call) noexcept;
	void begin_chunk() noexcept;
	[[nodiscard]] std::optional<Piece> next_of_chunk() noexcept;
	[[nodiscard]] std::optional<Piece> next_of_base(std::uint32_t most) noexcept;

	const Call *call_ = nullptr;
	/// Where the stream's first piece goes.
	std::uint32_t origin_ = 0;
	std::uint32_t at_ = 0;
	/// Up to where the base goes on: the next chunk's Position, or the end.
	std::uint32_t base_until_ = 0;
	std::uint32_t end_ = 0;
	/// The Read chunk that comes next, or is being gone through; zero where there is none.
	std::uint32_t position_ = 0;
	bool in_chunk_ = false;
	wire::ReadList::Iterator segment_;
	/// How much of the base has been handed out, of all of it or of its current segment.
	std::uint32_t base_done_ = 0;
	wire::ReadList::Iterator base_segment_;
};

/// A Call whose chunks have been judged.
class Assembly {
    public:
	/// Of nothing.
	Assembly() noexcept = default;

	/// Judges. The result refers to `call`, and to the message that it came in.
	[[nodiscard]] static std::expected<Assembly, CallError> of(const Call &call, const CallLimits &limits) noexcept;

	[[nodiscard]] CallShape shape() const noexcept { return shape_; }
	/// The size of the whole Payload stream in bytes, roundup padding included.
	[[nodiscard]] std::uint32_t size() const noexcept { return size_; }
	/// In CallShape::one_item: how much of the message's payload stands in front of the item.
	[[nodiscard]] std::uint32_t position() const noexcept { return position_; }
	/// What is wrong with the Read chunks of a Long Call, as far as the first bytes of its Payload stream tell, put together:
	/// not_eligible or count_beyond_chunk. A chunk further on is not looked at.
	[[nodiscard]] std::optional<CallError> error_in(wire::Bytes front) const noexcept;
	/// The size of the memory to be filled in bytes, roundup padding included.
	[[nodiscard]] std::uint32_t filled() const noexcept;
	/// What it is filled with.
	[[nodiscard]] Pieces pieces() const noexcept;

    private:
	/// The same where there is nothing but the message's payload.
	[[nodiscard]] static std::expected<Assembly, CallError> without_chunks(const Call &call,
									       const CallLimits &limits) noexcept;
	explicit Assembly(const Call &call) noexcept
		: call_(&call)
	{
	}
	const Call *call_ = nullptr;
	CallShape shape_ = CallShape::in_message;
	std::uint32_t size_ = 0;
	std::uint32_t position_ = 0;
};

/// The handle that the responder may invalidate with its Reply: that of the Call's only registration, if all its segments
/// are of one (RFC 8797, 4.1). None where there are several: the requester would have to invalidate the others anyway.
[[nodiscard]] std::optional<wire::Handle> handle_to_invalidate(const wire::Chunks &chunks) noexcept;

} // namespace rpcordma::proto
