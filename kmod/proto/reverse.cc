// SPDX-License-Identifier: GPL-2.0-only
#include "proto/reverse.hh"

#include <utility>

#include "proto/arrival.hh"
#include "proto/rpc_message.hh"

namespace rpcordma::proto {

namespace {

/// Words of an RPC Reply (RFC 5531, 9).
constexpr std::uint32_t rpc_accepted = 0;
constexpr std::uint32_t auth_none = 0;
constexpr std::uint32_t program_unavailable = 1;

} // namespace

std::optional<ReversePlan> plan_reverse_call(std::uint32_t call_size, std::uint32_t reply_size,
					     const ReverseRoom &room) noexcept
{
	const auto fits = [&room](std::uint64_t size, std::uint32_t reply_chunks, std::uint32_t threshold) {
		return wire::header_size(room.version, 0, 0, reply_chunks) + size <= threshold;
	};
	const bool always = room.chunks == ReverseChunks::always;
	const bool may = room.chunks != ReverseChunks::never;
	const bool has_reply_chunk = always || (may && !fits(reply_size, 0, room.thresholds.call));
	const bool is_too_large = !fits(call_size, has_reply_chunk ? 1 : 0, room.thresholds.reply);
	if (is_too_large && !(may && room.reads))
		return std::nullopt;
	return ReversePlan{.is_long = is_too_large || (always && room.reads), .has_reply_chunk = has_reply_chunk};
}

bool may_answer_reverse_call(const wire::Header &message) noexcept
{
	if (const auto *msg = std::get_if<wire::Msg>(&message.body))
		return direction_of(*msg) == wire::Direction::reply;
	if (const auto *nomsg = std::get_if<wire::NoMsg>(&message.body))
		return direction_of(*nomsg) == wire::Direction::reply;
	return std::holds_alternative<wire::ChunkError>(message.body) ||
	       std::holds_alternative<wire::VersionError>(message.body);
}

bool is_error(wire::Bytes message) noexcept
{
	wire::Reader reader(message);
	const auto fixed = wire::FixedFields::decode(reader);
	return fixed && fixed->is_error();
}

std::optional<wire::Xid> refused_call(wire::Bytes message) noexcept
{
	const auto header = wire::decode(message);
	if (!header || !header->fixed.is_error() || std::holds_alternative<wire::OptionError>(header->body))
		return std::nullopt;
	return header->fixed.xid;
}

UnservedReply unserved_reply(wire::Xid call) noexcept
{
	const std::array<std::uint32_t, 6> words{
		std::to_underlying(call), std::to_underlying(wire::Direction::reply), rpc_accepted, auth_none, 0,
		program_unavailable};
	UnservedReply reply{};
	for (std::size_t i = 0; i < words.size(); ++i)
		wire::store_u32(std::span(reply).subspan(i * wire::xdr_unit).first<wire::xdr_unit>(), words[i]);
	return reply;
}

} // namespace rpcordma::proto
