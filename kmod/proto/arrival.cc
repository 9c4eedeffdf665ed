// SPDX-License-Identifier: GPL-2.0-only
#include "proto/arrival.hh"

namespace rpcordma::proto {
namespace {

/// msg_type of an RPC message (RFC 5531, 9).
constexpr std::uint32_t rpc_call = 0;
constexpr std::uint32_t rpc_reply = 1;

bool begins_with(wire::Bytes payload, wire::Xid xid, std::uint32_t type) noexcept
{
	wire::Reader reader(payload);
	return reader.u32() == std::to_underlying(xid) && reader.u32() == type;
}

Arrival classify_msg(const wire::FixedFields &fixed, const wire::Msg &msg) noexcept
{
	if (payload_is_call(msg.payload, fixed.xid))
		return Call{fixed.xid, fixed.credits, msg.chunks, false, msg.payload};
	if (begins_with(msg.payload, fixed.xid, rpc_reply))
		return ReverseReply{fixed.xid, fixed.credits, msg.chunks, msg.payload};
	return Refused{fixed.xid, fixed.version, Refusal::malformed};
}

} // namespace

bool may_be_reverse_reply(wire::Bytes message) noexcept
{
	// Behind the fixed fields: three empty lists, the XID, the message type.
	constexpr std::size_t type_at = RPCRDMA_V1_FIXED_SIZE + 4 * wire::xdr_unit;
	if (message.size() < type_at + wire::xdr_unit)
		return false;
	return wire::load_u32(message.subspan(type_at).first<wire::xdr_unit>()) == rpc_reply;
}

bool payload_is_call(wire::Bytes payload, wire::Xid xid) noexcept
{
	return begins_with(payload, xid, rpc_call);
}

Arrival classify_arrival(wire::Bytes message) noexcept
{
	wire::Reader reader(message);
	const auto fixed = wire::FixedFields::decode(reader);
	if (!fixed)
		return Ignored::too_short;
	if (fixed->type == RPCRDMA_V1_ERROR)
		return Ignored::error_message;
	if (fixed->version != RPCRDMA_V1)
		return Refused{fixed->xid, fixed->version, Refusal::version};

	const auto body = wire::decode_body(*fixed, reader);
	if (body) {
		if (const auto *msg = std::get_if<wire::Msg>(&*body))
			return classify_msg(*fixed, *msg);
		if (const auto *nomsg = std::get_if<wire::NoMsg>(&*body))
			return Call{fixed->xid, fixed->credits, nomsg->chunks, true, {}};
	}
	return Refused{fixed->xid, fixed->version, Refusal::malformed};
}

} // namespace rpcordma::proto
