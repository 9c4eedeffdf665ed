// SPDX-License-Identifier: GPL-2.0-only
/* The reverse direction: Calls of the server's on a client's connection (RFC 8167), such as NFSv4.1's callbacks. To sunrpc it
 * is an rpc_xprt of its own, which lives as long as the connection. Calls and Replies travel inline. */
#include <algorithm>

#include "kernel/trace.hh"
#include "server/connection.hh"
#include "verbs/names.hh"
#include "wire/header.hh"

namespace rpcordma::server {

namespace field = kernel::field;

namespace {

constexpr unsigned long reply_timeout = 60 * kernel::HZ;

constinit kernel::Opaque<rpc_timeout> timeout;

Connection &connection_of(const rpc_xprt *xprt) noexcept
{
	return Connection::of(field::rpc_xprt::bc_xprt(xprt));
}

/* sunrpc keeps to a window of so many Calls. */
void set_window(rpc_xprt *xprt, std::uint32_t calls) noexcept
{
	kernel::KernelGuard guard(field::rpc_xprt::transport_lock(xprt));
	field::rpc_xprt::cwnd(xprt) = static_cast<unsigned long>(calls) << kernel::RPC_CWNDSHIFT;
}

} // namespace

rpc_xprt *Connection::open_reverse(xprt_create *args) noexcept
{
	const std::size_t length = field::xprt_create::addrlen(args);
	if (length > kernel::Layout<sockaddr_storage>::size)
		return kernel::error_pointer<rpc_xprt>(-kernel::EBADF);
	if (!rpcordma_module_get())
		return kernel::error_pointer<rpc_xprt>(-kernel::EIO);
	rpc_xprt *const xprt = xprt_alloc(field::xprt_create::net(args), kernel::Layout<rpc_xprt>::size,
					  reverse_credits, reverse_credits);
	if (!xprt) {
		rpcordma_module_put();
		return kernel::error_pointer<rpc_xprt>(-kernel::ENOMEM);
	}
	field::rpc_timeout::to_initval(timeout.get()) = reply_timeout;
	field::rpc_timeout::to_maxval(timeout.get()) = reply_timeout;
	field::rpc_xprt::timeout(xprt) = timeout.get();
	field::rpc_xprt::ops(xprt) = rpcordma_reverse_ops();
	field::rpc_xprt::prot(xprt) = kernel::XPRT_TRANSPORT_BC_RDMA;
	field::rpc_xprt::addrlen(xprt) = length;
	__builtin_memcpy(&field::rpc_xprt::addr(xprt), field::xprt_create::dstaddr(args), length);
	rpcordma_xprt_set_bound(xprt);
	rpcordma_xprt_set_connected(xprt);
	if (const int error = rpcordma_addresses_format(xprt); error != 0) {
		close_reverse(xprt);
		return kernel::error_pointer<rpc_xprt>(error);
	}
	svc_xprt *const connection = field::xprt_create::bc_xprt(args);
	field::rpc_xprt::max_payload(xprt) = of(connection).endpoint_->agreement().inline_thresholds.reply;
	set_window(xprt, 1);

	field::rpc_xprt::bc_xprt(xprt) = connection;

	/* Two services may ask at a time. The svc_xprt drops its reference at its end. */
	rpc_xprt *none = nullptr;
	const std::atomic_ref<rpc_xprt *> reverse(field::svc_xprt::xpt_bc_xprt(connection));
	if (!reverse.compare_exchange_strong(none, xprt_get(xprt))) {
		xprt_put(xprt);
		close_reverse(xprt);
		return kernel::error_pointer<rpc_xprt>(-kernel::EEXIST);
	}
	return xprt;
}

void Connection::close_reverse(rpc_xprt *xprt) noexcept
{
	rpcordma_addresses_free(xprt);
	xprt_free(xprt);
	rpcordma_module_put();
}

int Connection::send_reverse(rpc_rqst *rqst) noexcept
{
	rpc_xprt *const xprt = field::rpc_rqst::rq_xprt(rqst);
	return connection_of(xprt).send_reverse(rqst, xprt);
}

/* On a thread of sunrpc's clients, which must not wait: it is woken when there is room. */
int Connection::send_reverse(rpc_rqst *rqst, rpc_xprt *xprt) noexcept
{
	if (endpoint_->is_lost())
		return -kernel::ENOTCONN;
	const std::uint32_t seen = room_events_.load();
	if (room_.is_crowded() || !endpoint_->sends().reserve(1)) {
		xprt_wait_for_buffer_space(xprt);
		if (room_events_.load() != seen)
			xprt_write_space(xprt);
		return -kernel::EAGAIN;
	}
	verbs::SendBuffer *const buffer = endpoint_->sends().take(kernel::GFP_ATTEMPT);
	if (!buffer) {
		endpoint_->sends().release(1);
		return -kernel::ENOBUFS;
	}
	const xdr_buf &call = field::rpc_rqst::rq_snd_buf(rqst);
	const unsigned int size = field::xdr_buf::len(&call);
	const wire::Xid xid{__builtin_bswap32(field::rpc_rqst::rq_xid(rqst))};
	const auto header = wire::encode_msg(buffer->bytes(), xid, reverse_credits, {});
	if (!header || *header + size > endpoint_->agreement().inline_thresholds.reply ||
	    read_bytes_from_xdr_buf(&call, 0, buffer->bytes().data() + *header, size) != 0) {
		endpoint_->sends().abandon(*buffer, 1);
		return -kernel::EMSGSIZE;
	}
	field::rpc_rqst::rq_xtime(rqst) = ktime_get();
	field::rpc_rqst::rq_xmit_bytes_sent(rqst) += size;
	rpcordma_trace_reverse_call_sent(peer(), static_cast<u32>(xid), size);
	return endpoint_->sends().post(*buffer, static_cast<std::uint32_t>(*header) + size, {}, {}) ? 0 :
												      -kernel::ENOTCONN;
}

/* In the context of the completion queue: a callback must not wait for a thread that may itself wait for a callback. */
bool Connection::take_reverse_reply(wire::Bytes message) noexcept
{
	rpc_xprt *const xprt = field::svc_xprt::xpt_bc_xprt(this->xprt());
	if (!xprt || !proto::may_be_reverse_reply(message))
		return false;
	const proto::Arrival arrival = proto::classify_arrival(message);
	const auto *const reply = std::get_if<proto::ReverseReply>(&arrival);
	if (!reply)
		return false;

	kernel::KernelGuard guard(field::rpc_xprt::queue_lock(xprt));
	rpc_rqst *const rqst = xprt_lookup_rqst(xprt, __builtin_bswap32(static_cast<u32>(reply->xid)));
	if (!rqst) {
		rpcordma_trace_reverse_reply_unmatched(peer(), static_cast<u32>(reply->xid), "no call");
		return true;
	}
	xdr_buf &room = field::rpc_rqst::rq_rcv_buf(rqst);
	const auto size = static_cast<unsigned int>(reply->payload.size());
	if (size > field::xdr_buf::buflen(&room) ||
	    write_bytes_to_xdr_buf(&room, 0, const_cast<std::byte *>(reply->payload.data()), size) != 0) {
		rpcordma_trace_reverse_reply_unmatched(peer(), static_cast<u32>(reply->xid), "too large");
		return true;
	}
	set_window(xprt, std::clamp(reply->credits, 1u, reverse_credits));
	xprt_complete_rqst(field::rpc_rqst::rq_task(rqst), static_cast<int>(size));
	return true;
}

} // namespace rpcordma::server

using namespace rpcordma;
using server::Connection;
namespace field = kernel::field;

rpc_xprt *rpcordma_server_reverse_setup(xprt_create *args)
{
	return Connection::open_reverse(args);
}

void rpcordma_server_reverse_destroy(rpc_xprt *xprt)
{
	Connection::close_reverse(xprt);
}

int rpcordma_server_reverse_send(rpc_rqst *rqst)
{
	return Connection::send_reverse(rqst);
}

/* Call and Reply in one piece. */
int rpcordma_server_reverse_alloc(rpc_task *task)
{
	rpc_rqst *const rqst = field::rpc_task::tk_rqstp(task);
	const std::size_t call = field::rpc_rqst::rq_callsize(rqst);
	auto *const buffer =
		static_cast<std::byte *>(rpcordma_alloc(call + field::rpc_rqst::rq_rcvsize(rqst), rpc_task_gfp_mask()));
	if (!buffer)
		return -kernel::ENOMEM;
	field::rpc_rqst::rq_buffer(rqst) = buffer;
	field::rpc_rqst::rq_rbuffer(rqst) = buffer + call;
	return 0;
}

void rpcordma_server_reverse_free(rpc_task *task)
{
	kfree(field::rpc_rqst::rq_buffer(field::rpc_task::tk_rqstp(task)));
}
