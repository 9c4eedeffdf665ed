// SPDX-License-Identifier: GPL-2.0-only
//
// Version 1 behind the fixed fields (RFC 8166, section 4).

#pragma once

#include "codec/chunk_lists.hh"

namespace peer::version_1 {

inline void write_error(XdrWriter &xdr, const Header &header)
{
	xdr.u32(header.error);
	if (header.error != ERR_VERS)
		return;
	xdr.u32(header.version_low);
	xdr.u32(header.version_high);
}

/// A header of a type that is not defined is written with chunk lists, like RDMA_MSG.
inline void write_body(XdrWriter &xdr, const Header &header)
{
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
}

inline void read_error(XdrReader &xdr, Header &header)
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

inline void read_body(XdrReader &xdr, Header &header)
{
	switch (header.type) {
	case RDMA_MSGP:
		header.align = xdr.u32("rdma_align");
		header.threshold = xdr.u32("rdma_thresh");
		[[fallthrough]];
	case RDMA_MSG:
	case RDMA_NOMSG:
		read_lists(xdr, header);
		return;
	case RDMA_ERROR:
		read_error(xdr, header);
		return;
	case RDMA_DONE:
		return;
	}
	throw Malformed("rdma_proc " + std::to_string(header.type) + " is not defined");
}

} // namespace peer::version_1
