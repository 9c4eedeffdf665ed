// SPDX-License-Identifier: GPL-2.0-only
/* The reverse direction: Calls of the responder's on our connection (RFC 8167), such as NFSv4.1's callbacks. */
#include "client/reverse.hh"

#include <algorithm>

#include "client/transport.hh"
#include "kernel/trace.hh"
#include "wire/header.hh"

namespace rpcordma::client {

namespace field = kernel::field;

namespace {

/* How long a service may take to be done with what it was given. */
constexpr unsigned long service_patience = 30 * kernel::HZ;

} // namespace

ReverseRequest *ReverseRequest::make(std::size_t size, gfp_t gfp) noexcept
{
	kernel::Owned<ReverseRequest> request(new (gfp) ReverseRequest);
	if (!request)
		return nullptr;
	request->call_ = kernel::Block(size, gfp);
	request->reply_ = kernel::Block(size, gfp);
	if (!request->call_ || !request->reply_)
		return nullptr;
	return request.release();
}

ReverseRequest &ReverseRequest::of(rpc_rqst *rqst) noexcept
{
	return *kernel::owner_of(&ReverseRequest::rqst_, rqst);
}

void ReverseRequest::take(rpc_xprt *xprt, wire::Bytes payload) noexcept
{
	rpc_rqst *const rqst = rqst_.get();
	__builtin_memset(rqst, 0, kernel::Layout<rpc_rqst>::size);
	field::rpc_rqst::rq_xprt(rqst) = xprt;
	field::rpc_rqst::rq_bc_pa_state(rqst) = 1ul << kernel::RPC_BC_PA_IN_USE;
	/* The Payload stream begins with the XID, as it is on the wire. */
	__builtin_memcpy(&field::rpc_rqst::rq_xid(rqst), payload.data(), sizeof(__be32));

	__builtin_memcpy(call_.data(), payload.data(), payload.size());
	const auto size = static_cast<unsigned int>(payload.size());
	xdr_buf &call = field::rpc_rqst::rq_rcv_buf(rqst);
	field::xdr_buf::head(&call) = call_.data();
	field::xdr_buf::head_length(&call) = size;
	field::xdr_buf::buflen(&call) = size;
	field::xdr_buf::len(&call) = size;
	field::xdr_buf::len(&field::rpc_rqst::rq_private_buf(rqst)) = size;

	xdr_buf &reply = field::rpc_rqst::rq_snd_buf(rqst);
	field::xdr_buf::head(&reply) = reply_.data();
	field::xdr_buf::head_length(&reply) = reply_.size();
	field::xdr_buf::buflen(&reply) = static_cast<unsigned int>(reply_.size());
}

/* A Call beyond the credits that were granted is dropped: its sender sends it again or gives up. */
void Transport::reverse_call(const proto::ReverseCall &message) noexcept
{
	if (!proto::can_be_served(message)) {
		answer_error(message);
		return drop(message, "chunks or is malformed");
	}
	ReverseRequest *const request = reverse_request(message.payload.size());
	if (!request)
		return drop(message, "credits or memory");
	request->take(xprt_, message.payload);
	bool served;
	{
		/* The service does not end while there is a session: see close_reverse(). */
		kernel::Guard guard(lock_);
		served = reverse_sessions_ != 0 && rpcordma_reverse_enqueue(xprt_, request->rqst());
	}
	if (!served) {
		keep_reverse(*request);
		drop(message, "nobody serves it");
	}
}

/* One for a Call of that size, within the credits; null where there is none. */
ReverseRequest *Transport::reverse_request(std::size_t size) noexcept
{
	ReverseRequest *request;
	{
		kernel::Guard guard(lock_);
		if (reverse_in_use_ == reverse_credits)
			return nullptr;
		reverse_in_use_++;
		request = reverse_free_.pop_front();
	}
	if (request && request->size() < size) {
		delete request;
		request = nullptr;
	}
	if (!request)
		request = ReverseRequest::make(reverse_size(), kernel::GFP_ATTEMPT);
	if (request && request->size() >= size)
		return request;
	delete request;
	kernel::Guard guard(lock_);
	reverse_in_use_--;
	return nullptr;
}

void Transport::open_reverse(unsigned int sessions) noexcept
{
	kernel::Guard guard(lock_);
	reverse_sessions_ += sessions;
}

void Transport::close_reverse(unsigned int sessions) noexcept
{
	kernel::Completion idle;
	{
		kernel::Guard guard(lock_);
		reverse_sessions_ -= std::min(sessions, reverse_sessions_);
		if (reverse_sessions_ != 0 || reverse_in_use_ == 0)
			return;
		reverse_idle_ = &idle;
	}
	/* The service still runs, and answers what it was given: at worst when the connection is gone. */
	if (idle.wait(service_patience))
		return;
	kernel::Guard guard(lock_);
	reverse_idle_ = nullptr;
}

/* ERR_CHUNK, if there is room for it now. */
void Transport::answer_error(const proto::ReverseCall &message) noexcept
{
	verbs::SendBuffer *const buffer = endpoint_->sends().begin(1, kernel::GFP_ATTEMPT);
	if (!buffer)
		return;
	const auto size =
		wire::encode_error(buffer->bytes(), message.xid, RPCRDMA_V1, reverse_credits, wire::ChunkError{});
	if (!size)
		return endpoint_->sends().abandon(*buffer, 1);
	(void)endpoint_->sends().post(*buffer, static_cast<std::uint32_t>(*size), {}, {});
}

void Transport::drop(const proto::ReverseCall &message, const char *reason) noexcept
{
	rpcordma_trace_reverse_call_dropped(peer(), static_cast<u32>(message.xid), reason);
}

std::size_t Transport::reverse_size() noexcept
{
	kernel::Guard guard(lock_);
	const std::uint32_t threshold = endpoint_ ? std::min(endpoint_->agreement().inline_thresholds.call,
							     endpoint_->agreement().inline_thresholds.reply) :
						    RPCRDMA_V1_DEFAULT_INLINE;
	return std::min<std::size_t>(threshold, kernel::PAGE_SIZE) - wire::chunks_size(0, 0, 0) - RPCRDMA_V1_FIXED_SIZE;
}

void Transport::keep_reverse(ReverseRequest &request) noexcept
{
	kernel::Guard guard(lock_);
	reverse_in_use_--;
	reverse_free_.push_front(request);
	if (reverse_in_use_ == 0 && reverse_idle_)
		std::exchange(reverse_idle_, nullptr)->complete();
}

int Transport::send_reverse_reply(rpc_rqst *rqst) noexcept
{
	const xdr_buf &reply = field::rpc_rqst::rq_snd_buf(rqst);
	const std::uint32_t seen = room_events_.load();
	verbs::SendBuffer *const buffer = endpoint_->sends().begin(1, kernel::GFP_ATTEMPT);
	if (!buffer)
		return wait_for_room(seen);

	const wire::Xid xid = xid_of(rqst);
	const auto header = wire::encode_msg(buffer->bytes(), xid, reverse_credits, {});
	const unsigned int size = field::xdr_buf::len(&reply);
	if (!header || *header + size > endpoint_->agreement().inline_thresholds.call ||
	    read_bytes_from_xdr_buf(&reply, 0, buffer->bytes().data() + *header, size) != 0) {
		endpoint_->sends().abandon(*buffer, 1);
		/* Dropped: an error would be taken for that of whichever task sends at the moment. */
		rpcordma_trace_reverse_call_dropped(peer(), static_cast<u32>(xid), "reply too large");
		return 0;
	}
	if (endpoint_->sends().post(*buffer, static_cast<std::uint32_t>(*header) + size, {}, {}))
		return 0;
	close();
	return -kernel::ENOTCONN;
}

} // namespace rpcordma::client
