// SPDX-License-Identifier: GPL-2.0-only
#include "proto/reverse.hh"

#include "proto/arrival.hh"

namespace rpcordma::proto {

std::optional<ReversePlan> plan_reverse_call(std::uint32_t call_size, std::uint32_t reply_size,
					     const ReverseRoom &room) noexcept
{
	const auto fits = [](std::uint64_t size, std::uint32_t reply_chunks, std::uint32_t threshold) {
		return RPCRDMA_V1_FIXED_SIZE + wire::chunks_size(0, 0, reply_chunks) + size <= threshold;
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
		return !payload_is_call(msg->payload, message.fixed.xid);
	if (const auto *nomsg = std::get_if<wire::NoMsg>(&message.body))
		return nomsg->chunks.reads.empty();
	return std::holds_alternative<wire::ChunkError>(message.body) ||
	       std::holds_alternative<wire::VersionError>(message.body);
}

std::optional<wire::Xid> refused_call(wire::Bytes message) noexcept
{
	wire::Reader reader(message);
	const auto fixed = wire::FixedFields::decode(reader);
	if (!fixed || fixed->type != RPCRDMA_V1_ERROR) [[likely]]
		return std::nullopt;
	if (!wire::decode(message))
		return std::nullopt;
	return fixed->xid;
}

} // namespace rpcordma::proto
