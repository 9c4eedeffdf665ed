// SPDX-License-Identifier: GPL-2.0-only
#include "proto/arrival.hh"

#include "proto/rpc_message.hh"

namespace rpcordma::proto {
namespace {

using wire::Direction;

/// Inlined where there are no chunks, it copies none.
[[gnu::always_inline]] inline Arrival classify(const wire::FixedFields &fixed, const wire::PlainMsg &msg,
					       const wire::Chunks &chunks) noexcept
{
	if (direction_of(msg) == Direction::call) {
		if (payload_is_call(msg.payload, fixed.xid))
			// Made where it stays: its lists are large to copy.
			return Arrival(std::in_place_type<Call>, fixed.xid, fixed.credits, chunks, false, msg.payload,
				       wire::Version{fixed.version});
	} else if (begins_with(msg.payload, fixed.xid, Direction::reply)) {
		return ReverseReply{fixed.xid, fixed.credits, chunks, msg.payload};
	} else if (msg.direction) {
		return Ignored::reply;
	}
	return Refused{fixed.xid, fixed.version, Refusal::malformed};
}

Arrival classify(const wire::FixedFields &fixed, const wire::NoMsg &nomsg) noexcept
{
	// In version 1 one without anything to read is a Call that cannot be carried out, for all that is known here.
	if (nomsg.direction == Direction::reply)
		return Ignored::reply;
	return Call{fixed.xid, fixed.credits, nomsg.chunks, true, {}, wire::Version{fixed.version}};
}

Arrival classify(const wire::FixedFields &fixed, const wire::Optional &optional, OptionalFeatures features) noexcept
{
	if (const OptionalFeature *const feature = feature_of(optional, features))
		return Option{fixed.xid, fixed.credits, feature, optional};
	if (optional.direction == Direction::reply)
		return Ignored::optional_reply;
	return Refused{fixed.xid, fixed.version, Refusal::option};
}

} // namespace

bool may_be_reverse_reply(wire::Bytes message) noexcept
{
	if (message.size() < wire::smallest_header)
		return false;
	const bool is_of_two = wire::load_word<1>(message.first<wire::smallest_header>()) == RPCRDMA_V2;
	const auto version = is_of_two ? wire::Version::two : wire::Version::one;
	const std::size_t header = wire::header_size(version, 0, 0, 0);
	return message.size() >= header && goes(message.subspan(header), Direction::reply);
}

bool payload_is_call(wire::Bytes payload, wire::Xid xid) noexcept
{
	return begins_with(payload, xid, Direction::call);
}

std::optional<Refusal> refusal_in(wire::Bytes message) noexcept
{
	const auto header = wire::decode(message);
	return header ? refusal_of(header->body) : std::nullopt;
}

wire::Result<std::size_t> encode_refusal(wire::MutableBytes room, const Refused &message, std::uint32_t credits,
					 wire::Version highest) noexcept
{
	switch (message.with) {
	case Refusal::version: {
		const wire::VersionError range{std::to_underlying(wire::Version::one), std::to_underlying(highest)};
		return wire::encode_error(room, message.xid, message.version, credits, range);
	}
	case Refusal::malformed:
		return wire::encode_error(room, message.xid, message.version, credits, wire::ChunkError{});
	case Refusal::option:
		break;
	}
	return wire::encode_error(room, message.xid, credits, wire::OptionError{});
}

Arrival classify_arrival(wire::Bytes message, wire::Version highest, OptionalFeatures features) noexcept
{
	wire::Reader reader(message);
	const auto fixed = wire::FixedFields::decode(reader);
	if (!fixed)
		return Ignored::too_short;
	if (fixed->is_error())
		return Ignored::error_message;
	if (message.size() < wire::smallest_header)
		return Ignored::too_short;
	if (!is_spoken(fixed->version, highest))
		return Refused{fixed->xid, fixed->version, Refusal::version};

	if (const auto plain = wire::plain_msg(*fixed, reader)) [[likely]]
		return classify(*fixed, *plain, wire::no_chunks);
	if (is_msg(*fixed)) {
		if (const auto msg = wire::decode_msg(*fixed, reader))
			return classify(*fixed, {msg->payload, msg->direction}, msg->chunks);
	} else if (const auto body = wire::decode_body(*fixed, reader)) {
		if (const auto *nomsg = std::get_if<wire::NoMsg>(&*body))
			return classify(*fixed, *nomsg);
		if (std::holds_alternative<wire::Done>(*body))
			return Ignored::done;
		if (const auto *optional = std::get_if<wire::Optional>(&*body))
			return classify(*fixed, *optional, features);
	}
	// Its XID is one of ours: an error would be taken for the answer to a Call of the requester's that has the same.
	if (wire::direction_said(*fixed, reader) == Direction::reply)
		return Ignored::reply;
	return Refused{fixed->xid, fixed->version, Refusal::malformed};
}

} // namespace rpcordma::proto
