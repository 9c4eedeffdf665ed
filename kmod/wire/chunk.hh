// SPDX-License-Identifier: GPL-2.0-only
/// Segments, chunks and chunk lists of version 1 (RFC 8166, 3.4; rfc5666bis-04, 5.3), received and to be sent.
///
/// What is received stays where it is: a list is a view over bytes that the decoder has walked once, so that
/// going through it again cannot fail, needs no memory and has no limit of its own on the number of segments.
/// A view is valid as long as the received message is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "uapi/rpcrdma_v1.h"
#include "wire/xdr.hh"

namespace rpcordma::wire {

/// A steering tag (R_key) that names registered memory.
enum class Handle : std::uint32_t {};
/// A byte offset into the unreduced Payload stream.
enum class Position : std::uint32_t {};

/// The discriminator that says that an item of a list follows (RFC 4506, 4.19), and the count in front of a chunk.
inline constexpr std::size_t discriminator_size = xdr_unit;
inline constexpr std::size_t count_size = xdr_unit;

/// A plain segment: one contiguous piece of registered memory (RFC 8166, 3.4.3).
struct Segment {
	Handle handle;
	/// In bytes; zero is an empty segment.
	std::uint32_t length;
	/// The address within the registration.
	std::uint64_t offset;

	/// Reads one from the wire.
	[[nodiscard]] static Segment load(std::span<const std::byte, RPCRDMA_V1_SEGMENT_SIZE> bytes) noexcept
	{
		return {.handle = Handle{load_word<0>(bytes)},
			.length = load_word<1>(bytes),
			.offset = load_u64(bytes.last<2 * xdr_unit>())};
	}

	friend bool operator==(const Segment &, const Segment &) = default;
};

/// One segment of a Read chunk; those of one chunk follow each other and have the same position.
struct ReadSegment {
	Position position;
	Segment target;

	friend bool operator==(const ReadSegment &, const ReadSegment &) = default;
};

/// A received Write chunk or Reply chunk: a counted array of segments.
class WriteChunk {
    public:
	/// The number of segments; zero is an empty chunk.
	[[nodiscard]] std::uint32_t count() const noexcept
	{
		return static_cast<std::uint32_t>(segments_.size() / RPCRDMA_V1_SEGMENT_SIZE);
	}
	/// The segment at `index`, which must be less than count().
	[[nodiscard]] Segment operator[](std::uint32_t index) const noexcept;
	/// The sum of the segments' lengths, in bytes. Cannot overflow.
	[[nodiscard]] std::uint64_t length() const noexcept;

	/// Reads a chunk from its count on. Errors: truncated, bad_count.
	[[nodiscard]] static Result<WriteChunk> decode(Reader &reader) noexcept;

    private:
	friend class WriteList;
	explicit WriteChunk(Bytes segments) noexcept
		: segments_(segments)
	{
	}
	Bytes segments_;
};

/// A received Read list, in the order of the wire.
class ReadList {
    public:
	class Iterator {
	    public:
		using difference_type = std::ptrdiff_t;
		using value_type = ReadSegment;

		Iterator() noexcept = default;
		ReadSegment operator*() const noexcept;
		Iterator &operator++() noexcept;
		Iterator operator++(int) noexcept;
		friend bool operator==(const Iterator &a, const Iterator &b) noexcept { return a.at_ == b.at_; }

	    private:
		friend class ReadList;
		explicit Iterator(const std::byte *at) noexcept
			: at_(at)
		{
		}
		const std::byte *at_ = nullptr;
	};

	ReadList() noexcept = default;
	[[nodiscard]] Iterator begin() const noexcept;
	[[nodiscard]] Iterator end() const noexcept;
	[[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
	/// The number of segments.
	[[nodiscard]] std::uint32_t count() const noexcept;

	/// Reads a list up to and including its end mark. Errors: truncated, bad_discriminator.
	[[nodiscard]] static Result<ReadList> decode(Reader &reader) noexcept;

    private:
	explicit ReadList(Bytes entries) noexcept
		: entries_(entries)
	{
	}
	Bytes entries_;
};

/// A received Write list, in the order of the wire.
class WriteList {
    public:
	class Iterator {
	    public:
		using difference_type = std::ptrdiff_t;
		using value_type = WriteChunk;

		Iterator() noexcept = default;
		WriteChunk operator*() const noexcept;
		Iterator &operator++() noexcept;
		Iterator operator++(int) noexcept;
		friend bool operator==(const Iterator &a, const Iterator &b) noexcept
		{
			return a.rest_.data() == b.rest_.data();
		}

	    private:
		friend class WriteList;
		explicit Iterator(Bytes rest) noexcept
			: rest_(rest)
		{
		}
		/// Where in the rest this chunk's segments begin and end.
		static constexpr std::size_t segments_at = discriminator_size + count_size;
		[[nodiscard]] std::size_t chunk_end() const noexcept;
		Bytes rest_;
	};

	WriteList() noexcept = default;
	[[nodiscard]] Iterator begin() const noexcept;
	[[nodiscard]] Iterator end() const noexcept;
	[[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
	/// The number of chunks.
	[[nodiscard]] std::uint32_t count() const noexcept;

	/// Reads a list up to and including its end mark. Errors: truncated, bad_discriminator, bad_count.
	[[nodiscard]] static Result<WriteList> decode(Reader &reader) noexcept;

    private:
	explicit WriteList(Bytes entries) noexcept
		: entries_(entries)
	{
	}
	Bytes entries_;
};

/// The three chunk lists of a received RDMA_MSG or RDMA_NOMSG.
struct Chunks {
	ReadList reads;
	WriteList writes;
	std::optional<WriteChunk> reply;

	/// Whether there is a chunk of any kind, also an empty one.
	[[nodiscard]] bool any() const noexcept { return !reads.empty() || !writes.empty() || reply; }
	/// Errors: truncated, bad_discriminator, bad_count.
	[[nodiscard]] static Result<Chunks> decode(Reader &reader) noexcept;
};

inline constexpr Chunks no_chunks{};

/// A Write chunk or Reply chunk to be sent. The sender owns the segments.
using SegmentArray = std::span<const Segment>;

/// The three chunk lists of a message to be sent. The sender owns all that it refers to.
struct ChunksToSend {
	std::span<const ReadSegment> reads;
	std::span<const SegmentArray> writes;
	std::optional<SegmentArray> reply;

	/// Whether there is a chunk of any kind, also an empty one.
	[[nodiscard]] bool any() const noexcept { return !reads.empty() || !writes.empty() || reply; }
	/// The number of bytes that encode() writes.
	[[nodiscard]] std::size_t size() const noexcept;
	/// Errors: no_room.
	[[nodiscard]] Result<void> encode(Writer &writer) const noexcept;
};

/// The chunk lists of a Reply: those of its Call, given back with the lengths of what was written (RFC 8166, 3.4.6).
/// The sender owns all that it refers to.
struct ReturnedChunks {
	WriteList writes;
	/// How much was written by each Write chunk, in bytes and no more than its length; none for those further on.
	std::span<const std::uint32_t> written;
	std::optional<WriteChunk> reply;
	/// Likewise by the Reply chunk.
	std::uint32_t reply_written = 0;

	/// Whether there is a chunk of any kind, also an empty one.
	[[nodiscard]] bool any() const noexcept { return !writes.empty() || reply; }
	/// The number of bytes that encode() writes.
	[[nodiscard]] std::size_t size() const noexcept;
	/// Errors: no_room.
	[[nodiscard]] Result<void> encode(Writer &writer) const noexcept;
};

/// Writes the ends of the three lists: all of them where there is no chunk, as in most messages. Errors: no_room.
[[nodiscard]] Result<void> encode_list_ends(Writer &writer) noexcept;

/// The number of bytes that three chunk lists take with `reads` Read segments, one Write chunk of `write_segments`
/// segments and a Reply chunk of `reply_segments`; no such chunk where that number is zero.
[[nodiscard]] constexpr std::size_t chunks_size(std::uint32_t reads, std::uint32_t write_segments,
						std::uint32_t reply_segments) noexcept
{
	constexpr std::size_t list_ends = 3 * xdr_unit;
	std::size_t size = list_ends + std::size_t{reads} * (discriminator_size + RPCRDMA_V1_READ_SEGMENT_SIZE);
	if (write_segments != 0)
		size += discriminator_size + count_size + std::size_t{write_segments} * RPCRDMA_V1_SEGMENT_SIZE;
	if (reply_segments != 0)
		size += count_size + std::size_t{reply_segments} * RPCRDMA_V1_SEGMENT_SIZE;
	return size;
}

// For each segment of each message: not worth a call each.

inline Segment WriteChunk::operator[](std::uint32_t index) const noexcept
{
	const Bytes from = segments_.subspan(std::size_t{index} * RPCRDMA_V1_SEGMENT_SIZE);
	return Segment::load(from.first<RPCRDMA_V1_SEGMENT_SIZE>());
}

inline ReadSegment ReadList::Iterator::operator*() const noexcept
{
	const std::span<const std::byte, RPCRDMA_V1_READ_SEGMENT_SIZE> bytes(at_ + discriminator_size,
									     RPCRDMA_V1_READ_SEGMENT_SIZE);
	return {.position = Position{load_word<0>(bytes)},
		.target = Segment::load(bytes.last<RPCRDMA_V1_SEGMENT_SIZE>())};
}

inline ReadList::Iterator &ReadList::Iterator::operator++() noexcept
{
	at_ += discriminator_size + RPCRDMA_V1_READ_SEGMENT_SIZE;
	return *this;
}

inline ReadList::Iterator ReadList::begin() const noexcept
{
	return Iterator(entries_.data());
}

inline ReadList::Iterator ReadList::end() const noexcept
{
	return Iterator(entries_.data() + entries_.size());
}

inline std::uint32_t ReadList::count() const noexcept
{
	return static_cast<std::uint32_t>(entries_.size() / (discriminator_size + RPCRDMA_V1_READ_SEGMENT_SIZE));
}

inline std::size_t WriteList::Iterator::chunk_end() const noexcept
{
	const auto count = load_u32(rest_.subspan<discriminator_size, count_size>());
	return segments_at + std::size_t{count} * RPCRDMA_V1_SEGMENT_SIZE;
}

inline WriteChunk WriteList::Iterator::operator*() const noexcept
{
	return WriteChunk(rest_.subspan(segments_at, chunk_end() - segments_at));
}

inline WriteList::Iterator &WriteList::Iterator::operator++() noexcept
{
	rest_ = rest_.subspan(chunk_end());
	return *this;
}

inline WriteList::Iterator WriteList::begin() const noexcept
{
	return Iterator(entries_);
}

inline WriteList::Iterator WriteList::end() const noexcept
{
	return Iterator(entries_.last(0));
}

} // namespace rpcordma::wire
