// SPDX-License-Identifier: GPL-2.0-only
/// How an RPC message begins, whatever carries it (RFC 5531, 9).
#pragma once

#include <cstdint>
#include <utility>

#include "wire/header.hh"

namespace rpcordma::proto {

/// Whether the message says that it goes this way. One too short to say so goes neither way.
[[nodiscard]] constexpr bool goes(wire::Bytes message, wire::Direction direction) noexcept
{
	constexpr std::size_t said_by = 2 * wire::xdr_unit;
	return message.size() >= said_by &&
	       wire::load_word<1>(message.first<said_by>()) == std::to_underlying(direction);
}

/// The same, and has this XID.
[[nodiscard]] constexpr bool begins_with(wire::Bytes message, wire::Xid xid, wire::Direction direction) noexcept
{
	return goes(message, direction) && wire::Xid{wire::load_u32(message.first<wire::xdr_unit>())} == xid;
}

/// Which way a message goes. Version 2 says it in the header. In version 1 the RPC message says it, and where that is in a chunk,
/// the Read list does, because only a Call has one (RFC 8166, 3.4.5). That header and RPC message agree is seen where the RPC
/// message is looked at: payload_is_call(), payload_is_reply().
[[nodiscard]] constexpr wire::Direction direction_of(const wire::PlainMsg &msg) noexcept
{
	if (msg.direction)
		return *msg.direction;
	return goes(msg.payload, wire::Direction::call) ? wire::Direction::call : wire::Direction::reply;
}
[[nodiscard]] constexpr wire::Direction direction_of(const wire::Msg &msg) noexcept
{
	return direction_of(wire::PlainMsg{msg.payload, msg.direction});
}
[[nodiscard]] inline wire::Direction direction_of(const wire::NoMsg &nomsg) noexcept
{
	if (nomsg.direction)
		return *nomsg.direction;
	return nomsg.chunks.reads.empty() ? wire::Direction::reply : wire::Direction::call;
}

} // namespace rpcordma::proto
