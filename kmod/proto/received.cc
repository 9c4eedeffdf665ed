// SPDX-License-Identifier: GPL-2.0-only
#include "proto/received.hh"

#include "proto/rpc_message.hh"

namespace rpcordma::proto {
namespace {

Dropped undecodable(const wire::FixedFields &fixed, wire::Error error) noexcept
{
	if (error == wire::Error::unsupported_version)
		return Dropped::unsupported_version;
	if (fixed.type == RPCRDMA_V1_ERROR)
		return Dropped::undecodable_error;
	return Dropped::undecodable_header;
}

bool is_reserved(const wire::Body &body) noexcept
{
	return std::holds_alternative<wire::MsgP>(body) || std::holds_alternative<wire::Done>(body);
}

} // namespace

Received classify_received(wire::Bytes message) noexcept
{
	wire::Reader reader(message);
	const auto fixed = wire::FixedFields::decode(reader);
	if (!fixed)
		return Dropped::too_short;
	/* An RDMA_ERROR with ERR_CHUNK is whole with 20 bytes. */
	if (message.size() < wire::smallest_header && fixed->type != RPCRDMA_V1_ERROR)
		return Dropped::too_short;

	const auto body = wire::decode_body(*fixed, reader);
	if (!body)
		return undecodable(*fixed, body.error());
	if (is_reserved(*body))
		return Dropped::reserved_type;

	if (const auto *msg = std::get_if<wire::Msg>(&*body); msg && is_of_type(msg->payload, MessageType::call))
		return Call{fixed->xid, fixed->credits, msg->chunks, false, msg->payload};
	if (const auto *nomsg = std::get_if<wire::NoMsg>(&*body); nomsg && !nomsg->chunks.reads.empty())
		return Call{fixed->xid, fixed->credits, nomsg->chunks, true, {}};
	return ForCall{fixed->xid, fixed->credits, *body};
}

std::optional<std::uint32_t> grant_of(const ForCall &message) noexcept
{
	if (const auto *msg = std::get_if<wire::Msg>(&message.body);
	    msg && is_of_type(msg->payload, MessageType::reply))
		return message.credits;
	// A Call would have had a Read list.
	if (std::holds_alternative<wire::NoMsg>(message.body))
		return message.credits;
	return std::nullopt;
}

} // namespace rpcordma::proto
