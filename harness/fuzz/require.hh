// SPDX-License-Identifier: GPL-2.0-only
/// What the fuzzers have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include "wire/chunk.hh"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

namespace rpcordma::fuzz {

/// What must hold for every input.
inline void require(bool holds, const char *what)
{
	if (holds)
		return;
	std::fprintf(stderr, "does not hold: %s\n", what);
	std::abort();
}

inline std::vector<wire::Segment> segments_of(const wire::WriteChunk &chunk)
{
	std::vector<wire::Segment> segments;
	for (std::uint32_t i = 0; i < chunk.count(); ++i)
		segments.push_back(chunk[i]);
	return segments;
}

inline std::uint64_t length_of(wire::SegmentArray segments)
{
	std::uint64_t length = 0;
	for (const wire::Segment &segment : segments)
		length += segment.length;
	return length;
}

/// Encodes decoded chunk lists again: XDR leaves no choice, so that the same bytes must come out.
inline void require_round_trip(const wire::Chunks &chunks, wire::Bytes encoded)
{
	std::vector<wire::ReadSegment> reads;
	for (const wire::ReadSegment segment : chunks.reads)
		reads.push_back(segment);
	std::vector<std::vector<wire::Segment>> writes;
	for (const wire::WriteChunk chunk : chunks.writes) {
		writes.push_back(segments_of(chunk));
		require(chunk.length() == length_of(writes.back()), "a chunk is as long as its segments");
	}
	require(chunks.reads.count() == reads.size(), "a Read list counts its segments");
	require(chunks.writes.count() == writes.size(), "a Write list counts its chunks");
	require(chunks.reads.empty() == reads.empty(), "an empty Read list has no segments");
	require(chunks.writes.empty() == writes.empty(), "an empty Write list has no chunks");
	std::vector<wire::Segment> reply;
	if (chunks.reply)
		reply = segments_of(*chunks.reply);

	const std::vector<wire::SegmentArray> arrays(writes.begin(), writes.end());
	wire::ChunksToSend to_send{reads, arrays, {}};
	if (chunks.reply)
		to_send.reply = reply;
	require(to_send.size() == encoded.size(), "lists are encoded in as many bytes as they came in");
	std::vector<std::byte> room(encoded.size());
	wire::Writer writer(room);
	require(to_send.encode(writer).has_value(), "lists fit where they came from");
	require(std::equal(room.begin(), room.end(), encoded.begin()), "lists are encoded as they came");
}

} // namespace rpcordma::fuzz
