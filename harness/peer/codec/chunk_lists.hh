// SPDX-License-Identifier: GPL-2.0-only
//
// Read list, Write list and Reply chunk on the wire: the same in versions 1 and 2.

#pragma once

#include "codec/header.hh"

namespace peer {

inline void write_segment(XdrWriter &xdr, const Segment &segment)
{
	xdr.u32(segment.handle);
	xdr.u32(segment.length);
	xdr.u64(segment.offset);
}

inline void write_chunk(XdrWriter &xdr, const Chunk &chunk)
{
	xdr.u32(static_cast<std::uint32_t>(chunk.size()));
	for (const Segment &segment : chunk)
		write_segment(xdr, segment);
}

inline void write_lists(XdrWriter &xdr, const Header &header)
{
	for (const ReadSegment &read : header.reads) {
		xdr.boolean(true);
		xdr.u32(read.position);
		write_segment(xdr, read.target);
	}
	xdr.boolean(false);
	for (const Chunk &chunk : header.writes) {
		xdr.boolean(true);
		write_chunk(xdr, chunk);
	}
	xdr.boolean(false);
	xdr.boolean(header.reply.has_value());
	if (header.reply)
		write_chunk(xdr, *header.reply);
}

inline Segment read_segment(XdrReader &xdr, std::string_view what)
{
	Segment segment;
	segment.handle = xdr.u32(what);
	segment.length = xdr.u32(what);
	segment.offset = xdr.u64(what);
	return segment;
}

inline Chunk read_chunk(XdrReader &xdr, std::string_view what)
{
	constexpr std::size_t SEGMENT_SIZE = 16;
	const std::uint32_t count = xdr.u32(what);
	if (count > xdr.rest().size() / SEGMENT_SIZE)
		throw Malformed(std::string(what) + " claims " + std::to_string(count) +
				" segments, more than the message has bytes for");
	Chunk chunk;
	for (std::uint32_t i = 0; i < count; i++)
		chunk.push_back(read_segment(xdr, what));
	return chunk;
}

inline void read_lists(XdrReader &xdr, Header &header)
{
	while (xdr.boolean("the Read list")) {
		const std::uint32_t position = xdr.u32("the Read list");
		header.reads.push_back({position, read_segment(xdr, "the Read list")});
	}
	while (xdr.boolean("the Write list"))
		header.writes.push_back(read_chunk(xdr, "a Write chunk"));
	if (xdr.boolean("the Reply chunk"))
		header.reply = read_chunk(xdr, "the Reply chunk");
}

} // namespace peer
