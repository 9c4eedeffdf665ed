// SPDX-License-Identifier: GPL-2.0-only
/* The way of a Call: planned in proto/, its memory registered, its header encoded, all posted as one chain. */
#include <algorithm>
#include <optional>

#include "client/transport.hh"
#include "kernel/trace.hh"
#include "proto/segmenting.hh"
#include "wire/header.hh"

namespace rpcordma::client {

namespace field = kernel::field;
using proto::CallTransfer;
using proto::ReplyRoom;
using verbs::Run;

/* Seconds for an invalidation: where a peer takes nothing that is ahead of it in the queue, only closing the connection
 * brings the memory back. */
constexpr unsigned long fence_patience = 15;

/* Head, pages and tail. */
struct Runs {
	std::array<Run, 3> all;

	explicit Runs(const xdr_buf &buffer)
		: all{Run::of_bytes(field::xdr_buf::head(&buffer),
				    static_cast<std::uint32_t>(field::xdr_buf::head_length(&buffer))),
		      Run::of_pages(field::xdr_buf::pages(&buffer), field::xdr_buf::page_base(&buffer),
				    field::xdr_buf::page_len(&buffer)),
		      Run::of_bytes(field::xdr_buf::tail(&buffer),
				    static_cast<std::uint32_t>(field::xdr_buf::tail_length(&buffer)))}
	{
	}

	[[nodiscard]] std::span<const Run> whole() const
	{
		return all;
	}
	[[nodiscard]] std::span<const Run> pages() const
	{
		return std::span(all).subspan(1, 1);
	}
};

namespace {

proto::Stream stream_of(const xdr_buf &buffer, unsigned int eligible)
{
	const bool ddp_eligible = (field::xdr_buf::flags(&buffer) & eligible) != 0;
	return {.head = static_cast<std::uint32_t>(field::xdr_buf::head_length(&buffer)),
		.pages = field::xdr_buf::page_len(&buffer),
		.tail = static_cast<std::uint32_t>(field::xdr_buf::tail_length(&buffer)),
		.pages_are_ddp_eligible = ddp_eligible};
}

/* The same runs, as the decisions see them. */
struct Shapes {
	std::array<proto::MemoryRun, 3> all{};
	std::size_t count;

	explicit Shapes(std::span<const Run> runs)
		: count(runs.size())
	{
		std::transform(runs.begin(), runs.end(), all.begin(), [](const Run &run) { return run.shape; });
	}
	[[nodiscard]] std::span<const proto::MemoryRun> span() const
	{
		return std::span(all).first(count);
	}
};

proto::SegmentCounts count_segments(const Runs &runs, proto::RegistrationLimits limits)
{
	const Shapes shapes(runs.whole());
	return {.pages = proto::segments_needed(shapes.span().subspan(1, 1), limits),
		.whole = proto::segments_needed(shapes.span(), limits)};
}

/* Registers runs with registrations taken before, and appends their work requests to the chain. */
verbs::Mapped register_runs(std::span<const Run> runs, proto::RegistrationLimits limits, verbs::Access access,
			    verbs::Registrations &taken, verbs::Registrations &used, verbs::Chain &chain)
{
	const Shapes shapes(runs);
	proto::Segmenter segmenter(shapes.span(), limits);
	verbs::PageCursor cursor(runs);

	while (const auto piece = segmenter.next()) {
		verbs::Registration *const registration = taken.pop_front();
		used.push_back(*registration);
		if (const verbs::Mapped mapped = registration->map(cursor, *piece, access);
		    mapped != verbs::Mapped::yes)
			return mapped;
		chain.append(registration->register_request());
	}
	return verbs::Mapped::yes;
}

proto::Reduction reduction_for(const rpc_rqst *rqst)
{
	const rpc_auth *const auth = field::rpc_cred::cr_auth(field::rpc_rqst::rq_cred(rqst));
	return (field::rpc_auth::au_flags(auth) >> kernel::RPCAUTH_AUTH_DATATOUCH & 1) != 0 ?
		       proto::Reduction::forbidden :
		       proto::Reduction::allowed;
}

/* The callback of a task that slept for its memory. */
void sleep_is_over(rpc_task *task)
{
	Transport::of(field::rpc_task::tk_rqstp(task)).fenced(task);
}

} // namespace

int Transport::send(rpc_rqst *rqst) noexcept
{
	if (!rpcordma_xprt_connected(xprt_))
		return -kernel::ENOTCONN;
	/* What has no buffer of ours is a Reply of the reverse direction. */
	if (!field::rpc_rqst::rq_buffer(rqst))
		return reverse_.send(rqst);
	/* A Call that is sent again on the same connection would take a second credit for one reply. */
	if (field::rpc_rqst::rq_connect_cookie(rqst) == field::rpc_xprt::connect_cookie(xprt_)) {
		rpcordma_trace_disconnect(peer(), "retransmission", "");
		close();
		return -kernel::ENOTCONN;
	}

	const std::uint32_t seen = room_events_.load();
	switch (transmit(Request::of(rqst), rqst)) {
	case Sent::yes:
		break;
	case Sent::no_room:
		return wait_for_room(seen);
	case Sent::no_memory:
		return -kernel::ENOBUFS;
	case Sent::too_large:
		return fail_unsent(rqst);
	case Sent::not_connected:
		close();
		return -kernel::ENOTCONN;
	}
	field::rpc_rqst::rq_xmit_bytes_sent(rqst) += field::xdr_buf::len(&field::rpc_rqst::rq_snd_buf(rqst));
	/* No reply, no credit back: only a new connection makes up for that. */
	if (!rpcordma_reply_expected(field::rpc_rqst::rq_task(rqst)))
		give_up("call without a reply");
	return 0;
}

/* By a Reply: sunrpc may have sent this Call for another task, which would get an error that is returned, and the Call
 * would stay at the head of the queue. */
int Transport::fail_unsent(rpc_rqst *rqst) noexcept
{
	rpc_task *const task = field::rpc_rqst::rq_task(rqst);
	statistics_.failed_marshal++;
	if (!rpcordma_reply_expected(task))
		return -kernel::EIO;
	kernel::KernelGuard guard(field::rpc_xprt::queue_lock(xprt_));
	/* Else it has been killed meanwhile. */
	if (xprt_lookup_rqst(xprt_, field::rpc_rqst::rq_xid(rqst)) == rqst) {
		const int size = say_failed(rqst, -kernel::EIO);
		rpcordma_task_ask_once(task);
		xprt_complete_rqst(task, size);
	}
	return 0;
}

/* `seen` is the number of room events before the attempt: one since then may have been what it waited for. */
int Transport::wait_for_room(std::uint32_t seen) noexcept
{
	statistics_.no_send_room++;
	xprt_wait_for_buffer_space(xprt_);
	if (room_events_.load() != seen)
		xprt_write_space(xprt_);
	return -kernel::EAGAIN;
}

/* For now: the Call is tried again. */
Sent Transport::held(const rpc_rqst *rqst, const char *reason, Sent result) noexcept
{
	rpcordma_trace_call_held(peer(), static_cast<u32>(xid_of(rqst)), reason);
	return result;
}

void Transport::room() noexcept
{
	room_events_.fetch_add(1);
	xprt_write_space(xprt_);
	reverse_.room();
}

Sent Transport::transmit(Request &request, rpc_rqst *rqst) noexcept
{
	if (const auto obstacle = prepare(rqst))
		return *obstacle;
	const Runs call(field::rpc_rqst::rq_snd_buf(rqst));
	const Runs reply(field::rpc_rqst::rq_rcv_buf(rqst));
	const auto plan = plan_call(rqst, call, reply);
	if (!plan)
		return Sent::too_large;

	verbs::Endpoint &endpoint = *endpoint_;
	const std::uint32_t segments = plan->read_segments + plan->room_segments;
	/* A registration, an invalidation for each, and the Send. */
	const std::uint32_t requests = 2 * segments + 1;
	verbs::Registrations taken;
	if (!endpoint.registrations().take(segments, taken))
		return held(rqst, "registrations", Sent::no_room);
	/* What a Call holds here until its Reply comes must not be in the way of what the responder wants before. */
	verbs::SendBuffer *const buffer = endpoint.sends().begin(requests, kernel::GFP_ATTEMPT, reverse_credits);
	if (!buffer) {
		endpoint.registrations().put_back(taken);
		return held(rqst, "send queue", Sent::no_room);
	}
	request.rqst_ = rqst;
	verbs::Chain chain;
	const verbs::Mapped mapped = advertise(request, call, reply, *plan, taken, chain);
	if (mapped != verbs::Mapped::yes) {
		endpoint.sends().abandon(*buffer, requests);
		endpoint.registrations().put_back(taken);
		give_back_memory(request);
		if (mapped == verbs::Mapped::not_now)
			return held(rqst, "mapping", Sent::no_memory);
		rpcordma_trace_call_impossible(peer(), static_cast<u32>(xid_of(rqst)), "mapping");
		return Sent::too_large;
	}
	if (rpcordma_traces_segments())
		trace_advertised(request, rqst, *plan);
	const std::uint32_t size = fill(request, rqst, *plan, buffer->bytes());

	count(request, *plan);
	field::rpc_rqst::rq_xtime(rqst) = ktime_get();
	rpcordma_trace_call_sent(peer(), static_cast<u32>(xid_of(rqst)), size, segments,
				 static_cast<u32>(field::rpc_rqst::rq_ntrans(rqst)));
	return post(request, *buffer, size, chain) ? Sent::yes : Sent::not_connected;
}

/* A credit, a Receive for the Reply, and pages for what it brings. Returns what the Call has to wait for. */
std::optional<Sent> Transport::prepare(rpc_rqst *rqst) noexcept
{
	std::uint32_t receives;
	{
		kernel::Guard guard(lock_);
		if (in_flight_ >= credits_.limit()) {
			/* Nobody waits for a reply, so no timer will find out that none comes. */
			if (abandoned_ == in_flight_)
				give_up("credits held by abandoned calls");
			return held(rqst, "credits", Sent::no_room);
		}
		receives = in_flight_ + 1 + reverse_.receives();
	}
	if (endpoint_->receives().provide(receives, verbs::receive_batch, kernel::GFP_ATTEMPT) < receives)
		return held(rqst, "receives", Sent::no_memory);
	xdr_buf &reply = field::rpc_rqst::rq_rcv_buf(rqst);
	if ((field::xdr_buf::flags(&reply) & kernel::XDRBUF_SPARSE_PAGES) != 0 &&
	    rpcordma_fill_sparse_pages(&reply) != 0)
		return held(rqst, "pages", Sent::no_memory);
	return std::nullopt;
}

/* Nothing: it can never be sent. */
std::optional<proto::Plan> Transport::plan_call(const rpc_rqst *rqst, const Runs &call, const Runs &reply) noexcept
{
	const auto xid = static_cast<u32>(xid_of(rqst));
	const auto impossible = [&](const char *reason) {
		rpcordma_trace_call_impossible(peer(), xid, reason);
		return std::nullopt;
	};
	const proto::RegistrationLimits limits = endpoint_->registrations().limits();
	const auto plan = proto::plan_transfer(stream_of(field::rpc_rqst::rq_snd_buf(rqst), kernel::XDRBUF_WRITE),
					       count_segments(call, limits),
					       stream_of(field::rpc_rqst::rq_rcv_buf(rqst), kernel::XDRBUF_READ),
					       count_segments(reply, limits), endpoint_->agreement().inline_thresholds,
					       reduction_for(rqst));
	if (!plan)
		return impossible(name_of(plan.error()));
	const std::uint32_t reads = plan->read_segments;
	const std::uint32_t room = plan->room_segments;
	if (reads > Request::most_segments || room > Request::most_segments ||
	    reads + room > endpoint_->most_segments())
		return impossible("too many segments");
	rpcordma_trace_call_planned(peer(), xid, name_of(plan->call), name_of(plan->reply), plan->header_size,
				    plan->inline_size, reads, room);
	return *plan;
}

bool Transport::post(Request &request, verbs::SendBuffer &buffer, std::uint32_t size,
		     const verbs::Chain &chain) noexcept
{
	/* In one with the posting: a peer that guesses XIDs must not be answered before its turn. */
	kernel::Guard guard(lock_);
	request.state_ = Request::State::sent;
	request.connection_ = connection_;
	in_flight_++;
	if (request.read_count_ + request.room_count_ != 0) {
		request.memory_ = Request::Memory::advertised;
		advertising_.push_back(request);
	}
	return endpoint_->sends().post(buffer, size, chain, {});
}

verbs::Mapped Transport::advertise(Request &request, const Runs &call, const Runs &reply, const proto::Plan &plan,
				   verbs::Registrations &taken, verbs::Chain &chain) noexcept
{
	const proto::RegistrationLimits limits = endpoint_->registrations().limits();

	request.read_count_ = 0;
	request.room_count_ = 0;
	request.room_kind_ = plan.reply;
	if (plan.call != CallTransfer::inline_message) {
		const bool reduced = plan.call == CallTransfer::read_chunk;
		const verbs::Mapped mapped = register_runs(reduced ? call.pages() : call.whole(), limits,
							   verbs::Access::read, taken, request.reads_, chain);
		if (mapped != verbs::Mapped::yes)
			return mapped;
		const auto position =
			wire::Position{reduced ? static_cast<std::uint32_t>(call.all[0].shape.length) : 0};
		request.reads_.for_each([&](const verbs::Registration &registration) {
			request.read_segments_[request.read_count_++] = {position, registration.segment()};
		});
	}
	if (plan.reply != ReplyRoom::inline_message) {
		const verbs::Mapped mapped =
			register_runs(plan.reply == ReplyRoom::write_chunk ? reply.pages() : reply.whole(), limits,
				      verbs::Access::write, taken, request.room_, chain);
		if (mapped != verbs::Mapped::yes)
			return mapped;
		request.room_.for_each([&](const verbs::Registration &registration) {
			request.room_segments_[request.room_count_++] = registration.segment();
		});
	}
	return verbs::Mapped::yes;
}

/* Writes the header and what of the Payload stream follows it; returns the size of both. */
std::uint32_t Transport::fill(Request &request, rpc_rqst *rqst, const proto::Plan &plan,
			      std::span<std::byte> message) noexcept
{
	const xdr_buf &call = field::rpc_rqst::rq_snd_buf(rqst);
	const wire::ChunksToSend chunks = request.chunks();
	const std::uint32_t credits = endpoint_->credits();
	const auto size = plan.call == CallTransfer::position_zero ?
				  wire::encode_nomsg(message, xid_of(rqst), credits, chunks) :
				  wire::encode_msg(message, xid_of(rqst), credits, chunks);
	if (!size || *size != plan.header_size)
		bug("the plan's header size");

	std::byte *const payload = message.data() + plan.header_size;
	switch (plan.call) {
	case CallTransfer::inline_message:
		read_bytes_from_xdr_buf(&call, 0, payload, plan.inline_size);
		break;
	case CallTransfer::read_chunk: {
		const auto head = static_cast<std::uint32_t>(field::xdr_buf::head_length(&call));
		const std::uint32_t tail = plan.inline_size - head;
		__builtin_memcpy(payload, field::xdr_buf::head(&call), head);
		__builtin_memcpy(payload + head,
				 static_cast<const std::byte *>(field::xdr_buf::tail(&call)) + plan.tail_skip, tail);
		break;
	}
	case CallTransfer::position_zero:
		break;
	}
	return plan.header_size + plan.inline_size;
}

void Transport::trace_advertised(const Request &request, const rpc_rqst *rqst, const proto::Plan &plan) noexcept
{
	const auto trace = [&](const char *chunk, u32 position, const wire::Segment &segment) {
		rpcordma_trace_segment_advertised(peer(), static_cast<u32>(xid_of(rqst)), chunk, position,
						  segment.length, segment.offset, static_cast<u32>(segment.handle));
	};
	for (const wire::ReadSegment &segment : std::span(request.read_segments_).first(request.read_count_))
		trace(name_of(plan.call), static_cast<u32>(segment.position), segment.target);
	for (const wire::Segment &segment : std::span(request.room_segments_).first(request.room_count_))
		trace(name_of(plan.reply), 0, segment);
}

void Transport::count(const Request &request, const proto::Plan &plan) noexcept
{
	statistics_.read_chunks += request.read_count_;
	/* As the in-tree module counts: the room that is offered, not what Read chunks hold. */
	for (const wire::Segment &segment : std::span(request.room_segments_).first(request.room_count_))
		statistics_.request_bytes += segment.length;
	(plan.reply == ReplyRoom::write_chunk ? statistics_.write_chunks : statistics_.reply_chunks) +=
		request.room_count_;
	if (plan.call == CallTransfer::position_zero)
		statistics_.nomsg_calls++;
	statistics_.pulled_up += plan.inline_size;
}

int Transport::allocate(rpc_rqst *rqst) noexcept
{
	const std::size_t call_size = field::rpc_rqst::rq_callsize(rqst);
	const std::size_t reply_size = field::rpc_rqst::rq_rcvsize(rqst);
	const gfp_t gfp = rpc_task_gfp_mask();
	Request *request;
	{
		kernel::Guard guard(lock_);
		request = free_.pop_front();
	}
	if (!request)
		request = new (gfp) Request(*this);
	if (!request)
		return -kernel::ENOMEM;
	if (!request->reserve(call_size, reply_size, gfp)) {
		kernel::Guard guard(lock_);
		free_.push_front(*request);
		return -kernel::ENOMEM;
	}
	field::rpc_rqst::rq_buffer(rqst) = request->call_buffer();
	field::rpc_rqst::rq_rbuffer(rqst) = request->reply_buffer(call_size);
	return 0;
}

void Transport::release(rpc_rqst *rqst) noexcept
{
	Request &request = Request::of(rqst);

	fence(request);
	request.trim();
	{
		kernel::Guard guard(lock_);
		abandon(request);
		free_.push_front(request);
	}
	/* For who waits for a credit, and may have to see that none comes back. */
	room();
}

/* The responder still owes a reply to a call that nobody waits for any more, and with it the credit. */
void Transport::abandon(Request &request) noexcept
{
	if (request.state_ != Request::State::sent && request.state_ != Request::State::withdrawn)
		return;
	request.state_ = Request::State::idle;
	if (request.connection_ != connection_)
		return;
	if (unclaimed_ != 0) {
		unclaimed_--;
		in_flight_--;
	} else {
		abandoned_++;
	}
}

/* sunrpc encodes the Call anew, perhaps before the old connection is gone: the memory has to be out of the responder's
 * reach first. The task sleeps until then: many that waited on sunrpc's workqueue would stop those of other transports, and
 * those that this transport's end depends on. */
void Transport::unanswered(rpc_rqst *rqst, bool timed_out) noexcept
{
	Request &request = Request::of(rqst);
	if (begin_sleep(request, timed_out) == Fence::due)
		invalidated(request);
}

Transport::Fence Transport::begin_sleep(Request &request, bool timed_out) noexcept
{
	kernel::Guard guard(lock_);
	/* RDMA has no keep-alive: only a new connection shows whether the responder is there. A Reply that came, and that
	 * sunrpc could not verify, has used the Call up: it has to be sent again as well. */
	if (timed_out && request.state_ != Request::State::replied && request.connection_ == connection_)
		give_up("no reply in time");
	const Fence fence = begin_fence(request);
	if (fence == Fence::none) {
		abandon(request);
		return fence;
	}
	rpc_task *const task = field::rpc_rqst::rq_task(request.rqst_);
	request.sleeper_ = task;
	request.status_ = field::rpc_task::tk_status(task);
	rpc_sleep_on_timeout(fences_.get(), task, sleep_is_over, rpcordma_jiffies() + fence_patience * kernel::HZ);
	return fence;
}

void Transport::fenced(rpc_task *task) noexcept
{
	Request &request = Request::of(field::rpc_task::tk_rqstp(task));
	kernel::Guard guard(lock_);
	const bool is_killed = field::rpc_task::tk_rpc_status(task) != 0;
	if (request.memory_ != Request::Memory::none && !is_killed) {
		if (request.connection_ == connection_)
			give_up("no invalidation in time");
		/* Certain to be woken now: the queue pair is drained. */
		rpc_sleep_on(fences_.get(), task, sleep_is_over);
		return;
	}
	request.sleeper_ = nullptr;
	/* Nothing is encoded any more, and release() sees to the rest. */
	if (is_killed)
		return;
	field::rpc_task::tk_status(task) = request.status_;
	abandon(request);
}

Transport::Fence Transport::begin_fence(Request &request) noexcept
{
	if (request.memory_ == Request::Memory::none || request.state_ == Request::State::replied)
		return Fence::none;
	/* Begun before, by a task that was killed since; or whoever is bringing it back says so. */
	const bool is_begun = std::exchange(request.state_, Request::State::withdrawn) == Request::State::withdrawn;
	if (is_begun || request.memory_ == Request::Memory::returning)
		return Fence::awaited;
	rpcordma_trace_call_fenced(peer(), static_cast<u32>(xid_of(request.rqst_)),
				   request.read_count_ + request.room_count_);
	return invalidate(request) ? Fence::due : Fence::awaited;
}

/* sunrpc frees the memory next, and has no task that could sleep. */
void Transport::fence(Request &request) noexcept
{
	kernel::Completion fenced;
	Fence fence;
	{
		kernel::Guard guard(lock_);
		fence = begin_fence(request);
		if (fence == Fence::none)
			return;
		request.fenced_ = &fenced;
	}
	if (fence == Fence::due)
		invalidated(request);
	if (fenced.wait(fence_patience * kernel::HZ))
		return;
	{
		kernel::Guard guard(lock_);
		if (request.fenced_ && request.connection_ == connection_)
			give_up("no invalidation in time");
	}
	/* Certain to happen now: the queue pair is drained. */
	fenced.wait();
}

} // namespace rpcordma::client
