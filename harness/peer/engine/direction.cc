// SPDX-License-Identifier: GPL-2.0-only

#include "engine/direction.hh"

#include "codec/rpc.hh"

namespace peer {

bool is_call_message(const Decoded &message) noexcept
{
	const Header &header = message.header;
	if (header.type != RDMA_MSG && header.type != RDMA_NOMSG)
		return false;
	if (header.version == VERSION_2)
		return header.direction == DIRECTION_CALL;
	// Only a Call has a Read list (RFC 8166, 3.4.5).
	return header.type == RDMA_NOMSG ? !header.reads.empty() : is_call(message.payload) == true;
}

std::optional<std::string> direction_fault(const Decoded &message)
{
	const Header &header = message.header;
	const bool has_both = header.version == VERSION_2 && header.type != RDMA_NOMSG && header.type != RDMA_ERROR;
	const std::optional<bool> call = has_both ? is_call(message.payload) : std::nullopt;
	if (!call || *call == (header.direction == DIRECTION_CALL))
		return std::nullopt;
	return std::string("the header's direction is ") + (*call ? "REPLY" : "CALL") + ", and the RPC message is a " +
	       (*call ? "Call" : "Reply") + " (draft-cel-nfsv4-rpcrdma-version-two-01, 4.2.2)";
}

} // namespace peer
