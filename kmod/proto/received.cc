// SPDX-License-Identifier: GPL-2.0-only
#include "proto/received.hh"

#include "proto/rpc_message.hh"

namespace rpcordma::proto {
namespace {

using wire::Direction;

Received undecodable(const wire::FixedFields &fixed, wire::Reader reader, wire::Error error) noexcept
{
	if (error == wire::Error::unsupported_version)
		return Dropped::unsupported_version;
	if (fixed.is_error())
		return Dropped::undecodable_error;
	if (wire::direction_said(fixed, reader) == Direction::call)
		return Refused{fixed.xid, fixed.version, Refusal::malformed};
	return Dropped::undecodable_header;
}

bool is_reserved(const wire::Body &body) noexcept
{
	return std::holds_alternative<wire::MsgP>(body) || std::holds_alternative<wire::Done>(body);
}

/// Inlined where there are no chunks, it copies none.
[[gnu::always_inline]] inline Received received_of(const wire::FixedFields &fixed, const wire::PlainMsg &msg,
						   const wire::Chunks &chunks) noexcept
{
	if (direction_of(msg) == Direction::call)
		return Call{fixed.xid, fixed.credits, chunks, false, msg.payload, wire::Version{fixed.version}};
	return Received(std::in_place_type<ForCall>, fixed.xid, fixed.credits,
			wire::Msg{chunks, msg.payload, msg.direction}, fixed.version);
}

} // namespace

Received classify_received(wire::Bytes message, wire::Version highest, OptionalFeatures features) noexcept
{
	wire::Reader reader(message);
	const auto fixed = wire::FixedFields::decode(reader);
	if (!fixed)
		return Dropped::too_short;
	// An RDMA_ERROR with ERR_CHUNK is whole with 20 bytes.
	if (message.size() < wire::smallest_header && !fixed->is_error())
		return Dropped::too_short;

	/* A version that is not spoken can say one thing only: that others are. */
	const bool is_of_ours = is_spoken(fixed->version, highest);
	if (!is_of_ours && !fixed->is_error())
		return Dropped::unsupported_version;

	if (const auto plain = wire::plain_msg(*fixed, reader)) [[likely]]
		return received_of(*fixed, *plain, wire::no_chunks);
	if (is_msg(*fixed)) {
		const auto msg = wire::decode_msg(*fixed, reader);
		if (!msg)
			return undecodable(*fixed, reader, msg.error());
		return received_of(*fixed, {msg->payload, msg->direction}, msg->chunks);
	}
	const auto body = wire::decode_body(*fixed, reader);
	if (!body)
		return undecodable(*fixed, reader, body.error());
	if (!is_of_ours && !std::holds_alternative<wire::VersionError>(*body))
		return Dropped::unsupported_version;
	if (is_reserved(*body))
		return Dropped::reserved_type;
	if (std::holds_alternative<wire::OptionError>(*body))
		return Dropped::option_error;

	if (const auto *nomsg = std::get_if<wire::NoMsg>(&*body); nomsg && direction_of(*nomsg) == Direction::call)
		return Call{fixed->xid, fixed->credits, nomsg->chunks, true, {}, wire::Version{fixed->version}};
	if (const auto *optional = std::get_if<wire::Optional>(&*body)) {
		if (const OptionalFeature *const feature = feature_of(*optional, features))
			return Option{fixed->xid, fixed->credits, feature, *optional};
		if (optional->direction == Direction::reply)
			return Dropped::optional_reply;
		return Refused{fixed->xid, fixed->version, Refusal::option};
	}
	// Made where it stays: a body is large to copy.
	return Received(std::in_place_type<ForCall>, fixed->xid, fixed->credits, *body, fixed->version);
}

std::optional<std::uint32_t> grant_of(const ForCall &message) noexcept
{
	if (message.version == RPCRDMA_V2)
		return message.credits;
	if (const auto *msg = std::get_if<wire::Msg>(&message.body); msg && goes(msg->payload, Direction::reply))
		return message.credits;
	// A Call would have had a Read list.
	if (std::holds_alternative<wire::NoMsg>(message.body))
		return message.credits;
	return std::nullopt;
}

} // namespace rpcordma::proto
