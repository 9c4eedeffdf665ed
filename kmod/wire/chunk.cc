// SPDX-License-Identifier: GPL-2.0-only
#include "wire/chunk.hh"

#include <algorithm>

namespace rpcordma::wire {
namespace {

constexpr std::uint32_t present = 1;
constexpr std::uint32_t absent = 0;

/// The items of a list that `reader` has just read to its end, where `before` was its rest.
Bytes items_read(Bytes before, const Reader &reader) noexcept
{
	return before.first(before.size() - reader.rest().size() - discriminator_size);
}

inline void store(std::span<std::byte, RPCRDMA_V1_SEGMENT_SIZE> bytes, const Segment &segment) noexcept
{
	store_word<0>(bytes, std::to_underlying(segment.handle));
	store_word<1>(bytes, segment.length);
	store_u64(bytes.last<2 * xdr_unit>(), segment.offset);
}

Result<void> encode(const Segment &segment, Writer &writer) noexcept
{
	store(TRY(writer.take<RPCRDMA_V1_SEGMENT_SIZE>()), segment);
	return {};
}

/// With the discriminator in front of it.
Result<void> encode_item(const ReadSegment &segment, Writer &writer) noexcept
{
	const auto bytes = TRY(writer.take<discriminator_size + RPCRDMA_V1_READ_SEGMENT_SIZE>());
	store_word<0>(bytes, present);
	store_word<1>(bytes, std::to_underlying(segment.position));
	store(bytes.last<RPCRDMA_V1_SEGMENT_SIZE>(), segment.target);
	return {};
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
Result<void> encode_list(std::span<const SegmentArray> list, Writer &writer) noexcept
{
	for (const SegmentArray chunk : list) {
		TRY(writer.u32(present));
		TRY(encode(chunk, writer));
	}
	return writer.u32(absent);
}

} // namespace

Result<void> encode_list_ends(Writer &writer) noexcept
{
	const auto words = TRY(writer.take<chunks_size(0, 0, 0)>());
	store_word<0>(words, absent);
	store_word<1>(words, absent);
	store_word<2>(words, absent);
	return {};
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

ReadList::Iterator ReadList::Iterator::operator++(int) noexcept
{
	const Iterator before = *this;
	++*this;
	return before;
}

Result<ReadList> ReadList::decode(Reader &reader) noexcept
{
	const Bytes before = reader.rest();
	while (TRY(reader.boolean()))
		TRY(reader.take(RPCRDMA_V1_READ_SEGMENT_SIZE));
	return ReadList(items_read(before, reader));
}

WriteList::Iterator WriteList::Iterator::operator++(int) noexcept
{
	const Iterator before = *this;
	++*this;
	return before;
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
	while (TRY(reader.boolean()))
		TRY(WriteChunk::decode(reader));
	return WriteList(items_read(before, reader));
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
	for (const ReadSegment &segment : reads)
		TRY(encode_item(segment, writer));
	if (writes.empty() && !reply)
		return encode_list_ends(writer);
	TRY(writer.u32(absent));
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
