// SPDX-License-Identifier: GPL-2.0-only
#include "proto/assembly.hh"

#include <algorithm>

#include "proto/eligibility.hh"

namespace rpcordma::proto {
namespace {

/// The length of the Read chunk at `position`. Cannot overflow: the segments are 32 bits wide and counted.
std::uint64_t chunk_length(const wire::ReadList &reads, std::uint32_t position) noexcept
{
	std::uint64_t length = 0;
	for (const wire::ReadSegment segment : reads) {
		if (std::to_underlying(segment.position) == position)
			length += segment.target.length;
	}
	return length;
}

/// The smallest Position above `position`; zero where there is none.
std::uint32_t position_after(const wire::ReadList &reads, std::uint32_t position) noexcept
{
	std::uint32_t next = 0;
	for (const wire::ReadSegment segment : reads) {
		const std::uint32_t its = std::to_underlying(segment.position);
		if (its > position && (next == 0 || its < next))
			next = its;
	}
	return next;
}

bool has_position_zero(const wire::ReadList &reads) noexcept
{
	return std::any_of(reads.begin(), reads.end(),
			   [](const wire::ReadSegment &segment) { return segment.position == wire::Position{0}; });
}

std::uint64_t room_segments(const wire::Chunks &chunks) noexcept
{
	std::uint64_t segments = chunks.reply ? chunks.reply->count() : 0;
	for (const wire::WriteChunk chunk : chunks.writes)
		segments += chunk.count();
	return segments;
}

/// What is left of the Payload stream without its chunks but the Position Zero Read chunk.
std::uint64_t base_size(const Call &call) noexcept
{
	return call.is_long ? chunk_length(call.chunks.reads, 0) : call.payload.size();
}

/// What is behind an item and is shorter than this cannot hold a WRITE of NFSv4's with data: operation, stateid, offset,
/// stability, count.
constexpr std::uint32_t smallest_write = 40;

/// Whether the chunk at `position`, the only one, holds all of a counted item: upper layers look for such an item's bytes in
/// the memory that is filled, and not behind it, where nfsd does not find those of a further item either. They also want to
/// see the RPC header in one place.
bool is_one_item(const Call &call, std::uint32_t position) noexcept
{
	if (position < smallest_rpc_call || call.payload.size() - position >= smallest_write)
		return false;
	const std::uint64_t length = chunk_length(call.chunks.reads, position);
	const wire::Bytes count = call.payload.subspan(position - wire::xdr_unit, wire::xdr_unit);
	return length != 0 && wire::load_u32(count.first<wire::xdr_unit>()) <= length;
}

/// The count that stands in front of a chunk of `length` bytes, `at` bytes into the stream (a word or more), says that some of the
/// chunk's roundup padding are data (rfc5666bis-04, 4.4.4.1): they would be made up.
bool count_takes_padding(wire::Bytes stream, std::uint64_t at, std::uint64_t length) noexcept
{
	const wire::Bytes word = stream.subspan(at - wire::xdr_unit, wire::xdr_unit);
	const std::uint32_t count = wire::load_u32(word.first<wire::xdr_unit>());
	return length < count && count <= wire::rounded_up(length);
}

} // namespace

std::expected<Assembly, CallError> Assembly::without_chunks(const Call &call, const CallLimits &limits) noexcept
{
	if (wire::header_size(call.version, 0, 0, 0) > limits.reply_threshold)
		return std::unexpected(CallError::no_room_for_reply);
	if (call.payload.size() > limits.stream)
		return std::unexpected(CallError::too_large);
	if (call.payload.size() < smallest_rpc_call)
		return std::unexpected(CallError::too_small);
	Assembly assembly(call);
	assembly.size_ = static_cast<std::uint32_t>(call.payload.size());
	return assembly;
}

std::expected<Assembly, CallError> Assembly::of(const Call &call, const CallLimits &limits) noexcept
{
	if (!call.is_long && !call.chunks.any()) [[likely]]
		return without_chunks(call, limits);
	const wire::ReadList &reads = call.chunks.reads;
	if (reads.count() > limits.segments || room_segments(call.chunks) > limits.room_segments)
		return std::unexpected(CallError::too_many_segments);
	if (wire::header_size(call.version, {call.chunks.writes, {}, call.chunks.reply}) > limits.reply_threshold)
		return std::unexpected(CallError::no_room_for_reply);
	if (!call.is_long && has_position_zero(reads))
		return std::unexpected(CallError::position_zero_beside_payload);
	const std::uint64_t base = base_size(call);
	if (base == 0)
		return std::unexpected(CallError::no_payload);

	std::uint64_t inserted = 0;
	std::uint64_t free_from = 0;
	std::uint32_t chunks = 0;
	Eligibility eligibility(call.payload);
	for (std::uint32_t position = position_after(reads, 0); position != 0;
	     position = position_after(reads, position)) {
		if (position % wire::xdr_unit != 0)
			return std::unexpected(CallError::position_unaligned);
		if (position < free_from || position - inserted > base)
			return std::unexpected(CallError::position_outside);
		const std::uint64_t before = position - inserted;
		const std::uint64_t unpadded = chunk_length(reads, position);
		if (limits.eligible_only && !call.is_long && unpadded != 0 &&
		    !eligibility.has_argument(before, unpadded, Eligibility::Chunk::missing))
			return std::unexpected(CallError::not_eligible);
		const std::uint64_t length = wire::rounded_up(unpadded);
		if (!call.is_long && position != free_from && count_takes_padding(call.payload, before, unpadded))
			return std::unexpected(CallError::count_beyond_chunk);
		inserted += length;
		free_from = position + length;
		if (inserted > limits.stream)
			return std::unexpected(CallError::too_large);
		++chunks;
	}
	if (base + inserted > limits.stream)
		return std::unexpected(CallError::too_large);
	if (base + inserted < smallest_rpc_call)
		return std::unexpected(CallError::too_small);

	Assembly assembly(call);
	assembly.size_ = static_cast<std::uint32_t>(base + inserted);
	const std::uint32_t first = position_after(reads, 0);
	if (limits.item_apart && !call.is_long && chunks == 1 && is_one_item(call, first)) {
		assembly.shape_ = CallShape::one_item;
		assembly.position_ = first;
	} else if (call.is_long || inserted != 0) {
		assembly.shape_ = CallShape::contiguous;
	}
	return assembly;
}

std::optional<CallError> Assembly::error_in(wire::Bytes front) const noexcept
{
	if (!call_->is_long)
		return std::nullopt;
	const wire::ReadList &reads = call_->chunks.reads;
	std::uint64_t free_from = 0;
	Eligibility eligibility(front);
	for (std::uint32_t position = position_after(reads, 0); position != 0 && position <= front.size();
	     position = position_after(reads, position)) {
		const std::uint64_t length = chunk_length(reads, position);
		if (length != 0 && !eligibility.has_argument(position, length, Eligibility::Chunk::in_place))
			return CallError::not_eligible;
		if (position != free_from && count_takes_padding(front, position, length))
			return CallError::count_beyond_chunk;
		free_from = position + wire::rounded_up(length);
	}
	return std::nullopt;
}

std::uint32_t Assembly::filled() const noexcept
{
	if (shape_ == CallShape::in_message)
		return 0;
	if (shape_ == CallShape::one_item)
		return size_ - static_cast<std::uint32_t>(call_->payload.size());
	return size_;
}

Pieces Assembly::pieces() const noexcept
{
	if (shape_ == CallShape::in_message)
		return {};
	Pieces pieces(*call_);
	pieces.end_ = position_ + filled();
	pieces.position_ = position_after(call_->chunks.reads, 0);
	pieces.base_until_ = pieces.position_ != 0 ? pieces.position_ : pieces.end_;
	if (shape_ == CallShape::one_item) {
		pieces.origin_ = position_;
		pieces.at_ = position_;
	}
	return pieces;
}

Pieces::Pieces(const Call &call) noexcept
	: call_(&call)
	, base_segment_(call.chunks.reads.begin())
{
}

std::optional<Piece> Pieces::next() noexcept
{
	for (;;) {
		if (in_chunk_) {
			if (const auto piece = next_of_chunk())
				return piece;
		}
		if (at_ < base_until_)
			return next_of_base(base_until_ - at_);
		if (position_ == 0)
			return std::nullopt;
		begin_chunk();
	}
}

void Pieces::begin_chunk() noexcept
{
	in_chunk_ = true;
	segment_ = call_->chunks.reads.begin();
}

std::optional<Piece> Pieces::next_of_chunk() noexcept
{
	const wire::ReadList &reads = call_->chunks.reads;
	while (segment_ != reads.end()) {
		const wire::ReadSegment segment = *segment_++;
		if (std::to_underlying(segment.position) != position_ || segment.target.length == 0)
			continue;
		const Piece piece{at_ - origin_, segment.target.length, segment.target};
		at_ += piece.length;
		return piece;
	}
	at_ += wire::roundup_padding(at_);
	in_chunk_ = false;
	position_ = position_after(reads, position_);
	base_until_ = position_ != 0 ? position_ : end_;
	return std::nullopt;
}

/// `most` bytes of the base are left here, and more than none.
std::optional<Piece> Pieces::next_of_base(std::uint32_t most) noexcept
{
	if (!call_->is_long) {
		const Piece piece{at_ - origin_, most, call_->payload.subspan(base_done_, most)};
		base_done_ += most;
		at_ += most;
		return piece;
	}
	for (;; ++base_segment_, base_done_ = 0) {
		const wire::ReadSegment segment = *base_segment_;
		if (segment.position != wire::Position{0} || segment.target.length == base_done_)
			continue;
		const std::uint32_t length = std::min(most, segment.target.length - base_done_);
		const wire::Segment part{segment.target.handle, length, segment.target.offset + base_done_};
		const Piece piece{at_ - origin_, length, part};
		base_done_ += length;
		at_ += length;
		return piece;
	}
}

std::optional<wire::Handle> handle_to_invalidate(const wire::Chunks &chunks) noexcept
{
	std::optional<wire::Handle> found;
	bool several = false;
	// The handle of a segment without a byte may stand for nothing.
	const auto look_at = [&](const wire::Segment &segment) {
		if (segment.length == 0)
			return;
		several = several || (found && *found != segment.handle);
		found = segment.handle;
	};
	const auto look_at_chunk = [&](const wire::WriteChunk &chunk) {
		for (std::uint32_t i = 0; i < chunk.count(); ++i)
			look_at(chunk[i]);
	};

	for (const wire::ReadSegment segment : chunks.reads)
		look_at(segment.target);
	for (const wire::WriteChunk chunk : chunks.writes)
		look_at_chunk(chunk);
	if (chunks.reply)
		look_at_chunk(*chunks.reply);
	return several ? std::nullopt : found;
}

} // namespace rpcordma::proto
