// SPDX-License-Identifier: GPL-2.0-only
//
// Version 2 behind the fixed fields: draft-cel-nfsv4-rpcrdma-version-two-01, section 4.2, whose XDR decides. Later
// revisions of the draft use the same version number for another header.

#pragma once

#include "codec/chunk_lists.hh"

namespace peer::version_2 {

inline void write_error(XdrWriter &xdr, const Header &header)
{
	xdr.u32(header.error);
	if (header.error != ERR_VERS)
		return;
	xdr.u32(header.version_low);
	xdr.u32(header.version_high);
}

inline void write_option(XdrWriter &xdr, const Header &header)
{
	xdr.u32(header.direction);
	xdr.u32(header.option);
	xdr.opaque(header.option_info);
}

/// A header of a type that is not defined is written with a direction and chunk lists, like RDMA2_MSG.
inline void write_body(XdrWriter &xdr, const Header &header)
{
	switch (header.type) {
	case RDMA_ERROR:
		write_error(xdr, header);
		break;
	case RDMA2_OPTIONAL:
		write_option(xdr, header);
		break;
	default:
		xdr.u32(header.direction);
		write_lists(xdr, header);
	}
}

/// Only an enumerator's value is XDR (RFC 4506, section 4.3).
inline std::uint32_t read_direction(XdrReader &xdr, const std::string &field)
{
	const std::uint32_t direction = xdr.u32(field);
	if (direction != DIRECTION_CALL && direction != DIRECTION_REPLY)
		throw Malformed(field + " " + std::to_string(direction) + " is not defined");
	return direction;
}

/// An error goes from responder to requester, always (section 4.2.2).
inline void read_error(XdrReader &xdr, Header &header)
{
	header.direction = DIRECTION_REPLY;
	header.error = xdr.u32("rdma_err");
	switch (header.error) {
	case ERR_VERS:
		header.version_low = xdr.u32("rdma_vers_low");
		header.version_high = xdr.u32("rdma_vers_high");
		return;
	case ERR_BAD_HEADER:
	case ERR_INVAL_OPTION:
		return;
	}
	throw Malformed("rdma_err " + std::to_string(header.error) + " is not defined");
}

inline void read_option(XdrReader &xdr, Header &header)
{
	header.direction = read_direction(xdr, "rdma_optdir");
	header.option = xdr.u32("rdma_opttype");
	header.option_info = bytes_of(xdr.opaque("rdma_optinfo"));
}

inline void read_body(XdrReader &xdr, Header &header)
{
	switch (header.type) {
	case RDMA_MSG:
	case RDMA_NOMSG:
		header.direction = read_direction(xdr, "rdma_direction");
		read_lists(xdr, header);
		return;
	case RDMA_ERROR:
		read_error(xdr, header);
		return;
	case RDMA2_OPTIONAL:
		read_option(xdr, header);
		return;
	}
	throw Malformed("rdma_proc " + std::to_string(header.type) + " is not defined in version 2");
}

} // namespace peer::version_2
