// SPDX-License-Identifier: GPL-2.0-only
#include "proto/reply.hh"

#include "proto/rpc_message.hh"

namespace rpcordma::proto {
namespace {

template <typename T> using Judged = std::expected<T, ReplyError>;

/// reply_stat and reject_stat (RFC 5531, 9).
constexpr std::uint32_t rpc_denied = 1;
constexpr std::uint32_t rpc_mismatch = 0;

Judged<void> judge_segment(const wire::Segment &returned, const wire::Segment &offered) noexcept
{
	if (returned.handle != offered.handle || returned.offset != offered.offset)
		return std::unexpected(ReplyError::segment_changed);
	if (returned.length > offered.length)
		return std::unexpected(ReplyError::segment_too_long);
	return {};
}

/// The number of bytes in a returned chunk. A responder copies all segments of the one that was offered, changes nothing
/// but their lengths, and fills it contiguously and in order (RFC 8166, 3.4.6).
Judged<std::uint32_t> judge_chunk(const wire::WriteChunk &returned, wire::SegmentArray offered) noexcept
{
	if (returned.count() != offered.size())
		return std::unexpected(ReplyError::segment_count);
	std::uint32_t written = 0;
	bool full_so_far = true;
	for (std::uint32_t i = 0; i < returned.count(); ++i) {
		const wire::Segment segment = returned[i];
		TRY(judge_segment(segment, offered[i]));
		if (segment.length != 0 && !full_so_far)
			return std::unexpected(ReplyError::not_contiguous);
		full_so_far = full_so_far && segment.length == offered[i].length;
		written += segment.length;
	}
	return written;
}

/// The number of bytes that came by the Write list, zero where it is absent.
Judged<std::uint32_t> judge_write_list(const wire::WriteList &returned, wire::SegmentArray offered) noexcept
{
	if (returned.empty())
		return 0;
	if (offered.empty() || returned.count() != 1)
		return std::unexpected(ReplyError::write_list);
	return judge_chunk(*returned.begin(), offered);
}

/// The number of bytes that came by the Reply chunk, zero where it is absent.
Judged<std::uint32_t> judge_reply_chunk(const std::optional<wire::WriteChunk> &returned,
					wire::SegmentArray offered) noexcept
{
	if (!returned)
		return 0;
	if (offered.empty())
		return std::unexpected(ReplyError::reply_chunk);
	return judge_chunk(*returned, offered);
}

/// The bytes that a Reply's chunks brought.
struct Brought {
	std::uint32_t by_write_chunk;
	std::uint32_t by_reply_chunk;
};

Judged<Brought> judge_chunks(const wire::Chunks &chunks, const Offer &offer) noexcept
{
	/* As most have it. */
	if (!chunks.any())
		return Brought{};
	if (!chunks.reads.empty())
		return std::unexpected(ReplyError::read_list);
	const std::uint32_t by_write_chunk = TRY(judge_write_list(chunks.writes, offer.write_chunk));
	const std::uint32_t by_reply_chunk = TRY(judge_reply_chunk(chunks.reply, offer.reply_chunk));
	return Brought{by_write_chunk, by_reply_chunk};
}

/// For each Reply: one function with what judges its chunks in it.
[[gnu::flatten]] Judged<Accepted> accept_msg(const wire::Msg &msg, wire::Xid xid, const Offer &offer) noexcept
{
	const Brought brought = TRY(judge_chunks(msg.chunks, offer));
	if (brought.by_reply_chunk != 0)
		return std::unexpected(ReplyError::reply_chunk);
	TRY(payload_is_reply(msg.payload, xid));
	return ShortReply{msg.payload, brought.by_write_chunk};
}

Judged<Accepted> accept_nomsg(const wire::NoMsg &nomsg, const Offer &offer) noexcept
{
	const Brought brought = TRY(judge_chunks(nomsg.chunks, offer));
	if (!nomsg.chunks.reply || brought.by_write_chunk != 0)
		return std::unexpected(ReplyError::no_payload);
	if (brought.by_reply_chunk < smallest_rpc_reply)
		return std::unexpected(ReplyError::payload_too_short);
	return LongReply{brought.by_reply_chunk};
}

} // namespace

std::expected<Accepted, ReplyError> accept_reply(const wire::Body &body, wire::Xid xid, const Offer &offer) noexcept
{
	if (const auto *msg = std::get_if<wire::Msg>(&body))
		return accept_msg(*msg, xid, offer);
	if (const auto *nomsg = std::get_if<wire::NoMsg>(&body))
		return accept_nomsg(*nomsg, offer);
	if (const auto *range = std::get_if<wire::VersionError>(&body))
		return VersionRefused{range->low, range->high};
	if (std::holds_alternative<wire::ChunkError>(body))
		return ChunksRefused{};
	return std::unexpected(ReplyError::wrong_type);
}

std::expected<void, ReplyError> payload_is_reply(wire::Bytes payload, wire::Xid xid) noexcept
{
	if (payload.size() < smallest_rpc_reply)
		return std::unexpected(ReplyError::payload_too_short);
	if (wire::Xid{wire::load_u32(payload.first<wire::xdr_unit>())} != xid)
		return std::unexpected(ReplyError::xid_mismatch);
	if (!goes(payload, wire::Direction::reply))
		return std::unexpected(ReplyError::not_a_reply);
	return {};
}

FailureReply::FailureReply(wire::Xid xid, Failure failure) noexcept
	: bytes_{}
	, size_(failure == Failure::version_denied ? bytes_.size() : wire::xdr_unit)
{
	const std::array<std::uint32_t, 4> words{std::to_underlying(xid), std::to_underlying(wire::Direction::reply),
						 rpc_denied, rpc_mismatch};
	for (std::size_t i = 0; i < words.size(); ++i)
		wire::store_u32(std::span(bytes_).subspan(i * wire::xdr_unit).first<wire::xdr_unit>(), words[i]);
}

} // namespace rpcordma::proto
