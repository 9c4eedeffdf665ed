// SPDX-License-Identifier: GPL-2.0-only
#include "proto/arrival.hh"

#include "proto/rpc_message.hh"

namespace rpcordma::proto {
namespace {

Arrival classify_msg(const wire::FixedFields &fixed, const wire::Msg &msg) noexcept
{
	if (payload_is_call(msg.payload, fixed.xid))
		return Call{fixed.xid, fixed.credits, msg.chunks, false, msg.payload};
	if (begins_with(msg.payload, fixed.xid, MessageType::reply))
		return ReverseReply{fixed.xid, fixed.credits, msg.chunks, msg.payload};
	return Refused{fixed.xid, fixed.version, Refusal::malformed};
}

} // namespace

bool may_be_reverse_reply(wire::Bytes message) noexcept
{
	return message.size() >= wire::smallest_header &&
	       is_of_type(message.subspan(wire::smallest_header), MessageType::reply);
}

bool payload_is_call(wire::Bytes payload, wire::Xid xid) noexcept
{
	return begins_with(payload, xid, MessageType::call);
}

Arrival classify_arrival(wire::Bytes message) noexcept
{
	wire::Reader reader(message);
	const auto fixed = wire::FixedFields::decode(reader);
	if (!fixed)
		return Ignored::too_short;
	if (fixed->type == RPCRDMA_V1_ERROR)
		return Ignored::error_message;
	if (message.size() < wire::smallest_header)
		return Ignored::too_short;
	if (fixed->version != RPCRDMA_V1)
		return Refused{fixed->xid, fixed->version, Refusal::version};

	const auto body = wire::decode_body(*fixed, reader);
	if (body) {
		if (const auto *msg = std::get_if<wire::Msg>(&*body))
			return classify_msg(*fixed, *msg);
		if (const auto *nomsg = std::get_if<wire::NoMsg>(&*body))
			return Call{fixed->xid, fixed->credits, nomsg->chunks, true, {}};
		if (std::holds_alternative<wire::Done>(*body))
			return Ignored::done;
	}
	return Refused{fixed->xid, fixed->version, Refusal::malformed};
}

} // namespace rpcordma::proto
