// SPDX-License-Identifier: GPL-2.0-only
#include "client/reverse_request.hh"

#include "client/reverse.hh"
#include "kernel/page.hh"
#include "proto/received.hh"
#include "proto/response.hh"

namespace rpcordma::client {

namespace field = kernel::field;

namespace {

/* sunrpc takes the memory for a Reply to be a page. */
constexpr std::size_t reply_size = kernel::page_size;

} // namespace

ReverseRequest::ReverseRequest(ReverseResponder &owner) noexcept
	: Signal([](Signal &signal) noexcept {
		auto &request = static_cast<ReverseRequest &>(signal);
		request.owner_.moved(request);
	})
	, owner_(owner)
{
}

ReverseRequest &ReverseRequest::of(rpc_rqst *rqst) noexcept
{
	return *kernel::owner_of(&ReverseRequest::rqst_, rqst);
}

bool ReverseRequest::hold(wire::Bytes message, gfp_t gfp) noexcept
{
	if (message_.size() < message.size())
		message_ = kernel::Block(message.size(), gfp);
	if (!reply_)
		reply_ = kernel::Block(reply_size, gfp);
	if (!message_ || !reply_)
		return false;
	__builtin_memcpy(message_.data(), message.data(), message.size());
	const proto::Received received =
		proto::classify_received(message_.span().first(message.size()), wire::Version::two);
	option_.reset();
	if (const auto *const refused = std::get_if<proto::Refused>(&received)) {
		call_ = {refused->xid, 0, {}, false, {}, wire::Version{refused->version}};
	} else if (const auto *const option = std::get_if<proto::Option>(&received)) {
		call_ = {option->xid, 0, {}, false, {}, wire::Version::two};
		option_ = *option;
	} else {
		call_ = std::get<proto::Call>(received);
	}
	moved_ = {};
	return true;
}

rpc_rqst *ReverseRequest::give(rpc_xprt *xprt) noexcept
{
	rpc_rqst *const rqst = rqst_.get();
	__builtin_memset(rqst, 0, kernel::Layout<rpc_rqst>::size);
	field::rpc_rqst::rq_xprt(rqst) = xprt;
	field::rpc_rqst::rq_bc_pa_state(rqst) = 1ul << kernel::RPC_BC_PA_IN_USE;
	field::rpc_rqst::rq_xid(rqst) = __builtin_bswap32(static_cast<u32>(call_.xid));
	/* To sunrpc, one that is in front of all that wait for credits. */
	field::rpc_rqst::rq_cong(rqst) = 1;

	const wire::Bytes payload = stream();
	const auto size = static_cast<unsigned int>(payload.size());
	xdr_buf &call = field::rpc_rqst::rq_rcv_buf(rqst);
	field::xdr_buf::head(&call) = const_cast<std::byte *>(payload.data());
	field::xdr_buf::head_length(&call) = size;
	field::xdr_buf::buflen(&call) = size;
	field::xdr_buf::len(&call) = size;
	field::xdr_buf::len(&field::rpc_rqst::rq_private_buf(rqst)) = size;

	xdr_buf &reply = field::rpc_rqst::rq_snd_buf(rqst);
	field::xdr_buf::head(&reply) = reply_.data();
	field::xdr_buf::head_length(&reply) = reply_.size();
	field::xdr_buf::buflen(&reply) = static_cast<unsigned int>(reply_.size());
	return rqst;
}

bool ReverseRequest::make_reads(verbs::TransferPool &pool, const verbs::Endpoint &endpoint) noexcept
{
	moved_ = kernel::Block(assembly_.size(), kernel::GFP_ATTEMPT);
	if (!moved_)
		return false;
	proto::Pieces pieces = assembly_.pieces();
	while (const auto piece = pieces.next()) {
		if (const auto *const bytes = std::get_if<wire::Bytes>(&piece->source))
			__builtin_memcpy(moved_.data() + piece->offset, bytes->data(), bytes->size());
		else if (!move(std::get<wire::Segment>(piece->source), piece->offset, verbs::Direction::read, pool,
			       endpoint))
			return false;
	}
	return true;
}

bool ReverseRequest::make_writes(const wire::WriteChunk &room, const xdr_buf &reply, verbs::TransferPool &pool,
				 const verbs::Endpoint &endpoint) noexcept
{
	const std::uint32_t size = field::xdr_buf::len(&reply);
	moved_ = kernel::Block(size, kernel::GFP_ATTEMPT);
	if (!moved_ || read_bytes_from_xdr_buf(&reply, 0, moved_.data(), size) != 0)
		return false;
	std::size_t done = 0;
	return proto::for_each_written(room, size, [&](const wire::Segment &segment) {
		return move(segment, std::exchange(done, done + segment.length), verbs::Direction::write, pool,
			    endpoint);
	});
}

/* Makes an RDMA Read or Write. There is one of the connection's for each segment of each request. */
bool ReverseRequest::move(const wire::Segment &segment, std::size_t offset, verbs::Direction direction,
			  verbs::TransferPool &pool, const verbs::Endpoint &endpoint) noexcept
{
	const auto next = [at = moved_.data() + offset](std::uint32_t most) mutable {
		const verbs::PagePiece piece = verbs::piece_at(at, most);
		at += piece.length;
		return piece;
	};
	return pool.append({endpoint.id().queue_pair(), endpoint.id().port(), segment, direction},
			   segment.length / kernel::page_size + 2, kernel::GFP_ATTEMPT, next, transfers_);
}

} // namespace rpcordma::client
