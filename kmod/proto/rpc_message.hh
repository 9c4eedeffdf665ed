// SPDX-License-Identifier: GPL-2.0-only
/// How an RPC message begins, whatever carries it (RFC 5531, 9).
#pragma once

#include <cstdint>
#include <utility>

#include "wire/header.hh"

namespace rpcordma::proto {

/// msg_type.
enum class MessageType : std::uint32_t { call = 0, reply = 1 };

/// Whether the message says that it is of this type. One too short to say so is of none.
[[nodiscard]] constexpr bool is_of_type(wire::Bytes message, MessageType type) noexcept
{
	constexpr std::size_t said_by = 2 * wire::xdr_unit;
	return message.size() >= said_by && wire::load_word<1>(message.first<said_by>()) == std::to_underlying(type);
}

/// The same, and has this XID.
[[nodiscard]] constexpr bool begins_with(wire::Bytes message, wire::Xid xid, MessageType type) noexcept
{
	return is_of_type(message, type) && wire::Xid{wire::load_u32(message.first<wire::xdr_unit>())} == xid;
}

} // namespace rpcordma::proto
