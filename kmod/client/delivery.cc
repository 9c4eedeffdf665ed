// SPDX-License-Identifier: GPL-2.0-only
#include "client/delivery.hh"

#include "client/transport.hh"
#include "kernel/trace.hh"
#include "kernel/xdr_buf.hh"

namespace rpcordma::client {

namespace field = kernel::field;

namespace {

/* The size of a Reply, a negative errno that the RPC fails with, or why it is no Reply. */
using Taken = std::expected<int, proto::ReplyError>;

/* Puts an inline Payload stream into a buffer whose pages may have been written already. */
void place(xdr_buf &buffer, wire::Bytes payload, const proto::Placement &placement, std::uint32_t written)
{
	if (written == 0) {
		kernel::copy_in(buffer, payload);
		return;
	}
	auto *const tail = static_cast<std::byte *>(field::xdr_buf::tail(&buffer));
	__builtin_memcpy(field::xdr_buf::head(&buffer), payload.data(), placement.head);
	/* Mostly there is neither. */
	if (placement.tail_padding != 0)
		__builtin_memset(tail, 0, placement.tail_padding);
	if (placement.tail != 0)
		__builtin_memcpy(tail + placement.tail_padding, payload.data() + placement.head, placement.tail);
}

/* Where the parts end once a Write chunk was used: sunrpc decodes by these lengths. */
void reshape(xdr_buf &buffer, const proto::Placement &placement)
{
	field::xdr_buf::head_length(&buffer) = placement.head;
	field::xdr_buf::page_len(&buffer) = placement.pages_filled;
	field::xdr_buf::tail_length(&buffer) = placement.tail_padding + placement.tail;
}

/* A Reply that is reduced otherwise than it could have been fails the RPC where there is no room for it (RFC 8166, 6.1). */
int take(Transport &transport, rpc_rqst *rqst, const proto::ShortReply &reply)
{
	xdr_buf &buffer = field::rpc_rqst::rq_rcv_buf(rqst);
	const auto size = static_cast<std::uint32_t>(reply.payload.size());
	const auto placement = proto::place_reply(stream_of(buffer, 0), size, reply.written);
	if (!placement) {
		refused(transport, xid_of(rqst), name_of(placement.error()));
		return -kernel::EIO;
	}
	place(buffer, reply.payload, *placement, reply.written);
	transport.statistics().fixed_up += size;
	const std::uint32_t whole = placement->size();
	if (reply.written == 0)
		return static_cast<int>(whole);
	transport.statistics().write_chunk_bytes += reply.written;
	reshape(buffer, *placement);
	reshape(field::rpc_rqst::rq_private_buf(rqst), *placement);
	/* sunrpc takes nothing but whole XDR units, though the padding of a reduced item may have no room. */
	return static_cast<int>(whole + wire::roundup_padding(whole));
}

/* Its memory could not be looked at before. */
Taken take(Transport &transport, rpc_rqst *rqst, const proto::LongReply &reply)
{
	std::array<std::byte, proto::smallest_rpc_reply> start;
	if (read_bytes_from_xdr_buf(&field::rpc_rqst::rq_rcv_buf(rqst), 0, start.data(), start.size()) != 0)
		return std::unexpected(proto::ReplyError::payload_too_short);
	TRY(proto::payload_is_reply(start, xid_of(rqst)));
	transport.statistics().reply_chunk_bytes += reply.length;
	return static_cast<int>(reply.length);
}

/* Brings the reply to where sunrpc decodes it. */
Taken take(Transport &transport, rpc_rqst *rqst, const proto::Accepted &verdict)
{
	if (const auto *const reply = std::get_if<proto::ShortReply>(&verdict))
		return take(transport, rqst, *reply);
	if (const auto *const reply = std::get_if<proto::LongReply>(&verdict))
		return take(transport, rqst, *reply);
	return std::holds_alternative<proto::VersionRefused>(verdict) ? -kernel::EPROTONOSUPPORT : -kernel::EIO;
}

/* Returns the size of a Reply that sunrpc decodes to that error. In tk_status it could be lost: the task that sends the
 * Call clears that once the Call is out, and the RPC would be sent again. */
[[gnu::noinline]] int say_failed(rpc_rqst *rqst, int error)
{
	const proto::FailureReply reply(xid_of(rqst), error == -kernel::EPROTONOSUPPORT ?
							      proto::Failure::version_denied :
							      proto::Failure::unintelligible);
	const wire::Bytes bytes = reply.bytes();
	kernel::copy_in(field::rpc_rqst::rq_rcv_buf(rqst), bytes);
	rpcordma_task_ask_once(field::rpc_rqst::rq_task(rqst));
	return static_cast<int>(bytes.size());
}

} // namespace

void deliver(Transport &transport, Request &request) noexcept
{
	rpc_rqst *const rqst = request.rqst();
	const Taken taken = take(transport, rqst, *request.verdict);
	verbs::ReceiveBuffer &buffer = *std::exchange(request.reply, nullptr);
	if (!taken) [[unlikely]] {
		transport.statistics().bad_replies++;
		refused(transport, xid_of(rqst), name_of(taken.error()));
		transport.outstanding().await_another(request);
		let_go(transport, rqst, buffer);
		transport.room();
		return transport.keep_receives();
	}
	/* sunrpc has looked at the clock when it looked for the Call. Only here: a Call whose Reply is lost with the connection, or
	 * is no good, is sent again. */
	transport.latencies().record(field::rpc_rqst::rq_rtt(rqst));
	transport.endpoint().receives().give_back(buffer);
	transport.outstanding().answered(request);
	{
		kernel::KernelGuard guard(field::rpc_xprt::queue_lock(transport.xprt()));
		int size = *taken;
		if (size < 0) {
			transport.statistics().bad_replies++;
			size = say_failed(rqst, size);
		}
		xprt_complete_rqst(field::rpc_rqst::rq_task(rqst), size);
		xprt_unpin_rqst(rqst);
	}
	transport.room();
}

/* By a Reply: sunrpc may have sent this Call for another task, which would get an error that is returned, and the Call
 * would stay at the head of the queue. */
int fail_unsent(Transport &transport, rpc_rqst *rqst) noexcept
{
	rpc_task *const task = field::rpc_rqst::rq_task(rqst);
	rpc_xprt *const xprt = transport.xprt();
	transport.statistics().failed_marshal++;
	if (!rpcordma_reply_expected(task))
		return -kernel::EIO;
	kernel::KernelGuard guard(field::rpc_xprt::queue_lock(xprt));
	/* Else it has been killed meanwhile. */
	if (xprt_lookup_rqst(xprt, field::rpc_rqst::rq_xid(rqst)) == rqst)
		xprt_complete_rqst(task, say_failed(rqst, -kernel::EIO));
	return 0;
}

void let_go(Transport &transport, rpc_rqst *rqst, verbs::ReceiveBuffer &buffer) noexcept
{
	{
		kernel::KernelGuard guard(field::rpc_xprt::queue_lock(transport.xprt()));
		xprt_unpin_rqst(rqst);
	}
	transport.endpoint().receives().give_back(buffer);
}

void refused(Transport &transport, wire::Xid xid, const char *reason) noexcept
{
	rpcordma_trace_reply_refused(transport.peer(), static_cast<u32>(xid), reason);
	transport.refused(reason);
	rpcordma_log_peer("%pISpc: bad reply to the call 0x%08x: %s", transport.peer(), static_cast<u32>(xid), reason);
}

} // namespace rpcordma::client
