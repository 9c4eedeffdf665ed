// SPDX-License-Identifier: GPL-2.0-only
#include "client/request.hh"

#include <bit>

#include "client/outstanding.hh"

namespace rpcordma::client {

namespace field = kernel::field;

namespace {

/* Buffers begin at a cache line, so that what the device writes shares none with what the CPU does. */
constexpr std::size_t line = 64;

/* A usual RPC's buffers together are smaller; those of NFS 4's OPEN need more than half of it. */
constexpr std::size_t kept_size = 16384;

constexpr std::size_t lines(std::size_t size)
{
	return (size + line - 1) / line * line;
}

/* What is kept is as large as the memory that the kernel takes for it: the next RPC may want more than this one. */
constexpr std::size_t block_size(std::size_t needed)
{
	return needed <= kept_size ? std::bit_ceil(needed) : needed;
}

} // namespace

wire::Xid xid_of(const rpc_rqst *rqst) noexcept
{
	return wire::Xid{__builtin_bswap32(field::rpc_rqst::rq_xid(rqst))};
}

Request::Request(Outstanding &owner) noexcept
	: Signal([](Signal &signal) noexcept {
		auto &request = static_cast<Request &>(signal);
		request.owner_.taken_back(request);
	})
	, owner_(owner)
{
}

Request &Request::of(rpc_rqst *rqst) noexcept
{
	return *kernel::owner_of(&Request::rqst_, rqst);
}

bool Request::lend_buffers(gfp_t gfp) noexcept
{
	const std::size_t reply_at = lines(field::rpc_rqst::rq_callsize(rqst()));
	const std::size_t needed = reply_at + lines(field::rpc_rqst::rq_rcvsize(rqst()));
	if (buffer_.size() < needed) {
		/* A small buffer is better than none where there is no memory for a larger one. */
		kernel::Block larger(block_size(needed), gfp);
		if (!larger)
			return false;
		buffer_ = std::move(larger);
	}
	field::rpc_rqst::rq_buffer(rqst()) = buffer_.data();
	field::rpc_rqst::rq_rbuffer(rqst()) = buffer_.data() + reply_at;
	return true;
}

void Request::take_buffers() noexcept
{
	if (buffer_.size() > kept_size)
		buffer_ = {};
}

verbs::Mapped Request::advertise(const xdr_buf &call, const xdr_buf &reply, const proto::Plan &plan,
				 proto::RegistrationLimits limits, verbs::Chain &chain) noexcept
{
	const auto add = [&](const xdr_buf &buffer, bool is_reduced, verbs::Access access, auto offer) {
		const auto add_part = [&](std::span<const verbs::Run> runs, std::span<const proto::MemoryRun> shapes) {
			return advertised.add(verbs::PageCursor(runs), proto::Segmenter(shapes, limits), access, chain,
					      offer);
		};
		if (is_reduced) {
			const verbs::Run pages = pages_of(buffer);
			return add_part(std::span(&pages, 1), std::span(&pages.shape, 1));
		}
		const Runs stream(buffer);
		return add_part(stream.runs(), stream.shapes());
	};
	if (plan.call != proto::CallTransfer::inline_message) {
		const bool is_reduced = plan.call == proto::CallTransfer::read_chunk;
		const wire::Position position{is_reduced ? stream_of(call, 0).head : 0};
		const auto mapped = add(call, is_reduced, verbs::Access::read, [&](const wire::Segment &segment) {
			read_segments_[read_count_++] = {position, segment};
		});
		if (mapped != verbs::Mapped::yes)
			return mapped;
	}
	if (plan.reply == proto::ReplyRoom::inline_message)
		return verbs::Mapped::yes;
	const bool is_reduced = plan.reply == proto::ReplyRoom::write_chunk;
	wire::Segment *end = room_segments_.data();
	const auto mapped =
		add(reply, is_reduced, verbs::Access::write, [&](const wire::Segment &segment) { *end++ = segment; });
	(is_reduced ? offer_.write_chunk : offer_.reply_chunk) = {room_segments_.data(), end};
	return mapped;
}

wire::ChunksToSend Request::chunks() const noexcept
{
	wire::ChunksToSend chunks{.reads = reads(), .writes = {}, .reply = {}};
	if (!offer_.write_chunk.empty())
		chunks.writes = std::span(&offer_.write_chunk, 1);
	if (!offer_.reply_chunk.empty())
		chunks.reply = offer_.reply_chunk;
	return chunks;
}

} // namespace rpcordma::client
