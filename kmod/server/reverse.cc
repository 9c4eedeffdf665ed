// SPDX-License-Identifier: GPL-2.0-only
/* The reverse direction: Calls of the server's on a client's connection (RFC 8167), such as NFSv4.1's callbacks. To sunrpc it
 * is an rpc_xprt of its own, which lives as long as the connection. Calls and Replies travel inline, and by chunks where an
 * administrator says that clients take them. */
#include "server/reverse.hh"

#include <algorithm>
#include <array>

#include "kernel/trace.hh"
#include "server/connection.hh"
#include "server/operations.h"
#include "wire/header.hh"

namespace rpcordma::server {

namespace field = kernel::field;

namespace {

Connection &connection_of(const rpc_xprt *xprt) noexcept
{
	return Connection::of(field::rpc_xprt::bc_xprt(xprt));
}

/* Of Calls that are unanswered and that somebody still waits for: sunrpc counts them in xprt_request_get_cong(). */
void set_window(rpc_xprt *xprt, std::uint32_t calls) noexcept
{
	kernel::KernelGuard guard(field::rpc_xprt::transport_lock(xprt));
	field::rpc_xprt::cwnd(xprt) = static_cast<unsigned long>(calls) << kernel::RPC_CWNDSHIFT;
}

} // namespace

rpc_xprt *Connection::open_reverse(xprt_create *args, const rpcordma_xprt_kind *kind) noexcept
{
	rpc_xprt *const xprt =
		rpcordma_xprt_alloc(args, kind, kernel::Layout<rpc_xprt>::size, reverse_credits, reverse_credits);
	if (rpcordma_pointer_error(xprt) != 0)
		return xprt;
	field::rpc_xprt::prot(xprt) = kernel::XPRT_TRANSPORT_BC_RDMA;
	rpcordma_xprt_set_bound(xprt);
	rpcordma_xprt_set_connected(xprt);
	svc_xprt *const connection = field::xprt_create::bc_xprt(args);
	field::rpc_xprt::max_payload(xprt) = of(connection).endpoint_->agreement().inline_thresholds.reply;
	set_window(xprt, 1);

	field::rpc_xprt::bc_xprt(xprt) = connection;

	/* Two services may ask at a time. The svc_xprt drops its reference at its end. */
	rpc_xprt *none = nullptr;
	const std::atomic_ref<rpc_xprt *> reverse(field::svc_xprt::xpt_bc_xprt(connection));
	if (!reverse.compare_exchange_strong(none, xprt_get(xprt))) {
		xprt_put(xprt);
		rpcordma_xprt_free(xprt);
		return kernel::error_pointer<rpc_xprt>(-kernel::EEXIST);
	}
	/* lose_reverse() looks for it once, which may have been before. */
	if (of(connection).endpoint_->is_lost() || of(connection).is_ending_.load())
		xprt_disconnect_done(xprt);
	return xprt;
}

int Connection::send_reverse(rpc_rqst *rqst) noexcept
{
	rpc_xprt *const xprt = field::rpc_rqst::rq_xprt(rqst);
	Connection &connection = connection_of(xprt);
	const kernel::Visit visit(connection.gate_);
	return visit ? connection.send_reverse(rqst, xprt) : -kernel::ENOTCONN;
}

/* On a thread of sunrpc's clients, which must not wait: it is woken when there is room. */
int Connection::send_reverse(rpc_rqst *rqst, rpc_xprt *xprt) noexcept
{
	if (endpoint_->is_lost())
		return -kernel::ENOTCONN;
	const unsigned int size = field::xdr_buf::len(&field::rpc_rqst::rq_snd_buf(rqst));
	const wire::Xid xid{__builtin_bswap32(field::rpc_rqst::rq_xid(rqst))};
	const auto plan = proto::plan_reverse_call(size, static_cast<std::uint32_t>(field::rpc_rqst::rq_rcvsize(rqst)),
						   {.thresholds = endpoint_->agreement().inline_thresholds,
						    .chunks = reverse_chunks_.load(),
						    .reads = has_own_reads_});
	if (!plan)
		return -kernel::EMSGSIZE;
	/* The one that is under way will be answered. */
	if (is_offered(xid))
		return 0;
	/* Woken when one that has a credit gives it back. */
	if (!xprt_request_get_cong(xprt, rqst))
		return -kernel::EBADSLT;

	const std::uint32_t registrations = (plan->is_long ? 1u : 0u) + (plan->has_reply_chunk ? 1u : 0u);
	/* A registration and an invalidation each, and the Send. */
	const std::uint32_t requests = 2 * registrations + 1;
	const std::uint32_t seen = room_events_.load();
	const bool some_return = registrations != 0 && are_returning();
	verbs::Registrations taken;
	/* Those of Calls that nobody answers come back with the end of the connection only. */
	if (!endpoint_->registrations().take(registrations, taken))
		return some_return ? wait_for_reverse_room(xprt, seen) : -kernel::EMSGSIZE;
	if (outbox_.is_crowded() || !endpoint_->sends().reserve(requests)) {
		endpoint_->registrations().put_back(taken);
		return wait_for_reverse_room(xprt, seen);
	}
	verbs::SendBuffer *const buffer = endpoint_->sends().take(kernel::GFP_ATTEMPT);
	if (!buffer) {
		endpoint_->sends().release(requests);
		endpoint_->registrations().put_back(taken);
		outbox_.room();
		return -kernel::ENOBUFS;
	}
	kernel::Owned<OfferedCall> offered;
	verbs::Chain chain;
	if (registrations != 0) {
		offered = OfferedCall::make(*this, xid, *plan, rqst, endpoint_->registrations().limits(), taken, chain);
		if (!offered) {
			endpoint_->registrations().put_back(taken);
			endpoint_->sends().abandon(*buffer, requests);
			outbox_.room();
			return -kernel::ENOBUFS;
		}
	}
	const std::uint32_t message_size = fill_reverse(*plan, rqst, offered.get(), buffer->bytes());
	field::rpc_rqst::rq_xtime(rqst) = ktime_get();
	field::rpc_rqst::rq_xmit_bytes_sent(rqst) += size;
	rpcordma_trace_reverse_call_sent(
		peer(), static_cast<u32>(xid), size,
		name_of(plan->is_long ? proto::CallTransfer::position_zero : proto::CallTransfer::inline_message),
		name_of(plan->has_reply_chunk ? proto::ReplyRoom::reply_chunk : proto::ReplyRoom::inline_message));
	if (!offered)
		return endpoint_->sends().post(*buffer, message_size, {}, {}) ? 0 : -kernel::ENOTCONN;
	kernel::Guard guard(lock_);
	offered_.push_back(*offered.release());
	any_offered_.store(true);
	return endpoint_->sends().post(*buffer, message_size, chain, {}) ? 0 : -kernel::ENOTCONN;
}

/* `seen` is the number of room events before the attempt: one since then may have been what it waited for. */
int Connection::wait_for_reverse_room(rpc_xprt *xprt, std::uint32_t seen) noexcept
{
	xprt_wait_for_buffer_space(xprt);
	if (room_events_.load() != seen || endpoint_->is_lost())
		xprt_write_space(xprt);
	return -kernel::EAGAIN;
}

/* Writes the header, and what follows it in a message; returns the size of both. */
std::uint32_t Connection::fill_reverse(const proto::ReversePlan &plan, rpc_rqst *rqst, const OfferedCall *offered,
				       std::span<std::byte> message) noexcept
{
	const xdr_buf &call = field::rpc_rqst::rq_snd_buf(rqst);
	const wire::Xid xid{__builtin_bswap32(field::rpc_rqst::rq_xid(rqst))};
	const wire::ChunksToSend chunks = offered ? offered->chunks() : wire::ChunksToSend{};
	const auto header = plan.is_long ? wire::encode_nomsg(message, xid, reverse_credits, chunks) :
					   wire::encode_msg(message, xid, reverse_credits, chunks);
	/* The plan has made sure of it. */
	if (!header)
		bug("a reverse call's header is too long");
	auto size = static_cast<std::uint32_t>(*header);
	if (plan.is_long)
		return size;
	const unsigned int length = field::xdr_buf::len(&call);
	read_bytes_from_xdr_buf(&call, 0, message.subspan(size, length).data(), length);
	return size + length;
}

bool Connection::is_offered(wire::Xid xid) noexcept
{
	if (!any_offered_.load())
		return false;
	kernel::Guard guard(lock_);
	return find_offered(xid) != nullptr;
}

bool Connection::are_returning() noexcept
{
	kernel::Guard guard(lock_);
	return !returning_.empty();
}

OfferedCall *Connection::find_offered(wire::Xid xid) noexcept
{
	OfferedCall *found = nullptr;
	offered_.for_each([&](OfferedCall &call) {
		if (call.xid == xid)
			found = &call;
	});
	return found;
}

/* In the context of the completion queue: a callback must not wait for a thread that may itself wait for a callback. */
bool Connection::take_reverse_reply(const verbs::ReceiveBuffer &buffer) noexcept
{
	const wire::Bytes message = buffer.message();
	if (!field::svc_xprt::xpt_bc_xprt(xprt()))
		return false;
	if (any_offered_.load() && take_offered_reply(buffer))
		return true;
	if (const auto refused = proto::refused_call(message)) [[unlikely]] {
		rpcordma_trace_reverse_reply_unmatched(peer(), static_cast<u32>(*refused), "RDMA_ERROR");
		return fail_reverse(*refused);
	}
	if (!proto::may_be_reverse_reply(message))
		return false;
	const proto::Arrival arrival = proto::classify_arrival(message);
	const auto *const reply = std::get_if<proto::ReverseReply>(&arrival);
	if (!reply)
		return false;
	if (const auto verdict = proto::payload_is_reply(reply->payload, reply->xid))
		complete_reverse(reply->xid, reply->payload, reply->credits);
	else
		discard_reverse_reply(reply->xid, verdict.error());
	return true;
}

/* Takes the answer to a Call that offered chunks. */
bool Connection::take_offered_reply(const verbs::ReceiveBuffer &buffer) noexcept
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
		call = find_offered(xid);
		if (!call)
			return false;
		verdict = proto::accept_reply(message->body, xid, call->offered());
		invalidation_allowed = call->mark_invalidated(buffer);
		if (verdict) {
			/* forget_offered() finds it again where nothing more can be posted. */
			offered_.remove(*call);
			returning_.push_back(*call);
			any_offered_.store(!offered_.empty());
		}
	}
	if (!invalidation_allowed)
		invalidation_not_offered(xid, buffer);
	if (!verdict) {
		discard_reverse_reply(xid, verdict.error());
		return true;
	}
	const auto *const in_message = std::get_if<proto::ShortReply>(&*verdict);
	const auto *const in_chunk = std::get_if<proto::LongReply>(&*verdict);
	/* That it takes none is known from now on. */
	if (std::holds_alternative<proto::ChunksRefused>(*verdict))
		reverse_chunks_.store(proto::ReverseChunks::never);
	if (in_message)
		complete_reverse(xid, in_message->payload, message->fixed.credits);
	else if (in_chunk)
		call->written = in_chunk->length;
	else
		(void)fail_reverse(xid);
	call->credits = message->fixed.credits;
	fence(*call);
	return true;
}

/* The Call goes on waiting: a good Reply may follow, and where none does, sunrpc ends it when its time is over (RFC 8166,
 * 4.5). */
void Connection::discard_reverse_reply(wire::Xid xid, proto::ReplyError reason) noexcept
{
	rpcordma_trace_reverse_reply_unmatched(peer(), static_cast<u32>(xid), name_of(reason));
	rpcordma_log_peer("%pISpc: bad reply to the call 0x%08x: %s", peer(), static_cast<u32>(xid), name_of(reason));
}

/* Which Call has lost memory is unknown. */
void Connection::invalidation_not_offered(wire::Xid xid, const verbs::ReceiveBuffer &buffer) noexcept
{
	u32 handle = 0;
	(void)buffer.invalidated(handle);
	rpcordma_trace_invalidation_not_offered(peer(), static_cast<u32>(xid), handle);
	rpcordma_log_peer("%pISpc: the reply to the call 0x%08x invalidates a handle that it did not offer: 0x%08x",
			  peer(), static_cast<u32>(xid), handle);
	endpoint_->lose("invalidation not offered", "");
}

/* Sees to it that the peer reaches the Call's memory no more. */
void Connection::fence(OfferedCall &call) noexcept
{
	verbs::Chain chain;
	std::uint32_t by_peer = 0;
	call.registrations().for_each([&](verbs::Registration &registration) {
		if (registration.invalidated)
			by_peer++;
		else
			chain.append(registration.invalidate_request());
	});
	endpoint_->sends().release(by_peer);
	if (chain.count == 0)
		return fenced(call);
	/* Where it fails, the connection is being closed, and takes the memory back at its end. */
	(void)endpoint_->sends().post(chain, call);
}

/* In the context of the completion queue. */
void Connection::fenced(OfferedCall &call) noexcept
{
	verbs::Registrations registrations;
	call.take_back(registrations);
	endpoint_->registrations().give_back(registrations);
	if (call.written != 0) {
		const wire::Bytes reply = call.reply();
		if (const auto verdict = proto::payload_is_reply(reply, call.xid))
			complete_reverse(call.xid, reply, call.credits);
		else
			discard_reverse_reply(call.xid, verdict.error());
	}
	{
		kernel::Guard guard(lock_);
		returning_.remove(call);
	}
	delete &call;
}

void Connection::complete_reverse(wire::Xid xid, wire::Bytes reply, std::uint32_t credits) noexcept
{
	rpc_xprt *const xprt = field::svc_xprt::xpt_bc_xprt(this->xprt());
	const auto size = static_cast<unsigned int>(reply.size());
	{
		kernel::KernelGuard guard(field::rpc_xprt::queue_lock(xprt));
		rpc_rqst *const rqst = xprt_lookup_rqst(xprt, __builtin_bswap32(static_cast<u32>(xid)));
		if (!rqst)
			return rpcordma_trace_reverse_reply_unmatched(peer(), static_cast<u32>(xid), "no call");
		xdr_buf &room = field::rpc_rqst::rq_rcv_buf(rqst);
		if (size <= field::xdr_buf::buflen(&room) &&
		    write_bytes_to_xdr_buf(&room, 0, const_cast<std::byte *>(reply.data()), size) == 0) {
			set_window(xprt, std::clamp(credits, 1u, reverse_credits));
			xprt_complete_rqst(field::rpc_rqst::rq_task(rqst), static_cast<int>(size));
			return;
		}
	}
	/* For ever: no other Reply can come (RFC 8166, 6.1). */
	rpcordma_trace_reverse_reply_unmatched(peer(), static_cast<u32>(xid), "too large");
	(void)fail_reverse(xid);
}

/* With EIO: the peer does not take the Call, or there is no room for its Reply. False: nobody waits for a Reply to that. */
bool Connection::fail_reverse(wire::Xid xid) noexcept
{
	rpc_xprt *const xprt = field::svc_xprt::xpt_bc_xprt(this->xprt());
	const proto::FailureReply reply(xid, proto::Failure::unintelligible);
	const wire::Bytes bytes = reply.bytes();
	const auto size = static_cast<unsigned int>(bytes.size());
	kernel::KernelGuard guard(field::rpc_xprt::queue_lock(xprt));
	rpc_rqst *const rqst = xprt_lookup_rqst(xprt, __builtin_bswap32(static_cast<u32>(xid)));
	if (!rqst)
		return false;
	rpc_task *const task = field::rpc_rqst::rq_task(rqst);
	write_bytes_to_xdr_buf(&field::rpc_rqst::rq_rcv_buf(rqst), 0, const_cast<std::byte *>(bytes.data()), size);
	rpcordma_task_ask_once(task);
	xprt_complete_rqst(task, static_cast<int>(size));
	return true;
}

/* Nothing completes any more: the memory of Calls that have no answer comes back. */
void Connection::forget_offered() noexcept
{
	for (auto *const list : {&offered_, &returning_}) {
		while (OfferedCall *const call = list->pop_front()) {
			verbs::Registrations registrations;
			call->take_back(registrations);
			endpoint_->registrations().put_back(registrations);
			delete call;
		}
	}
}

OfferedCall::OfferedCall(Connection &connection, wire::Xid its_xid) noexcept
	: Signal([](verbs::Signal &signal) noexcept {
		auto &call = static_cast<OfferedCall &>(signal);
		call.owner_.fenced(call);
	})
	, xid(its_xid)
	, owner_(connection)
{
}

kernel::Owned<OfferedCall> OfferedCall::make(Connection &connection, wire::Xid xid, const proto::ReversePlan &plan,
					     rpc_rqst *rqst, proto::RegistrationLimits limits,
					     verbs::Registrations &taken, verbs::Chain &chain) noexcept
{
	kernel::Owned<OfferedCall> call(new (kernel::GFP_ATTEMPT) OfferedCall(connection, xid));
	if (!call || call->offer(plan, rqst, limits, taken, chain))
		return call;
	call->take_back(taken);
	return {};
}

bool OfferedCall::offer(const proto::ReversePlan &plan, rpc_rqst *rqst, proto::RegistrationLimits limits,
			verbs::Registrations &taken, verbs::Chain &chain) noexcept
{
	if (plan.is_long) {
		const xdr_buf &call = field::rpc_rqst::rq_snd_buf(rqst);
		call_ = kernel::Block(field::xdr_buf::len(&call), kernel::GFP_ATTEMPT);
		if (!call_ || read_bytes_from_xdr_buf(&call, 0, call_.data(), call_.size()) != 0)
			return false;
		const auto segment = map(call_, verbs::Access::read, limits, taken, chain);
		if (!segment)
			return false;
		read_ = {wire::Position{0}, *segment};
	}
	if (plan.has_reply_chunk) {
		reply_ = kernel::Block(field::rpc_rqst::rq_rcvsize(rqst), kernel::GFP_ATTEMPT);
		if (!reply_)
			return false;
		const auto segment = map(reply_, verbs::Access::write, limits, taken, chain);
		if (!segment)
			return false;
		room_ = *segment;
	}
	return true;
}

std::optional<wire::Segment> OfferedCall::map(const kernel::Block &block, verbs::Access access,
					      proto::RegistrationLimits limits, verbs::Registrations &taken,
					      verbs::Chain &chain) noexcept
{
	const std::array<verbs::Run, 1> run{
		verbs::Run::of_bytes(block.data(), static_cast<std::uint32_t>(block.size()))};
	const proto::MemoryRun &shape = run.front().shape;
	if (shape.pages() > limits.pages)
		return std::nullopt;
	verbs::Registration *const registration = taken.pop_front();
	registrations_.push_back(*registration);
	verbs::PageCursor cursor(run);
	if (registration->map(cursor, {.pages = shape.pages(), .length = shape.length}, access) != verbs::Mapped::yes)
		return std::nullopt;
	chain.append(registration->register_request());
	return registration->segment();
}

bool OfferedCall::mark_invalidated(const verbs::ReceiveBuffer &buffer) noexcept
{
	u32 handle;
	if (!buffer.invalidated(handle))
		return true;
	bool is_ours = false;
	registrations_.for_each([&](verbs::Registration &registration) {
		if (registration.handle() != wire::Handle{handle})
			return;
		registration.invalidated = true;
		is_ours = true;
	});
	return is_ours;
}

void OfferedCall::take_back(verbs::Registrations &to) noexcept
{
	while (verbs::Registration *const registration = registrations_.pop_front()) {
		registration->unmap();
		to.push_back(*registration);
	}
}

} // namespace rpcordma::server

using namespace rpcordma;
using server::Connection;
namespace field = kernel::field;

rpc_xprt *rpcordma_server_reverse_setup(xprt_create *args, const rpcordma_xprt_kind *kind)
{
	return Connection::open_reverse(args, kind);
}

void rpcordma_server_reverse_destroy(rpc_xprt *xprt)
{
	rpcordma_xprt_free(xprt);
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
