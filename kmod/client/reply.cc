// SPDX-License-Identifier: GPL-2.0-only
/* The way of a Reply: decoded in wire/, judged in proto/, its RPC's memory fenced, its bytes handed to sunrpc. */
#include <variant>

#include "client/transport.hh"
#include "kernel/trace.hh"
#include "wire/header.hh"

namespace rpcordma::client {

namespace field = kernel::field;

namespace {

template <typename... Fs> struct Overloaded : Fs... {
	using Fs::operator()...;
};
template <typename... Fs> Overloaded(Fs...) -> Overloaded<Fs...>;

/* The RPC's memory in which the reply is to appear. */
proto::Stream room_of(const xdr_buf &buffer)
{
	return {.head = static_cast<std::uint32_t>(field::xdr_buf::head_length(&buffer)),
		.pages = field::xdr_buf::page_len(&buffer),
		.tail = static_cast<std::uint32_t>(field::xdr_buf::tail_length(&buffer)),
		.pages_are_ddp_eligible = false};
}

/* Puts an inline Payload stream into a buffer whose pages may have been written already. */
void place(xdr_buf &buffer, wire::Bytes payload, const proto::Placement &placement, std::uint32_t written)
{
	if (written == 0) {
		write_bytes_to_xdr_buf(&buffer, 0, const_cast<std::byte *>(payload.data()),
				       static_cast<unsigned int>(payload.size()));
		return;
	}
	auto *const tail = static_cast<std::byte *>(field::xdr_buf::tail(&buffer));
	__builtin_memcpy(field::xdr_buf::head(&buffer), payload.data(), placement.head);
	__builtin_memset(tail, 0, placement.tail_padding);
	__builtin_memcpy(tail + placement.tail_padding, payload.data() + placement.head, placement.tail);
}

/* Where the parts end once a Write chunk was used: sunrpc decodes by these lengths. */
void reshape(xdr_buf &buffer, const proto::Placement &placement)
{
	field::xdr_buf::head_length(&buffer) = placement.head;
	field::xdr_buf::page_len(&buffer) = placement.pages_filled;
	field::xdr_buf::tail_length(&buffer) = placement.tail_padding + placement.tail;
}

} // namespace

void Transport::received(verbs::ReceiveBuffer &buffer) noexcept
{
	std::visit(Overloaded{
			   [&](const proto::ForCall &message) { reply(message, buffer); },
			   [&](const proto::Call &call) {
				   check_stray_invalidation(buffer);
				   reverse_.take(call, buffer.message());
				   endpoint_->receives().give_back(buffer);
			   },
			   [&](proto::Dropped reason) {
				   check_stray_invalidation(buffer);
				   drop(buffer, reason);
				   endpoint_->receives().give_back(buffer);
			   },
		   },
		   proto::classify_received(buffer.message()));
	keep_receives();
}

void Transport::drop(const verbs::ReceiveBuffer &buffer, proto::Dropped reason) noexcept
{
	const auto size = static_cast<u32>(buffer.message().size());

	statistics_.bad_replies++;
	rpcordma_trace_message_dropped(peer(), size, name_of(reason));
	rpcordma_log_peer("%pISpc: dropped a message of %u bytes: %s", peer(), size, name_of(reason));
}

/* Messages that were not asked for take Receives that replies will need. */
void Transport::keep_receives() noexcept
{
	std::uint32_t needed;
	{
		kernel::Guard guard(lock_);
		needed = in_flight_ + reverse_.receives();
	}
	(void)endpoint_->receives().provide(needed, 0, kernel::GFP_ATTEMPT);
}

void Transport::reply(const proto::ForCall &message, verbs::ReceiveBuffer &buffer) noexcept
{
	rpc_rqst *rqst;
	{
		kernel::KernelGuard guard(field::rpc_xprt::queue_lock(xprt_));
		rqst = xprt_lookup_rqst(xprt_, __builtin_bswap32(static_cast<u32>(message.xid)));
		if (rqst)
			xprt_pin_rqst(rqst);
	}
	if (!rqst)
		return no_call(message, buffer);

	Request &request = Request::of(rqst);
	std::expected<proto::Accepted, proto::ReplyError> verdict;
	auto grant = proto::Grant::usual;
	bool awaited;
	bool is_late;
	bool invalidation_allowed = true;
	bool advertising;
	{
		kernel::Guard guard(lock_);
		is_late = request.state_ == Request::State::withdrawn;
		awaited = request.state_ == Request::State::sent && request.connection_ == connection_;
		advertising = request.memory_ == Request::Memory::advertised;
		if (awaited) {
			verdict = proto::accept_reply(message.body, message.xid, request.offer());
			invalidation_allowed = mark_invalidated(request, buffer);
			if (verdict)
				grant = replied(request, *verdict, message, buffer);
		}
	}
	if (!awaited) {
		check_stray_invalidation(buffer);
		rpcordma_trace_reply_unmatched(peer(), static_cast<u32>(message.xid), "no reply awaited");
		if (!is_late) {
			statistics_.bad_replies++;
			rpcordma_log_peer("%pISpc: a second reply to the call 0x%08x", peer(),
					  static_cast<u32>(message.xid));
		}
		return let_go(rqst, buffer);
	}
	if (!invalidation_allowed) [[unlikely]]
		invalidation_not_offered(message.xid, buffer);
	if (!verdict) [[unlikely]] {
		discard(message.xid, verdict.error());
		return let_go(rqst, buffer);
	}
	if (grant != proto::Grant::usual) [[unlikely]]
		unusual_grant(message, grant);
	if (!useful_.load()) [[unlikely]]
		useful();
	trace_accepted(message, *verdict);
	if (!advertising)
		return finish(request);

	bool is_fenced;
	{
		kernel::Guard guard(lock_);
		is_fenced = invalidate(request);
	}
	if (is_fenced)
		invalidated(request);
}

void Transport::unusual_grant(const proto::ForCall &message, proto::Grant grant) noexcept
{
	if (grant == proto::Grant::zero)
		statistics_.bad_replies++;
	rpcordma_trace_unusual_grant(peer(), static_cast<u32>(message.xid), message.credits, endpoint_->credits(),
				     name_of(grant));
}

/* From here on nobody else touches the request. */
proto::Grant Transport::replied(Request &request, const proto::Accepted &accepted, const proto::ForCall &message,
				verbs::ReceiveBuffer &buffer) noexcept
{
	request.state_ = Request::State::replied;
	request.reply_ = &buffer;
	request.verdict_ = accepted;
	const std::optional<std::uint32_t> credits = proto::grant_of(message);
	return credits ? credits_.granted(*credits) : proto::Grant::usual;
}

/* The call goes on waiting: a good Reply may follow, and where none does, the call is sent again when its time is over, on
 * a new connection (RFC 8166, 4.5). */
void Transport::discard(wire::Xid xid, proto::ReplyError reason) noexcept
{
	statistics_.bad_replies++;
	bad_reply(xid, name_of(reason));
}

void Transport::trace_accepted(const proto::ForCall &message, const proto::Accepted &accepted) noexcept
{
	const auto xid = static_cast<u32>(message.xid);
	const auto short_reply = [&](const proto::ShortReply &reply) {
		rpcordma_trace_reply_received(peer(), xid, "RDMA_MSG", message.credits,
					      static_cast<u32>(reply.payload.size()), reply.written);
	};
	const auto long_reply = [&](const proto::LongReply &reply) {
		rpcordma_trace_reply_received(peer(), xid, "RDMA_NOMSG", message.credits, 0, reply.length);
	};
	const auto version_refused = [&](const proto::VersionRefused &range) {
		rpcordma_trace_error_received(peer(), xid, "ERR_VERS", range.low, range.high);
		rpcordma_log_peer("%pISpc: ERR_VERS for the call 0x%08x: the server takes versions %u to %u; use "
				  "proto=tcp",
				  peer(), xid, range.low, range.high);
	};
	const auto chunks_refused = [&](const proto::ChunksRefused &) {
		rpcordma_trace_error_received(peer(), xid, "ERR_CHUNK", 0, 0);
		rpcordma_log_peer("%pISpc: ERR_CHUNK for the call 0x%08x: is the server out of memory, or its largest "
				  "payload below rsize or wsize?",
				  peer(), xid);
	};
	std::visit(Overloaded{short_reply, long_reply, version_refused, chunks_refused}, accepted);
}

void Transport::bad_reply(wire::Xid xid, const char *reason) noexcept
{
	rpcordma_trace_reply_refused(peer(), static_cast<u32>(xid), reason);
	rpcordma_log_peer("%pISpc: bad reply to the call 0x%08x: %s", peer(), static_cast<u32>(xid), reason);
}

void Transport::let_go(rpc_rqst *rqst, verbs::ReceiveBuffer &buffer) noexcept
{
	{
		kernel::KernelGuard guard(field::rpc_xprt::queue_lock(xprt_));
		xprt_unpin_rqst(rqst);
	}
	endpoint_->receives().give_back(buffer);
}

void Transport::no_call(const proto::ForCall &message, verbs::ReceiveBuffer &buffer) noexcept
{
	rpcordma_trace_reply_unmatched(peer(), static_cast<u32>(message.xid), "unknown XID");
	check_stray_invalidation(buffer);
	{
		kernel::Guard guard(lock_);
		if (abandoned_ != 0) {
			abandoned_--;
			in_flight_--;
		} else if (unclaimed_ < in_flight_) {
			unclaimed_++;
		}
	}
	endpoint_->receives().give_back(buffer);
	room();
}

/* Marks what the peer has invalidated, besides what it had before. False: it was not the peer's to invalidate, and which RPC
 * has lost memory is unknown. A responder may do so only where both peers set the R field (RFC 8797, 4.1); Linux's does
 * where we alone set it, and all our handles may be invalidated, so that is let pass. */
bool Transport::mark_invalidated(Request &request, const verbs::ReceiveBuffer &buffer) noexcept
{
	u32 invalidated;
	if (!buffer.invalidated(invalidated))
		return true;
	std::array<wire::Handle, 2 * Request::most_segments> offered;
	std::uint32_t count = 0;
	const auto mark = [&](verbs::Registration &registration) {
		offered[count++] = registration.handle();
		registration.invalidated |= registration.handle() == wire::Handle{invalidated};
	};
	request.reads_.for_each(mark);
	request.room_.for_each(mark);
	return proto::may_be_invalidated(wire::Handle{invalidated}, std::span(offered).first(count));
}

void Transport::invalidation_not_offered(wire::Xid xid, const verbs::ReceiveBuffer &buffer) noexcept
{
	u32 invalidated = 0;
	(void)buffer.invalidated(invalidated);
	statistics_.bad_replies++;
	rpcordma_trace_invalidation_not_offered(peer(), static_cast<u32>(xid), invalidated);
	rpcordma_log_peer("%pISpc: the reply to the call 0x%08x invalidates a handle that it did not offer: 0x%08x",
			  peer(), static_cast<u32>(xid), invalidated);
	give_up("invalidation not offered");
}

/* A message that is no reply to a waiting call has nothing to invalidate, unless the call was killed, or its memory is being
 * taken back: then the handle is nobody's (RFC 8797, 4.1). Where it is another call's, that has lost memory. */
void Transport::check_stray_invalidation(const verbs::ReceiveBuffer &buffer) noexcept
{
	u32 invalidated;
	if (!buffer.invalidated(invalidated) || !is_in_use(wire::Handle{invalidated}))
		return;
	rpcordma_trace_invalidation_not_offered(peer(), 0, invalidated);
	rpcordma_log_peer("%pISpc: a message that answers no call invalidates a handle: 0x%08x", peer(), invalidated);
	give_up("invalidation not offered");
}

bool Transport::is_in_use(wire::Handle handle) noexcept
{
	bool found = false;
	const auto compare = [&](const verbs::Registration &registration) {
		found = found || registration.handle() == handle;
	};
	kernel::Guard guard(lock_);
	advertising_.for_each([&](Request &request) {
		if (request.memory_ != Request::Memory::advertised)
			return;
		request.reads_.for_each(compare);
		request.room_.for_each(compare);
	});
	return found;
}

/* Sees to the invalidation of all that the peer has not invalidated. */
bool Transport::invalidate(Request &request) noexcept
{
	verbs::Chain chain;
	std::uint32_t invalidated = 0;
	const auto append = [&](verbs::Registration &registration) {
		if (registration.invalidated)
			invalidated++;
		else
			chain.append(registration.invalidate_request());
	};
	request.reads_.for_each(append);
	request.room_.for_each(append);

	endpoint_->sends().release(invalidated);
	if (chain.count == 0) {
		request.memory_ = Request::Memory::returning;
		return true;
	}
	if (endpoint_->sends().post(chain, request)) {
		request.memory_ = Request::Memory::returning;
		statistics_.local_invalidations += chain.count;
	}
	return false;
}

void Transport::invalidated(Request &request) noexcept
{
	trace_invalidated(request, "requester");
	give_back_memory(request);
	bool is_replied;
	{
		kernel::Guard guard(lock_);
		advertising_.remove(request);
		is_replied = request.state_ == Request::State::replied;
		memory_is_back(request);
	}
	if (is_replied)
		finish(request);
}

/* `by` is who invalidated what the responder did not. */
void Transport::trace_invalidated(Request &request, const char *by) noexcept
{
	if (!rpcordma_traces_segments())
		return;
	const auto xid = static_cast<u32>(xid_of(request.rqst_));
	const auto trace = [&](const verbs::Registration &registration) {
		rpcordma_trace_segment_invalidated(peer(), xid, static_cast<u32>(registration.handle()),
						   registration.invalidated ? "responder" : by);
	};
	request.reads_.for_each(trace);
	request.room_.for_each(trace);
}

void Transport::give_back_memory(Request &request) noexcept
{
	const auto unmap = [](verbs::Registration &registration) { registration.unmap(); };
	request.reads_.for_each(unmap);
	request.room_.for_each(unmap);
	endpoint_->registrations().give_back(request.reads_);
	endpoint_->registrations().give_back(request.room_);
}

void Transport::memory_is_back(Request &request) noexcept
{
	request.memory_ = Request::Memory::none;
	if (request.sleeper_)
		rpc_wake_up_queued_task(fences_.get(), request.sleeper_);
	if (request.fenced_)
		std::exchange(request.fenced_, nullptr)->complete();
}

void Transport::finish(Request &request) noexcept
{
	rpc_rqst *const rqst = request.rqst_;
	rpc_task *const task = field::rpc_rqst::rq_task(rqst);
	const std::expected<int, proto::ReplyError> taken = take_reply(request);
	verbs::ReceiveBuffer &buffer = *std::exchange(request.reply_, nullptr);
	if (!taken) [[unlikely]] {
		discard(xid_of(rqst), taken.error());
		await_another(request);
		return let_go(rqst, buffer);
	}
	const bool failed = *taken < 0;
	const int status = failed ? say_failed(rqst, *taken) : *taken;

	endpoint_->receives().give_back(buffer);
	{
		kernel::Guard guard(lock_);
		request.state_ = Request::State::idle;
		in_flight_--;
	}
	{
		kernel::KernelGuard guard(field::rpc_xprt::queue_lock(xprt_));
		if (failed) {
			statistics_.bad_replies++;
			rpcordma_task_ask_once(task);
		}
		xprt_complete_rqst(task, status);
		xprt_unpin_rqst(rqst);
	}
	/* Neither the request nor the RPC is ours any more. */
	room();
}

/* The memory that the Reply was found in is no longer offered. */
void Transport::await_another(Request &request) noexcept
{
	kernel::Guard guard(lock_);
	request.read_count_ = 0;
	request.room_count_ = 0;
	request.room_kind_ = proto::ReplyRoom::inline_message;
	request.state_ = Request::State::sent;
}

/* Returns the size of a Reply that sunrpc decodes to that error. In tk_status it could be lost: the task that sends the
 * Call clears that once the Call is out, and the RPC would be sent again. */
int Transport::say_failed(rpc_rqst *rqst, int error) noexcept
{
	const proto::FailureReply reply(xid_of(rqst), error == -kernel::EPROTONOSUPPORT ?
							      proto::Failure::version_denied :
							      proto::Failure::unintelligible);
	const wire::Bytes bytes = reply.bytes();
	write_bytes_to_xdr_buf(&field::rpc_rqst::rq_rcv_buf(rqst), 0, const_cast<std::byte *>(bytes.data()),
			       static_cast<unsigned int>(bytes.size()));
	return static_cast<int>(bytes.size());
}

/* Brings the reply to where sunrpc decodes it. The RPC's memory is out of the peer's reach. Returns the size of the
 * reply, or what the RPC fails with; or why it is none, of what can be seen only now. A Reply that is reduced otherwise
 * than it could have been fails the RPC where there is no room for it (RFC 8166, 6.1). */
std::expected<int, proto::ReplyError> Transport::take_reply(Request &request) noexcept
{
	using Taken = std::expected<int, proto::ReplyError>;
	xdr_buf &buffer = field::rpc_rqst::rq_rcv_buf(request.rqst_);
	const wire::Xid xid = xid_of(request.rqst_);
	const auto short_reply = [&](const proto::ShortReply &reply) -> Taken {
		const auto size = static_cast<std::uint32_t>(reply.payload.size());
		const auto placement = proto::place_reply(room_of(buffer), size, reply.written);
		if (!placement) {
			bad_reply(xid, name_of(placement.error()));
			return -kernel::EIO;
		}
		place(buffer, reply.payload, *placement, reply.written);
		if (reply.written != 0) {
			reshape(buffer, *placement);
			reshape(field::rpc_rqst::rq_private_buf(request.rqst_), *placement);
		}
		statistics_.reply_bytes += reply.written;
		statistics_.fixed_up += size;
		/* sunrpc takes nothing but whole XDR units, though the padding of a reduced item may have no room. */
		const std::uint32_t whole = placement->size();
		return static_cast<int>(reply.written != 0 ? whole + wire::roundup_padding(whole) : whole);
	};
	const auto long_reply = [&](const proto::LongReply &reply) -> Taken {
		std::array<std::byte, proto::smallest_rpc_reply> start;
		if (read_bytes_from_xdr_buf(&buffer, 0, start.data(), start.size()) != 0)
			return std::unexpected(proto::ReplyError::payload_too_short);
		TRY(proto::payload_is_reply(start, xid));
		statistics_.reply_bytes += reply.length;
		return static_cast<int>(reply.length);
	};

	return std::visit(Overloaded{
				  short_reply,
				  long_reply,
				  [](const proto::VersionRefused &) -> Taken { return -kernel::EPROTONOSUPPORT; },
				  [](const proto::ChunksRefused &) -> Taken { return -kernel::EIO; },
			  },
			  request.verdict_);
}

} // namespace rpcordma::client
