// SPDX-License-Identifier: GPL-2.0-only
#include "wire/chunk.hh"

#include <algorithm>

namespace rpcordma::wire {
namespace {

/// The discriminator that says that an item of a list follows (RFC 4506, 4.19).
constexpr std::size_t discriminator_size = xdr_unit;
constexpr std::size_t count_size = xdr_unit;
constexpr std::size_t read_entry_size = discriminator_size + RPCRDMA_V1_READ_SEGMENT_SIZE;
constexpr std::uint32_t present = 1;
constexpr std::uint32_t absent = 0;

using SegmentBytes = std::span<const std::byte, RPCRDMA_V1_SEGMENT_SIZE>;
using ReadSegmentBytes = std::span<const std::byte, RPCRDMA_V1_READ_SEGMENT_SIZE>;

Segment load_segment(SegmentBytes bytes) noexcept
{
	return {
		.handle = Handle{load_u32(bytes.first<xdr_unit>())},
		.length = load_u32(bytes.subspan<xdr_unit, xdr_unit>()),
		.offset = load_u64(bytes.last<2 * xdr_unit>()),
	};
}

ReadSegment load_read_segment(ReadSegmentBytes bytes) noexcept
{
	return {
		.position = Position{load_u32(bytes.first<xdr_unit>())},
		.target = load_segment(bytes.last<RPCRDMA_V1_SEGMENT_SIZE>()),
	};
}

/// The chunk at the front of bytes that have been walked before.
std::size_t segments_size(Bytes chunk) noexcept
{
	return std::size_t{load_u32(chunk.first<count_size>())} * RPCRDMA_V1_SEGMENT_SIZE;
}

/// What `reader` has read since `before` was its rest.
Bytes read_since(Bytes before, const Reader &reader) noexcept
{
	return before.first(before.size() - reader.rest().size());
}

Result<void> encode(const Segment &segment, Writer &writer) noexcept
{
	TRY(writer.u32(std::to_underlying(segment.handle)));
	TRY(writer.u32(segment.length));
	return writer.u64(segment.offset);
}

Result<void> encode(const ReadSegment &segment, Writer &writer) noexcept
{
	TRY(writer.u32(std::to_underlying(segment.position)));
	return encode(segment.target, writer);
}

Result<void> encode(SegmentArray chunk, Writer &writer) noexcept
{
	TRY(writer.u32(static_cast<std::uint32_t>(chunk.size())));
	for (const Segment &segment : chunk)
		TRY(encode(segment, writer));
	return {};
}

/// A chunk with the lengths of what its first `written` bytes hold.
Result<void> encode_filled(const WriteChunk &chunk, std::uint32_t written, Writer &writer) noexcept
{
	TRY(writer.u32(chunk.count()));
	for (std::uint32_t i = 0; i < chunk.count(); ++i) {
		Segment segment = chunk[i];
		segment.length = std::min(segment.length, written);
		written -= segment.length;
		TRY(encode(segment, writer));
	}
	return {};
}

/// A list is a chain of optional-data: each item behind a discriminator, and an absent one at the end.
template <typename Item> Result<void> encode_list(std::span<const Item> list, Writer &writer) noexcept
{
	for (const Item &item : list) {
		TRY(writer.u32(present));
		TRY(encode(item, writer));
	}
	return writer.u32(absent);
}

} // namespace

Segment WriteChunk::operator[](std::uint32_t index) const noexcept
{
	const std::size_t at = std::size_t{index} * RPCRDMA_V1_SEGMENT_SIZE;
	return load_segment(segments_.subspan(at).first<RPCRDMA_V1_SEGMENT_SIZE>());
}

std::uint64_t WriteChunk::length() const noexcept
{
	std::uint64_t sum = 0;
	for (std::uint32_t i = 0; i < count(); ++i)
		sum += (*this)[i].length;
	return sum;
}

Result<WriteChunk> WriteChunk::decode(Reader &reader) noexcept
{
	const std::uint32_t count = TRY(reader.u32());
	// The count can be anything: the product must not overflow.
	static_assert(sizeof(std::size_t) > sizeof count);
	const auto segments = reader.take(std::size_t{count} * RPCRDMA_V1_SEGMENT_SIZE);
	if (!segments)
		return std::unexpected(Error::bad_count);
	return WriteChunk(*segments);
}

ReadSegment ReadList::Iterator::operator*() const noexcept
{
	return load_read_segment(ReadSegmentBytes(at_ + discriminator_size, RPCRDMA_V1_READ_SEGMENT_SIZE));
}

ReadList::Iterator &ReadList::Iterator::operator++() noexcept
{
	at_ += read_entry_size;
	return *this;
}

ReadList::Iterator ReadList::Iterator::operator++(int) noexcept
{
	const Iterator before = *this;
	++*this;
	return before;
}

ReadList::Iterator ReadList::begin() const noexcept
{
	return Iterator(entries_.data());
}

ReadList::Iterator ReadList::end() const noexcept
{
	return Iterator(entries_.data() + entries_.size());
}

std::uint32_t ReadList::count() const noexcept
{
	return static_cast<std::uint32_t>(entries_.size() / read_entry_size);
}

Result<ReadList> ReadList::decode(Reader &reader) noexcept
{
	const Bytes before = reader.rest();
	Bytes entries;
	while (TRY(reader.boolean())) {
		TRY(reader.take(RPCRDMA_V1_READ_SEGMENT_SIZE));
		entries = read_since(before, reader);
	}
	return ReadList(entries);
}

WriteChunk WriteList::Iterator::operator*() const noexcept
{
	const Bytes chunk = rest_.subspan(discriminator_size);
	return WriteChunk(chunk.subspan(count_size, segments_size(chunk)));
}

WriteList::Iterator &WriteList::Iterator::operator++() noexcept
{
	const Bytes chunk = rest_.subspan(discriminator_size);
	rest_ = chunk.subspan(count_size + segments_size(chunk));
	return *this;
}

WriteList::Iterator WriteList::Iterator::operator++(int) noexcept
{
	const Iterator before = *this;
	++*this;
	return before;
}

WriteList::Iterator WriteList::begin() const noexcept
{
	return Iterator(entries_);
}

WriteList::Iterator WriteList::end() const noexcept
{
	return Iterator(entries_.last(0));
}

std::uint32_t WriteList::count() const noexcept
{
	std::uint32_t chunks = 0;
	for (Iterator at = begin(); at != end(); ++at)
		++chunks;
	return chunks;
}

Result<WriteList> WriteList::decode(Reader &reader) noexcept
{
	const Bytes before = reader.rest();
	Bytes entries;
	while (TRY(reader.boolean())) {
		TRY(WriteChunk::decode(reader));
		entries = read_since(before, reader);
	}
	return WriteList(entries);
}

Result<Chunks> Chunks::decode(Reader &reader) noexcept
{
	Chunks chunks;
	chunks.reads = TRY(ReadList::decode(reader));
	chunks.writes = TRY(WriteList::decode(reader));
	if (TRY(reader.boolean()))
		chunks.reply = TRY(WriteChunk::decode(reader));
	return chunks;
}

std::size_t ChunksToSend::size() const noexcept
{
	std::size_t size = chunks_size(static_cast<std::uint32_t>(reads.size()), 0, 0);
	for (const SegmentArray chunk : writes)
		size += discriminator_size + count_size + chunk.size() * RPCRDMA_V1_SEGMENT_SIZE;
	if (reply)
		size += count_size + reply->size() * RPCRDMA_V1_SEGMENT_SIZE;
	return size;
}

Result<void> ChunksToSend::encode(Writer &writer) const noexcept
{
	TRY(encode_list(reads, writer));
	TRY(encode_list(writes, writer));
	if (!reply)
		return writer.u32(absent);
	TRY(writer.u32(present));
	return wire::encode(*reply, writer);
}

std::size_t ReturnedChunks::size() const noexcept
{
	std::size_t size = chunks_size(0, 0, 0);
	for (const WriteChunk chunk : writes)
		size += discriminator_size + count_size + chunk.count() * RPCRDMA_V1_SEGMENT_SIZE;
	if (reply)
		size += count_size + reply->count() * RPCRDMA_V1_SEGMENT_SIZE;
	return size;
}

Result<void> ReturnedChunks::encode(Writer &writer) const noexcept
{
	TRY(writer.u32(absent));
	std::size_t index = 0;
	for (const WriteChunk chunk : writes) {
		TRY(writer.u32(present));
		TRY(encode_filled(chunk, index < written.size() ? written[index] : 0, writer));
		++index;
	}
	TRY(writer.u32(absent));
	if (!reply)
		return writer.u32(absent);
	TRY(writer.u32(present));
	return encode_filled(*reply, reply_written, writer);
}

} // namespace rpcordma::wire
