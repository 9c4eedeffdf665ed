// SPDX-License-Identifier: GPL-2.0-only

#include "codec/header.hh"

#include <numeric>

#include "codec/version_1.hh"
#include "codec/version_2.hh"

namespace peer {

Bytes encode(const Header &header)
{
	XdrWriter xdr;
	xdr.u32(header.xid);
	xdr.u32(header.version);
	xdr.u32(header.credits);
	xdr.u32(header.type);
	if (header.version == VERSION_2)
		version_2::write_body(xdr, header);
	else
		version_1::write_body(xdr, header);
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
	if (header.version == VERSION_2)
		version_2::read_body(xdr, header);
	else
		version_1::read_body(xdr, header);
	return {header, bytes_of(xdr.rest())};
}

std::uint64_t length_of(const Chunk &chunk) noexcept
{
	return std::accumulate(chunk.begin(), chunk.end(), std::uint64_t{0},
			       [](std::uint64_t sum, const Segment &segment) { return sum + segment.length; });
}

} // namespace peer
