// SPDX-License-Identifier: GPL-2.0-only
#include "client/request.hh"

#include "client/transport.hh"

namespace rpcordma::client {

namespace field = kernel::field;

namespace {

/* In front of the call buffer: which Request it belongs to. */
struct Owner {
	Request *request;
};
/* Buffers begin at a cache line, so that what the device writes shares none with what the CPU does. */
constexpr std::size_t line = 64;
static_assert(sizeof(Owner) <= line);

/* A usual RPC's buffers together are smaller. */
constexpr std::size_t kept_size = 8192;

constexpr std::size_t lines(std::size_t size)
{
	return (size + line - 1) / line * line;
}

} // namespace

wire::Xid xid_of(const rpc_rqst *rqst) noexcept
{
	return wire::Xid{__builtin_bswap32(field::rpc_rqst::rq_xid(rqst))};
}

Request::Request(Transport &transport) noexcept
	: Signal([](Signal &signal) noexcept {
		auto &request = static_cast<Request &>(signal);
		request.transport_.invalidated(request);
	})
	, transport_(transport)
{
}

Request &Request::of(const rpc_rqst *rqst) noexcept
{
	auto *const buffer = static_cast<std::byte *>(field::rpc_rqst::rq_buffer(rqst));
	return *reinterpret_cast<const Owner *>(buffer - line)->request;
}

bool Request::reserve(std::size_t call_size, std::size_t reply_size, gfp_t gfp) noexcept
{
	const std::size_t needed = line + lines(call_size) + lines(reply_size);
	if (buffer_.size() >= needed)
		return true;
	/* A small buffer is better than none where there is no memory for a larger one. */
	kernel::Block larger(needed, gfp);
	if (!larger)
		return false;
	buffer_ = std::move(larger);
	reinterpret_cast<Owner *>(buffer_.data())->request = this;
	return true;
}

std::byte *Request::call_buffer() const noexcept
{
	return buffer_.data() + line;
}

std::byte *Request::reply_buffer(std::size_t call_size) const noexcept
{
	return call_buffer() + lines(call_size);
}

void Request::trim() noexcept
{
	if (buffer_.size() > kept_size)
		buffer_ = kernel::Block();
}

proto::Offer Request::offer() const noexcept
{
	const wire::SegmentArray room(room_segments_.data(), room_count_);
	switch (room_kind_) {
	case proto::ReplyRoom::write_chunk:
		return {.write_chunk = room, .reply_chunk = {}};
	case proto::ReplyRoom::reply_chunk:
		return {.write_chunk = {}, .reply_chunk = room};
	case proto::ReplyRoom::inline_message:
		break;
	}
	return {};
}

wire::ChunksToSend Request::chunks() noexcept
{
	const proto::Offer offered = offer();
	wire::ChunksToSend chunks{.reads = {read_segments_.data(), read_count_}, .writes = {}, .reply = {}};
	if (!offered.write_chunk.empty()) {
		write_list_[0] = offered.write_chunk;
		chunks.writes = write_list_;
	}
	if (!offered.reply_chunk.empty())
		chunks.reply = offered.reply_chunk;
	return chunks;
}

} // namespace rpcordma::client
