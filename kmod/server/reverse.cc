// SPDX-License-Identifier: GPL-2.0-only
#include "server/reverse.hh"

#include <algorithm>

#include "kernel/trace.hh"
#include "kernel/xdr_buf.hh"
#include "server/connection.hh"
#include "wire/header.hh"

namespace rpcordma::server {

namespace field = kernel::field;

namespace {

/* Of Calls that are unanswered and that somebody still waits for: sunrpc counts them in xprt_request_get_cong(). */
void set_window(rpc_xprt *xprt, std::uint32_t calls) noexcept
{
	kernel::KernelGuard guard(field::rpc_xprt::transport_lock(xprt));
	field::rpc_xprt::cwnd(xprt) = static_cast<unsigned long>(calls) << kernel::RPC_CWNDSHIFT;
}

/* Writes the header, and what follows it in a message; returns the size of both. */
std::uint32_t fill(const proto::ReversePlan &plan, wire::Version version, rpc_rqst *rqst, const OfferedCall *offered,
		   std::span<std::byte> message) noexcept
{
	const xdr_buf &call = field::rpc_rqst::rq_snd_buf(rqst);
	const wire::Xid xid{__builtin_bswap32(field::rpc_rqst::rq_xid(rqst))};
	const wire::ChunksToSend chunks = offered ? offered->chunks() : wire::ChunksToSend{};
	const auto header =
		wire::encode(message, {xid, version, reverse_credits, wire::Direction::call, plan.is_long}, chunks);
	/* The plan has made sure of it. */
	if (!header)
		bug("a reverse call's header is too long");
	auto size = static_cast<std::uint32_t>(*header);
	if (plan.is_long)
		return size;
	const unsigned int length = field::xdr_buf::len(&call);
	kernel::copy_out(call, 0, message.subspan(size, length));
	return size + length;
}

} // namespace

ReverseRequester::ReverseRequester(Connection &connection) noexcept
	: connection_(connection)
{
}

void ReverseRequester::begin(proto::ReverseChunks chunks, bool has_reads) noexcept
{
	chunks_.set(chunks);
	has_reads_ = has_reads;
}

rpc_xprt *ReverseRequester::xprt() const noexcept
{
	return kernel::read_once(field::svc_xprt::xpt_bc_xprt(connection_.xprt()));
}

rpc_xprt *ReverseRequester::open(xprt_create *args, const rpcordma_xprt_kind *kind) noexcept
{
	rpc_xprt *const xprt =
		rpcordma_xprt_alloc(args, kind, kernel::Layout<rpc_xprt>::size, reverse_credits, reverse_credits);
	if (rpcordma_pointer_error(xprt) != 0)
		return xprt;
	field::rpc_xprt::prot(xprt) = kernel::XPRT_TRANSPORT_BC_RDMA;
	rpcordma_xprt_set_bound(xprt);
	rpcordma_xprt_set_connected(xprt);
	svc_xprt *const svc = field::xprt_create::bc_xprt(args);
	Connection &connection = Connection::of(svc);
	field::rpc_xprt::max_payload(xprt) = connection.endpoint().agreement().inline_thresholds.reply;
	field::rpc_xprt::bc_xprt(xprt) = svc;
	set_window(xprt, 1);

	/* Two services may ask at a time. The svc_xprt drops its reference at its end. */
	if (!kernel::cmpxchg<rpc_xprt *>(field::svc_xprt::xpt_bc_xprt(svc), nullptr, xprt_get(xprt))) {
		xprt_put(xprt);
		rpcordma_xprt_free(xprt);
		return kernel::error_pointer<rpc_xprt>(-kernel::EEXIST);
	}
	/* lose() looks for it once, after the end or the loss was noted, which may have been before. Both sides have a full
	 * barrier between what they write and what they read. */
	if (connection.endpoint().is_lost() || connection.is_ending())
		xprt_disconnect_done(xprt);
	return xprt;
}

/* 7.3 does not export rpc_malloc() to modules. */
int ReverseRequester::allocate(rpc_rqst *rqst) noexcept
{
	const std::size_t call_size = field::rpc_rqst::rq_callsize(rqst);
	void *const block = rpcordma_alloc(call_size + field::rpc_rqst::rq_rcvsize(rqst), rpc_task_gfp_mask());
	if (!block)
		return -kernel::ENOMEM;
	field::rpc_rqst::rq_buffer(rqst) = block;
	field::rpc_rqst::rq_rbuffer(rqst) = static_cast<std::byte *>(block) + call_size;
	return 0;
}

int ReverseRequester::send(rpc_rqst *rqst) noexcept
{
	rpc_xprt *const xprt = field::rpc_rqst::rq_xprt(rqst);
	Connection &connection = Connection::of(field::rpc_xprt::bc_xprt(xprt));
	const kernel::Visit visit(connection.gate());
	return visit ? connection.reverse().send(rqst, xprt) : -kernel::ENOTCONN;
}

int ReverseRequester::send(rpc_rqst *rqst, rpc_xprt *xprt) noexcept
{
	verbs::Endpoint &endpoint = connection_.endpoint();
	if (endpoint.is_lost())
		return -kernel::ENOTCONN;
	const unsigned int size = field::xdr_buf::len(&field::rpc_rqst::rq_snd_buf(rqst));
	const wire::Xid xid{__builtin_bswap32(field::rpc_rqst::rq_xid(rqst))};
	const wire::Version version = connection_.version();
	const auto plan = proto::plan_reverse_call(size, static_cast<std::uint32_t>(field::rpc_rqst::rq_rcvsize(rqst)),
						   {.thresholds = endpoint.agreement().terms(version).thresholds,
						    .chunks = chunks_.read(),
						    .reads = has_reads_,
						    .version = version});
	if (!plan)
		return refuse(xid);
	bool some_return;
	{
		kernel::Guard guard(lock_);
		/* The one that is under way will be answered. */
		if (find(xid))
			return 0;
		some_return = !returning_.empty();
	}
	/* Woken when one that has a credit gives it back. */
	if (!xprt_request_get_cong(xprt, rqst))
		return -kernel::EBADSLT;

	const std::uint32_t registrations = (plan->is_long ? 1u : 0u) + (plan->has_reply_chunk ? 1u : 0u);
	/* A registration and an invalidation each, and the Send. */
	const std::uint32_t requests = 2 * registrations + 1;
	if (registrations != 0)
		endpoint.sends().end_slow_start();
	const std::uint32_t seen = room_events_.load_acquire();
	kernel::Owned<OfferedCall> offered;
	if (registrations != 0) {
		offered.reset(new (kernel::GFP_ATTEMPT) OfferedCall(*this, xid));
		if (!offered)
			return -kernel::ENOBUFS;
		/* Those of Calls that nobody answers come back with the end of the connection only. */
		if (!offered->advertised.take(endpoint.registrations(), registrations))
			return some_return ? wait_for_room(xprt, seen) : refuse(xid);
	}
	const auto put_back_registrations = [&] {
		if (offered)
			offered->advertised.put_back(endpoint.registrations());
	};
	if (connection_.postings().is_crowded() || !endpoint.sends().reserve(requests)) {
		put_back_registrations();
		return wait_for_room(xprt, seen);
	}
	verbs::SendBuffer *const buffer = endpoint.sends().take(kernel::GFP_ATTEMPT);
	if (!buffer) {
		endpoint.sends().release(requests);
		put_back_registrations();
		connection_.postings().room();
		return -kernel::ENOBUFS;
	}
	verbs::Chain chain;
	if (offered && !offered->offer(*plan, rqst, endpoint.registrations().limits(), chain)) {
		put_back_registrations();
		endpoint.sends().abandon(*buffer, requests);
		connection_.postings().room();
		return -kernel::ENOBUFS;
	}
	const std::uint32_t message_size = fill(*plan, version, rqst, offered.get(), buffer->bytes());
	field::rpc_rqst::rq_xtime(rqst) = ktime_get();
	field::rpc_rqst::rq_xmit_bytes_sent(rqst) += size;
	sent_++;
	rpcordma_trace_reverse_call_sent(
		connection_.peer(), static_cast<u32>(xid), size,
		name_of(plan->is_long ? proto::CallTransfer::position_zero : proto::CallTransfer::inline_message),
		name_of(plan->has_reply_chunk ? proto::ReplyRoom::reply_chunk : proto::ReplyRoom::inline_message));
	if (!offered)
		return endpoint.sends().post(*buffer, message_size, {}, {}) ? 0 : -kernel::ENOTCONN;
	kernel::Guard guard(lock_);
	offered_.push_back(*offered.release());
	any_offered_.set(true);
	return endpoint.sends().post(*buffer, message_size, chain, {}) ? 0 : -kernel::ENOTCONN;
}

/* For a Call that can never be sent: fails it as an answer does. sunrpc would give an error of sending to the task that holds its
 * send lock, which may be another Call's. */
int ReverseRequester::refuse(wire::Xid xid) noexcept
{
	(void)fail(xid);
	return 0;
}

/* `seen` is the number of room events before the attempt: one since then may have been what it waited for. */
int ReverseRequester::wait_for_room(rpc_xprt *xprt, std::uint32_t seen) noexcept
{
	connection_.tallies().waits.count("reverse direction");
	xprt_wait_for_buffer_space(xprt);
	/* That has set a bit, which room() reads after it has counted. */
	kernel::smp_mb_after_atomic();
	if (room_events_.read() != seen || connection_.endpoint().is_lost())
		xprt_write_space(xprt);
	return -kernel::EAGAIN;
}

OfferedCall *ReverseRequester::find(wire::Xid xid) noexcept
{
	OfferedCall *found = nullptr;
	offered_.for_each([&](OfferedCall &call) {
		if (call.xid == xid)
			found = &call;
	});
	return found;
}

void ReverseRequester::room() noexcept
{
	(void)room_events_.fetch_add(1);
	if (rpc_xprt *const reverse = xprt())
		xprt_write_space(reverse);
}

void ReverseRequester::lose() noexcept
{
	if (rpc_xprt *const reverse = xprt())
		xprt_disconnect_done(reverse);
}

bool ReverseRequester::take(const verbs::ReceiveBuffer &buffer) noexcept
{
	const wire::Bytes message = buffer.message();
	if (!xprt())
		return false;
	if (any_offered_.read() && take_offered(buffer))
		return true;
	if (proto::is_error(message)) [[unlikely]] {
		take_error(message);
		return true;
	}
	if (!proto::may_be_reverse_reply(message))
		return false;
	const proto::Arrival arrival = proto::classify_arrival(message, connection_.highest_version());
	const auto *const reply = std::get_if<proto::ReverseReply>(&arrival);
	if (!reply)
		return false;
	take_payload(reply->xid, reply->payload, reply->credits);
	return true;
}

/* Also one that comes too late, or cannot be decoded, is no Call and takes no credit. */
void ReverseRequester::take_error(wire::Bytes message) noexcept
{
	const char *const what = name_of(proto::Ignored::error_message);
	const auto refused = proto::refused_call(message);
	connection_.tallies().received(proto::refusal_in(message));
	if (refused) {
		rpcordma_trace_reverse_reply_unmatched(connection_.peer(), static_cast<u32>(*refused), what);
	} else {
		proto::tell_of_refusal(message);
		rpcordma_trace_message_dropped(connection_.peer(), static_cast<u32>(message.size()), what);
	}
	if (!refused || !fail(*refused))
		connection_.refused(what);
}

/* Takes the answer to a Call that offered chunks. */
bool ReverseRequester::take_offered(const verbs::ReceiveBuffer &buffer) noexcept
{
	const auto message = wire::decode(buffer.message());
	if (!message || !proto::may_answer_reverse_call(*message))
		return false;
	const wire::Xid xid = message->fixed.xid;
	OfferedCall *call;
	std::expected<proto::Accepted, proto::ReplyError> verdict;
	bool invalidation_allowed;
	{
		kernel::Guard guard(lock_);
		call = find(xid);
		if (!call)
			return false;
		verdict = proto::accept_reply(message->body, xid, call->offered());
		invalidation_allowed = call->advertised.mark_invalidated(buffer);
		if (verdict) {
			/* clear() finds it again where nothing more can be posted. */
			offered_.remove(*call);
			returning_.push_back(*call);
			any_offered_.set(!offered_.empty());
		}
	}
	connection_.tallies().received(proto::refusal_of(message->body));
	if (!invalidation_allowed)
		invalidation_not_offered(xid, buffer);
	if (!verdict) {
		discard(xid, verdict.error());
		return true;
	}
	const auto *const in_message = std::get_if<proto::ShortReply>(&*verdict);
	const auto *const in_chunk = std::get_if<proto::LongReply>(&*verdict);
	/* That it takes none is known from now on. */
	if (std::holds_alternative<proto::ChunksRefused>(*verdict))
		chunks_.set(proto::ReverseChunks::never);
	if (in_message)
		complete(xid, in_message->payload, message->fixed.credits);
	else if (in_chunk)
		call->written = in_chunk->length;
	else
		(void)fail(xid);
	call->credits = message->fixed.credits;
	fence(*call);
	return true;
}

/* The Call goes on waiting: a good Reply may follow, and where none does, sunrpc ends it when its time is over (RFC 8166,
 * 4.5). */
void ReverseRequester::discard(wire::Xid xid, proto::ReplyError reason) noexcept
{
	rpcordma_trace_reverse_reply_unmatched(connection_.peer(), static_cast<u32>(xid), name_of(reason));
	connection_.refused(name_of(reason));
	rpcordma_log_peer("%pISpc: bad reply to the call 0x%08x: %s", connection_.peer(), static_cast<u32>(xid),
			  name_of(reason));
}

/* Which Call has lost memory is unknown. */
void ReverseRequester::invalidation_not_offered(wire::Xid xid, const verbs::ReceiveBuffer &buffer) noexcept
{
	u32 handle = 0;
	(void)buffer.invalidated(handle);
	rpcordma_trace_invalidation_not_offered(connection_.peer(), static_cast<u32>(xid), handle);
	rpcordma_log_peer("%pISpc: the reply to the call 0x%08x invalidates a handle that it did not offer: 0x%08x",
			  connection_.peer(), static_cast<u32>(xid), handle);
	connection_.endpoint().lose("invalidation not offered", "");
}

/* Sees to it that the peer reaches the Call's memory no more. */
void ReverseRequester::fence(OfferedCall &call) noexcept
{
	/* Where the connection is being closed, its end takes the memory back. */
	const auto posted = call.advertised.invalidate(connection_.endpoint().sends(), call);
	local_invalidations_ += posted.value_or(0);
	if (posted && *posted == 0)
		fenced(call);
}

void ReverseRequester::fenced(OfferedCall &call) noexcept
{
	call.advertised.take_back(connection_.endpoint().registrations());
	if (call.written != 0)
		take_payload(call.xid, call.reply(), call.credits);
	{
		kernel::Guard guard(lock_);
		returning_.remove(call);
	}
	delete &call;
}

void ReverseRequester::take_payload(wire::Xid xid, wire::Bytes payload, std::uint32_t credits) noexcept
{
	if (const auto verdict = proto::payload_is_reply(payload, xid))
		complete(xid, payload, credits);
	else
		discard(xid, verdict.error());
}

void ReverseRequester::complete(wire::Xid xid, wire::Bytes reply, std::uint32_t credits) noexcept
{
	rpc_xprt *const xprt = this->xprt();
	const auto size = static_cast<unsigned int>(reply.size());
	{
		kernel::KernelGuard guard(field::rpc_xprt::queue_lock(xprt));
		rpc_rqst *const rqst = xprt_lookup_rqst(xprt, __builtin_bswap32(static_cast<u32>(xid)));
		if (!rqst)
			return rpcordma_trace_reverse_reply_unmatched(connection_.peer(), static_cast<u32>(xid),
								      "no call");
		xdr_buf &room = field::rpc_rqst::rq_rcv_buf(rqst);
		if (size <= field::xdr_buf::buflen(&room) &&
		    write_bytes_to_xdr_buf(&room, 0, const_cast<std::byte *>(reply.data()), size) == 0) {
			answered_++;
			set_window(xprt, std::clamp(credits, 1u, reverse_credits));
			xprt_complete_rqst(field::rpc_rqst::rq_task(rqst), static_cast<int>(size));
			return;
		}
	}
	/* For ever: no other Reply can come (RFC 8166, 6.1). */
	rpcordma_trace_reverse_reply_unmatched(connection_.peer(), static_cast<u32>(xid), "too large");
	(void)fail(xid);
}

/* With EIO: the Call cannot be sent, the peer does not take it, or there is no room for its Reply. False: nobody waits for a Reply
 * to that. */
bool ReverseRequester::fail(wire::Xid xid) noexcept
{
	rpc_xprt *const xprt = this->xprt();
	const proto::FailureReply reply(xid, proto::Failure::unintelligible);
	const wire::Bytes bytes = reply.bytes();
	const auto size = static_cast<unsigned int>(bytes.size());
	kernel::KernelGuard guard(field::rpc_xprt::queue_lock(xprt));
	rpc_rqst *const rqst = xprt_lookup_rqst(xprt, __builtin_bswap32(static_cast<u32>(xid)));
	if (!rqst)
		return false;
	rpc_task *const task = field::rpc_rqst::rq_task(rqst);
	kernel::copy_in(field::rpc_rqst::rq_rcv_buf(rqst), bytes);
	rpcordma_task_ask_once(task);
	xprt_complete_rqst(task, static_cast<int>(size));
	return true;
}

void ReverseRequester::observe(rpcordma_connection &to) const noexcept
{
	rpc_xprt *const reverse = xprt();
	to.reverse_credits = reverse_credits;
	to.reverse_credits_in_use =
		reverse ? static_cast<u32>(kernel::read_once(field::rpc_xprt::cong(reverse)) >> kernel::RPC_CWNDSHIFT) :
			  0;
	to.reverse_calls = sent_.read();
	to.reverse_replies = answered_.read();
	to.local_invalidations = local_invalidations_.read();
}

void ReverseRequester::clear() noexcept
{
	kernel::Guard guard(lock_);
	for (auto *const list : {&offered_, &returning_}) {
		while (OfferedCall *const call = list->pop_front()) {
			call->advertised.take_back(connection_.endpoint().registrations());
			delete call;
		}
	}
}

} // namespace rpcordma::server
