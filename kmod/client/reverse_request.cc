// SPDX-License-Identifier: GPL-2.0-only
#include "client/reverse_request.hh"

#include "client/reverse.hh"
#include "proto/received.hh"

namespace rpcordma::client {

namespace field = kernel::field;

namespace {

/* sunrpc takes the memory for a Reply to be a page. */
constexpr std::size_t reply_size = kernel::PAGE_SIZE;

} // namespace

ReverseRequest::ReverseRequest(ReverseResponder &owner) noexcept
	: Signal([](Signal &signal) noexcept {
		auto &request = static_cast<ReverseRequest &>(signal);
		request.owner_.moved(request);
	})
	, owner_(owner)
{
}

ReverseRequest *ReverseRequest::make(ReverseResponder &owner, std::size_t size, gfp_t gfp) noexcept
{
	kernel::Owned<ReverseRequest> request(new (gfp) ReverseRequest(owner));
	if (!request)
		return nullptr;
	request->message_ = kernel::Block(size, gfp);
	request->reply_ = kernel::Block(reply_size, gfp);
	if (!request->message_ || !request->reply_)
		return nullptr;
	return request.release();
}

ReverseRequest &ReverseRequest::of(rpc_rqst *rqst) noexcept
{
	return *kernel::owner_of(&ReverseRequest::rqst_, rqst);
}

void ReverseRequest::hold(wire::Bytes message) noexcept
{
	__builtin_memcpy(message_.data(), message.data(), message.size());
	const proto::Received received = proto::classify_received(message_.span().first(message.size()));
	call_ = std::get<proto::Call>(received);
	moved_ = {};
	state_ = State::served;
}

bool ReverseRequest::make_room(std::size_t size, gfp_t gfp) noexcept
{
	moved_ = kernel::Block(size, gfp);
	return static_cast<bool>(moved_);
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

} // namespace rpcordma::client
