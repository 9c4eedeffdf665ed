// SPDX-License-Identifier: GPL-2.0-only
/* The reverse direction: Calls of the responder's on our connection (RFC 8167), such as NFSv4.1's callbacks. Their chunks are
 * read and written, within bounds that the forward direction does not feel. */
#include "client/reverse.hh"

#include <algorithm>

#include "client/transport.hh"
#include "kernel/trace.hh"
#include "kernel/xdr_buf.hh"
#include "proto/response.hh"
#include "proto/reverse.hh"
#include "wire/header.hh"

namespace rpcordma::client {

namespace field = kernel::field;

namespace {

/* How long a service may take to be done with what it was given. */
constexpr unsigned long service_patience = 30 * kernel::HZ;
/* The largest Payload stream of a Call, in bytes: callbacks take a few hundred. */
constexpr std::uint32_t largest_stream = 0x10000;
/* Why a connection is closed on which a Call cannot be answered. */
constexpr const char *no_memory = "no memory for the reverse direction";

void trace_dropped(const Transport &transport, wire::Xid xid, const char *reason)
{
	rpcordma_trace_reverse_call_dropped(transport.peer(), static_cast<u32>(xid), reason);
}

/* Maps the memory of RDMA Reads or Writes. */
bool prepare(Transport &transport, verbs::Transfers &transfers)
{
	/* The kernel's helper allocates as if it might wait for memory, which may take a Reply that comes by this context. */
	const unsigned int scope = rpcordma_reclaim_scope_enter(transport.carries_swap());
	const int error = verbs::prepare(transfers);
	rpcordma_reclaim_scope_leave(scope);
	return error == 0;
}

/* The header of a message that is shorter than any threshold, or that a plan has made fit. */
std::uint32_t size_of(wire::Result<std::size_t> header)
{
	if (!header)
		bug("a reverse reply's header is too long");
	return static_cast<std::uint32_t>(*header);
}

/* Writes PROG_UNAVAIL; returns its size. */
std::uint32_t fill_unserved(const proto::Call &call, std::uint32_t credits, std::span<std::byte> message)
{
	const wire::Front front{call.xid, call.version, credits, wire::Direction::reply, false};
	const std::uint32_t size = size_of(wire::encode(message, front, wire::ReturnedChunks{}));
	const proto::UnservedReply reply = proto::unserved_reply(call.xid);
	__builtin_memcpy(message.subspan(size, reply.size()).data(), reply.data(), reply.size());
	return size + static_cast<std::uint32_t>(reply.size());
}

} // namespace

ReverseResponder::ReverseResponder(Transport &owner) noexcept
	: owner_(owner)
{
	rpc_init_wait_queue(replies_.get(), "reverse replies");
}

ReverseResponder::~ReverseResponder()
{
	rpc_destroy_wait_queue(replies_.get());
	free_.delete_all();
}

std::uint32_t ReverseResponder::begin_connection() noexcept
{
	kernel::Guard guard(lock_);
	awaited_.set(sessions_.read() != 0);
	unanswered_ = 0;
	connection_++;
	return receives();
}

/* A Call beyond the credits that were granted is dropped. Any other is answered, or the connection is closed, which tells the
 * responder that no answer comes (rfc5666bis-04, 5.5.4). */
void ReverseResponder::take(const proto::Call &call, wire::Bytes message) noexcept
{
	ReverseRequest *const request = begin(call.xid, message);
	if (!request)
		return;
	const wire::Chunks &chunks = request->call().chunks;
	if (chunks.any() && sessions_.read() == 0)
		return refuse(*request, Refusal::chunks, "chunks for nobody");
	if (!chunks.reads.empty() && owner_.endpoint().id().reads() == 0)
		return refuse(*request, Refusal::chunks, "no RDMA Reads are offered");
	const auto assembly = proto::Assembly::of(
		request->call(), {.stream = largest_stream,
				  .segments = most_reverse_segments,
				  .room_segments = most_reverse_segments,
				  .reply_threshold = owner_.endpoint().agreement().terms(call.version).thresholds.call,
				  .eligible_only = true,
				  .item_apart = false});
	if (!assembly)
		return refuse(*request, Refusal::chunks, name_of(assembly.error()));
	rpcordma_trace_reverse_call_received(owner_.peer(), static_cast<u32>(call.xid), name_of(assembly->shape()),
					     call.credits, static_cast<u32>(call.payload.size()), chunks.reads.count(),
					     assembly->size());
	request->assembly_ = *assembly;
	if (assembly->shape() == proto::CallShape::in_message)
		return serve(*request);
	pull(*request);
}

void ReverseResponder::take_option(wire::Xid xid, wire::Bytes message) noexcept
{
	ReverseRequest *const request = begin(xid, message);
	if (!request)
		return;
	request->refusal_ = Refusal::option;
	wait_for_room(*request, State::refused);
}

void ReverseResponder::take(const proto::Refused &refused, wire::Bytes message) noexcept
{
	ReverseRequest *const request = begin(refused.xid, message);
	if (!request)
		return;
	if (refused.with == proto::Refusal::option)
		refuse(*request, Refusal::option, "unknown option");
	else
		refuse(*request, Refusal::chunks, "undecodable header");
}

/* It is not served. */
void ReverseResponder::drop(wire::Xid xid, const char *reason) noexcept
{
	trace_dropped(owner_, xid, reason);
	owner_.refused(reason);
}

/* Null where the message is dropped. */
ReverseRequest *ReverseResponder::begin(wire::Xid xid, wire::Bytes message) noexcept
{
	const bool has_credit = take_credit();
	ReverseRequest *const request = has_credit ? hold(message) : nullptr;
	if (!request)
		drop(xid, "credits or memory");
	if (has_credit && !request)
		owner_.give_up(no_memory);
	return request;
}

bool ReverseResponder::take_credit() noexcept
{
	kernel::Guard guard(lock_);
	if (unanswered_ == reverse_credits)
		return false;
	unanswered_++;
	calls_++;
	return true;
}

/* Null where there is no memory: the connection is to be closed, and its credits with it. */
ReverseRequest *ReverseResponder::hold(wire::Bytes message) noexcept
{
	ReverseRequest *request;
	{
		kernel::Guard guard(lock_);
		if (in_use_ == most_reverse_requests)
			return nullptr;
		request = free_.pop_front();
	}
	if (!request)
		request = new (kernel::GFP_ATTEMPT) ReverseRequest(*this);
	if (!request)
		return nullptr;
	const bool is_held = request->hold(message, kernel::GFP_ATTEMPT);
	kernel::Guard guard(lock_);
	in_use_++;
	progress_of(*request) = {State::served, true, connection_};
	if (is_held)
		return request;
	recycle(*request);
	return nullptr;
}

/* Before its answer is sent: the responder may make use of the credit as soon as it has that. */
void ReverseResponder::give_credit_back(ReverseRequest &request) noexcept
{
	Progress &progress = progress_of(request);
	if (std::exchange(progress.holds_credit, false) && progress.connection == connection_)
		unanswered_--;
}

void ReverseResponder::pull(ReverseRequest &request) noexcept
{
	if (!request.make_reads(transfers_, owner_.endpoint()) || !prepare(owner_, request.transfers_)) {
		/* Waiting for memory is not for this context. */
		drop(request.call().xid, "credits or memory");
		keep(request);
		return owner_.give_up(no_memory);
	}
	if (verbs::requests_of(request.transfers_) > owner_.endpoint().sends().longest_chain())
		return refuse(request, Refusal::chunks, "too many segments");
	wait_for_room(request, State::pulling);
}

void ReverseResponder::wait_for_room(ReverseRequest &request, State state) noexcept
{
	{
		kernel::Guard guard(lock_);
		progress_of(request).state = state;
		waiting_.push_back(request);
		waits_.set(true);
	}
	owner_.endpoint().look_later();
	/* room() reads it after there was room, post() looks for room after it was set: one of them posts. */
	kernel::smp_mb();
	post();
}

/* Posts what the send queue has room for now. The rest has its turn when there is more. */
void ReverseResponder::post() noexcept
{
	/* In one with the posting, of refusals too: what sweep() finds no more must not need the connection any more. */
	kernel::Guard guard(lock_);
	while (ReverseRequest *const request = waiting_.front()) {
		verbs::SendQueue &sends = owner_.endpoint().sends();
		const bool is_refused = progress_of(*request).state == State::refused;
		if (!sends.reserve(is_refused ? 1 : verbs::requests_of(request->transfers_)))
			return;
		waiting_.remove(*request);
		if (is_refused) {
			send_refusal(*request);
			recycle(*request);
			continue;
		}
		moving_.push_back(*request);
		const verbs::Chain reads = verbs::chain_of(request->transfers_);
		request->watch(sends, reads);
		/* Where it fails, the connection is being closed: sweep() will come by. */
		(void)sends.post(reads, *request);
	}
	waits_.set(false);
}

/* In the context of the completion queue. */
void ReverseResponder::moved(ReverseRequest &request) noexcept
{
	transfers_.finish(request.transfers_);
	bool is_pulled;
	{
		kernel::Guard guard(lock_);
		moving_.remove(request);
		State &state = progress_of(request).state;
		is_pulled = state == State::pulling;
		if (state == State::released)
			recycle(request);
		else
			state = State::served;
	}
	if (!is_pulled)
		return;
	if (owner_.endpoint().is_lost()) {
		drop(request.call().xid, "connection lost");
		return keep(request);
	}
	serve(request);
}

void ReverseResponder::serve(ReverseRequest &request) noexcept
{
	if (!proto::payload_is_call(request.stream(), request.call().xid))
		return refuse(request, Refusal::chunks, "no call with the XID of the header");
	if (const auto error = request.assembly_.error_in(request.stream()))
		return refuse(request, Refusal::chunks, name_of(*error));
	rpc_rqst *const rqst = request.give(owner_.xprt());
	bool served;
	{
		/* The service does not end while there is a session: see close(). Before Linux 6.19 it does where a mount has
		 * begun a session and then cannot start the service, until that mount has failed: nothing tells us. */
		kernel::Guard guard(lock_);
		served = sessions_.read() != 0 && rpcordma_reverse_enqueue(owner_.xprt(), rqst);
	}
	if (!served)
		refuse(request, Refusal::unserved, "nobody serves it");
}

/* Answers it when there is room for that: it keeps its credit until then, so that few wait. */
void ReverseResponder::refuse(ReverseRequest &request, Refusal refusal, const char *reason) noexcept
{
	drop(request.call().xid, reason);
	transfers_.finish(request.transfers_);
	request.refusal_ = refusal;
	wait_for_room(request, State::refused);
}

/* Changes how long the connection may be idle, which sunrpc reads without a lock. Returns how long it was. */
unsigned long ReverseResponder::let_idle(unsigned long time) noexcept
{
	unsigned long &timeout = field::rpc_xprt::idle_timeout(owner_.xprt());
	const unsigned long before = timeout;
	kernel::write_once(timeout, time);
	return before;
}

/* A responder cannot make a connection: this one stays while it may have something to say (RFC 8167, 5.4). */
void ReverseResponder::open(unsigned int sessions) noexcept
{
	kernel::Guard guard(lock_);
	if (sessions_.read() == 0)
		idle_timeout_ = let_idle(0);
	sessions_.set(sessions_.read() + sessions);
	awaited_.set(true);
}

void ReverseResponder::close(unsigned int sessions) noexcept
{
	kernel::Completion idle;
	{
		kernel::Guard guard(lock_);
		if (sessions_.read() == 0)
			return;
		sessions_.set(sessions_.read() - std::min<unsigned int>(sessions, sessions_.read()));
		if (sessions_.read() != 0)
			return;
		let_idle(idle_timeout_);
		if (in_use_ == 0)
			return;
		idle_ = &idle;
	}
	/* The service still runs, and answers what it was given: at worst when the connection is gone. */
	if (idle.wait(service_patience))
		return;
	kernel::Guard guard(lock_);
	idle_ = nullptr;
}

/* In room that is reserved for it. */
void ReverseResponder::send_refusal(ReverseRequest &request) noexcept
{
	verbs::SendBuffer *const buffer = owner_.endpoint().sends().take(kernel::GFP_ATTEMPT);
	if (!buffer) {
		owner_.endpoint().sends().release(1);
		return owner_.give_up(no_memory);
	}
	const std::uint32_t credits = grant();
	give_credit_back(request);
	answers_++;
	const proto::Call &call = request.call();
	const auto refused = [&](proto::Refusal with) {
		const proto::Refused answered{call.xid, std::to_underlying(call.version), with};
		owner_.tallies().errors_sent.count(name_of(with));
		return size_of(proto::encode_refusal(buffer->bytes(), answered, credits, wire::Version::one));
	};
	std::uint32_t size = 0;
	switch (request.refusal_) {
	case Refusal::chunks:
		size = refused(proto::Refusal::malformed);
		break;
	case Refusal::unserved:
		size = fill_unserved(call, credits, buffer->bytes());
		break;
	case Refusal::option:
		if (const auto &option = request.option())
			size = size_of(proto::answer_option(buffer->bytes(), *option, credits));
		else
			size = refused(proto::Refusal::option);
		break;
	}
	/* Where it fails, the connection is being closed. */
	(void)owner_.endpoint().sends().post(*buffer, size, {}, {});
}

/* sunrpc is done with it. */
void ReverseResponder::keep(ReverseRequest &request) noexcept
{
	kernel::Guard guard(lock_);
	if (State &state = progress_of(request).state; state == State::pushing)
		state = State::released;
	else
		recycle(request);
}

void ReverseResponder::recycle(ReverseRequest &request) noexcept
{
	transfers_.finish(request.transfers_);
	request.moved_ = {};
	give_credit_back(request);
	in_use_--;
	free_.push_front(request);
	if (in_use_ == 0 && idle_)
		std::exchange(idle_, nullptr)->complete();
}

int ReverseResponder::send(rpc_rqst *rqst) noexcept
{
	ReverseRequest &request = ReverseRequest::of(rqst);
	switch (transmit(request, field::rpc_rqst::rq_snd_buf(rqst))) {
	case Sent::yes:
		break;
	case Sent::no_room:
	case Sent::no_memory:
		/* It has no part in what Calls wait for: sunrpc tries again soon. */
		return -kernel::ENOBUFS;
	case Sent::too_large: {
		/* An errno would be taken for that of whichever task sends at the moment. */
		if (!owner_.endpoint().sends().reserve(1))
			return -kernel::ENOBUFS;
		request.refusal_ = Refusal::chunks;
		kernel::Guard guard(lock_);
		send_refusal(request);
		break;
	}
	case Sent::not_connected:
		owner_.connector().close("not sent");
		return -kernel::ENOTCONN;
	}
	return 0;
}

Sent ReverseResponder::transmit(ReverseRequest &request, const xdr_buf &reply) noexcept
{
	const wire::Xid xid = request.call().xid;
	const wire::Chunks &chunks = request.call().chunks;
	const auto fail = [&](const char *reason, Sent as) {
		trace_dropped(owner_, xid, reason);
		return as;
	};
	{
		/* Memory that was offered on another connection is no longer, and nobody waits there. */
		kernel::Guard guard(lock_);
		if (progress_of(request).connection != connection_)
			return fail("connection lost", Sent::yes);
	}
	verbs::Endpoint &endpoint = owner_.endpoint();
	/* A responder that takes no Replies would keep sunrpc's service, and Calls behind this, waiting. */
	endpoint.look_later();
	const std::uint32_t size = field::xdr_buf::len(&reply);
	const wire::Version version = request.call().version;
	const auto plan = proto::plan_reply(size, std::span<const proto::Item>(), chunks, version,
					    endpoint.agreement().terms(version).thresholds.call);
	if (!plan)
		return fail("reply too large", Sent::too_large);
	const bool is_long = plan->transfer == proto::ReplyTransfer::long_reply;
	if (is_long && (!chunks.reply || !request.make_writes(*chunks.reply, reply, transfers_, endpoint) ||
			!prepare(owner_, request.transfers_))) {
		transfers_.finish(request.transfers_);
		return fail("credits or memory", Sent::too_large);
	}
	verbs::SendBuffer *const buffer =
		endpoint.sends().begin(verbs::requests_of(request.transfers_) + 1, kernel::GFP_ATTEMPT);
	if (!buffer) {
		transfers_.finish(request.transfers_);
		return Sent::no_room;
	}
	const wire::ReturnedChunks returned{chunks.writes, {}, chunks.reply, is_long ? size : 0};
	const wire::Front front{xid, version, reverse_credits, wire::Direction::reply, is_long};
	std::uint32_t message_size = size_of(wire::encode(buffer->bytes(), front, returned));
	if (!is_long) {
		kernel::copy_out(reply, 0, buffer->bytes().subspan(message_size, size));
		message_size += size;
	}
	rpcordma_trace_reverse_reply_sent(owner_.peer(), static_cast<u32>(xid), name_of(plan->transfer), size);
	verbs::Chain chain = verbs::chain_of(request.transfers_);
	verbs::SendQueue::SendOptions options;
	if (is_long) {
		request.watch(endpoint.sends(), chain);
		options.watcher = &request;
	}
	kernel::Guard guard(lock_);
	give_credit_back(request);
	answers_++;
	if (is_long) {
		progress_of(request).state = State::pushing;
		moving_.push_back(request);
	}
	return endpoint.sends().post(*buffer, message_size, chain, options) ? Sent::yes : Sent::not_connected;
}

/* The queue pair is drained: nothing is read or written any more. */
void ReverseResponder::sweep() noexcept
{
	kernel::Guard guard(lock_);
	for (auto *const list : {&waiting_, &moving_}) {
		while (ReverseRequest *const request = list->pop_front()) {
			transfers_.finish(request->transfers_);
			if (State &state = progress_of(*request).state; state == State::pushing)
				state = State::served;
			else
				recycle(*request);
		}
	}
}

} // namespace rpcordma::client
