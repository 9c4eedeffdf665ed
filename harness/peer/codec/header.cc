// SPDX-License-Identifier: GPL-2.0-only

#include "codec/header.hh"

#include <numeric>
#include <sstream>

namespace peer {

namespace {

void write_segment(XdrWriter &xdr, const Segment &segment)
{
	xdr.u32(segment.handle);
	xdr.u32(segment.length);
	xdr.u64(segment.offset);
}

void write_chunk(XdrWriter &xdr, const Chunk &chunk)
{
	xdr.u32(static_cast<std::uint32_t>(chunk.size()));
	for (const Segment &segment : chunk)
		write_segment(xdr, segment);
}

void write_lists(XdrWriter &xdr, const Header &header)
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

void write_error(XdrWriter &xdr, const Header &header)
{
	xdr.u32(header.error);
	if (header.error != ERR_VERS)
		return;
	xdr.u32(header.version_low);
	xdr.u32(header.version_high);
}

Segment read_segment(XdrReader &xdr, std::string_view what)
{
	Segment segment;
	segment.handle = xdr.u32(what);
	segment.length = xdr.u32(what);
	segment.offset = xdr.u64(what);
	return segment;
}

Chunk read_chunk(XdrReader &xdr, std::string_view what)
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

void read_lists(XdrReader &xdr, Header &header)
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

void read_error(XdrReader &xdr, Header &header)
{
	header.error = xdr.u32("rdma_err");
	switch (header.error) {
	case ERR_VERS:
		header.version_low = xdr.u32("rdma_vers_low");
		header.version_high = xdr.u32("rdma_vers_high");
		return;
	case ERR_CHUNK:
		return;
	}
	throw Malformed("rdma_err " + std::to_string(header.error) + " is not defined");
}

std::string name_of_type(std::uint32_t type)
{
	static constexpr const char *NAMES[] = {"MSG", "NOMSG", "MSGP", "DONE", "ERROR"};
	return type < std::size(NAMES) ? NAMES[type] : "type=" + std::to_string(type);
}

std::ostream &operator<<(std::ostream &out, const Segment &segment)
{
	return out << std::hex << "0x" << segment.handle << ":0x" << segment.offset << std::dec << '/'
		   << segment.length;
}

std::ostream &operator<<(std::ostream &out, const Chunk &chunk)
{
	out << '[';
	for (std::size_t i = 0; i < chunk.size(); i++)
		out << (i ? " " : "") << chunk[i];
	return out << ']';
}

} // namespace

Bytes encode(const Header &header)
{
	XdrWriter xdr;
	xdr.u32(header.xid);
	xdr.u32(header.version);
	xdr.u32(header.credits);
	xdr.u32(header.type);
	switch (header.type) {
	case RDMA_DONE:
		break;
	case RDMA_ERROR:
		write_error(xdr, header);
		break;
	case RDMA_MSGP:
		xdr.u32(header.align);
		xdr.u32(header.threshold);
		[[fallthrough]];
	default:
		write_lists(xdr, header);
	}
	return xdr.take();
}

Decoded decode(ByteView message)
{
	XdrReader xdr(message);
	Header header;
	header.xid = xdr.u32("rdma_xid");
	header.version = xdr.u32("rdma_vers");
	header.credits = xdr.u32("rdma_credit");
	header.type = xdr.u32("rdma_proc");
	switch (header.type) {
	case RDMA_MSGP:
		header.align = xdr.u32("rdma_align");
		header.threshold = xdr.u32("rdma_thresh");
		[[fallthrough]];
	case RDMA_MSG:
	case RDMA_NOMSG:
		read_lists(xdr, header);
		break;
	case RDMA_ERROR:
		read_error(xdr, header);
		break;
	case RDMA_DONE:
		break;
	default:
		throw Malformed("rdma_proc " + std::to_string(header.type) + " is not defined");
	}
	return {header, Bytes(xdr.rest().begin(), xdr.rest().end())};
}

std::uint64_t length_of(const Chunk &chunk) noexcept
{
	return std::accumulate(chunk.begin(), chunk.end(), std::uint64_t{0},
			       [](std::uint64_t sum, const Segment &segment) { return sum + segment.length; });
}

std::string describe(const Header &header)
{
	std::ostringstream out;
	out << name_of_type(header.type) << " xid=0x" << std::hex << header.xid << std::dec
	    << " vers=" << header.version << " credits=" << header.credits;
	if (header.type == RDMA_ERROR) {
		if (header.error == ERR_VERS)
			out << " ERR_VERS " << header.version_low << ".." << header.version_high;
		else
			out << " ERR_CHUNK";
	}
	for (const ReadSegment &read : header.reads)
		out << " read=" << read.position << "@" << read.target;
	for (const Chunk &chunk : header.writes)
		out << " write=" << chunk;
	if (header.reply)
		out << " reply=" << *header.reply;
	return out.str();
}

std::string describe_message(ByteView message)
{
	try {
		const Decoded decoded = decode(message);
		return describe(decoded.header) + " payload=" + std::to_string(decoded.payload.size());
	} catch (const Malformed &malformed) {
		return "malformed, " + std::to_string(message.size()) + " bytes: " + malformed.what();
	}
}

} // namespace peer
