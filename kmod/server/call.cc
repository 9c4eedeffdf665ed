// SPDX-License-Identifier: GPL-2.0-only
/* The way of a Call: looked at, refused, read, or handed to the upper layer. */
#include <algorithm>

#include "kernel/trace.hh"
#include "proto/eligibility.hh"
#include "server/connection.hh"

namespace rpcordma::server {

namespace field = kernel::field;

namespace {

/* The most segments of one kind that a Call may have: enough for a payload in pieces of one page. */
constexpr std::uint32_t most_segments = Pages::most;

} // namespace

int Connection::receive(svc_rqst *rqst) noexcept
{
	/* Nothing of what the thread holds is part of a Reply yet. */
	page **const pages = field::svc_rqst::rq_pages(rqst);
	field::svc_rqst::rq_respages(rqst) = pages;
	field::svc_rqst::rq_next_page(rqst) = pages;
	field::svc_rqst::rq_xprt_ctxt(rqst) = nullptr;

	const kernel::Visit visit(gate_);
	const Work work = visit ? next_work() : Work{};
	svc_xprt_received(xprt());
	if (!work.is_any())
		return 0;
	const int size = carry_out(work, rqst);
	if (!field::svc_rqst::rq_xprt_ctxt(rqst))
		leave_thread();
	return size;
}

int Connection::carry_out(const Work &work, svc_rqst *rqst) noexcept
{
	if (work.pulled)
		return deliver(*work.pulled, rqst);
	if (work.waiting)
		return pull(*work.waiting, rqst);
	return take(*work.arrived, rqst);
}

/* What has come furthest goes first; nothing, where a Reply would have to wait or a thread too many would be taken. */
Connection::Work Connection::next_work() noexcept
{
	kernel::Guard guard(lock_);
	Work work;
	if (has_room() && wants_thread()) {
		work.pulled = pulled_.pop_front();
		if (!work.pulled && reading_.size() < most_reading_)
			work.waiting = waiting_.pop_front();
		if (!work.pulled && !work.waiting)
			work.arrived = arrived_.pop_front();
		threads_++;
	}
	rpcordma_svc_set_data(xprt(), wants_thread());
	return work;
}

/* The thread has not brought a Call to the upper layer. */
void Connection::leave_thread() noexcept
{
	bool is_wanted;
	{
		kernel::Guard guard(lock_);
		is_wanted = give_thread_back();
	}
	if (is_wanted)
		svc_xprt_enqueue(xprt());
}

/* Whether a thread is to come: not where there is nothing to do, nor where as many as the connection's share work for it. */
bool Connection::wants_thread() noexcept
{
	if (!has_work())
		return false;
	const std::uint32_t threads = field::svc_serv::sv_nrthreads(field::svc_xprt::xpt_server(xprt()));
	lacks_thread_ = threads_ >= share_of(threads);
	return !lacks_thread_;
}

/* Whether another thread is to come in its place, for what was left lying. */
bool Connection::give_thread_back() noexcept
{
	threads_--;
	if (!lacks_thread_) [[likely]]
		return false;
	const bool is_wanted = wants_thread();
	rpcordma_svc_set_data(xprt(), is_wanted);
	return is_wanted;
}

int Connection::take(verbs::ReceiveBuffer &buffer, svc_rqst *rqst) noexcept
{
	const proto::Arrival arrival = proto::classify_arrival(buffer.message());

	if (const auto *const call = std::get_if<proto::Call>(&arrival)) [[likely]]
		return take(*call, buffer, rqst);
	if (const auto *const refused = std::get_if<proto::Refused>(&arrival)) {
		refuse(*refused, true);
		endpoint_->receives().give_back(buffer);
		return 0;
	}
	if (const auto *const ignored = std::get_if<proto::Ignored>(&arrival))
		ignore(buffer, name_of(*ignored));
	else
		ignore(buffer, "reply in the reverse direction");
	forget(buffer);
	return 0;
}

int Connection::take(const proto::Call &message, verbs::ReceiveBuffer &buffer, svc_rqst *rqst) noexcept
{
	ServedCall *const call = make_call(message, buffer);
	if (!call) {
		forget(buffer);
		endpoint_->lose("memory", "for a call");
		return 0;
	}
	const wire::Chunks &chunks = call->call.chunks;
	if (!chunks.reads.empty() && endpoint_->reads() == 0)
		return refuse(*call, "no RDMA Reads are offered");
	const std::uint32_t page_limit = (Pages::most - 2) * proto::page_size;
	const proto::CallLimits limits{
		.stream = std::min(field::svc_serv::sv_max_mesg(field::svc_xprt::xpt_server(xprt())), page_limit),
		.segments = std::min(most_segments, endpoint_->most_read_segments()),
		.room_segments = most_segments,
		.reply_threshold = endpoint_->agreement().inline_thresholds.reply,
		.eligible_only = true,
	};
	const auto assembly = proto::Assembly::of(call->call, limits);
	if (!assembly)
		return refuse(*call, name_of(assembly.error()));
	rpcordma_trace_call_received(peer(), static_cast<u32>(call->call.xid), name_of(assembly->shape()),
				     call->call.credits, static_cast<u32>(call->call.payload.size()),
				     chunks.reads.count(), assembly->size());
	if (chunks.any()) {
		call->transaction = proto::transaction_of(requester_, call->call, buffer.message());
		if (service().has_failed(call->transaction))
			return refuse(*call, "failed before");
	}
	call->assembly = *assembly;
	if (assembly->shape() == proto::CallShape::in_message)
		return deliver(*call, rqst);
	return pull(*call, rqst);
}

ServedCall *Connection::make_call(const proto::Call &message, verbs::ReceiveBuffer &buffer) noexcept
{
	ServedCall *call;
	{
		kernel::Guard guard(lock_);
		grants_.requested(message.credits);
		call = free_calls_.pop_front();
	}
	if (!call)
		call = new (kernel::GFP_KERNEL) ServedCall(*this);
	if (!call)
		return nullptr;
	call->message = &buffer;
	call->call = message;
	call->items.clear();
	call->is_outstanding = true;
	call->is_served = false;
	return call;
}

/* Hands over what is in the message. */
int Connection::deliver(ServedCall &call, svc_rqst *rqst) noexcept
{
	const auto size = static_cast<unsigned int>(call.call.payload.size());
	xdr_buf &arguments = field::svc_rqst::rq_arg(rqst);

	field::xdr_buf::head(&arguments) = call.payload();
	field::xdr_buf::head_length(&arguments) = size;
	field::xdr_buf::page_base(&arguments) = 0;
	field::xdr_buf::page_len(&arguments) = 0;
	field::xdr_buf::tail(&arguments) = nullptr;
	field::xdr_buf::tail_length(&arguments) = 0;
	field::xdr_buf::buflen(&arguments) = size;
	field::xdr_buf::len(&arguments) = size;
	return present(call, call.call.payload, rqst);
}

/* Whose Call it is, and by what it came. `front` is the beginning of its Payload stream. */
int Connection::present(ServedCall &call, wire::Bytes front, svc_rqst *rqst) noexcept
{
	call.is_served = true;
	call.may_reduce = !call.call.chunks.writes.empty() && proto::Eligibility(front).may_reduce_results();
	field::svc_rqst::rq_xprt_ctxt(rqst) = &call;
	/* Neither TCP nor UDP. */
	field::svc_rqst::rq_prot(rqst) = kernel::IPPROTO_MAX;
	svc_xprt_copy_addrs(rqst, xprt());
	judge_port(rqst);
	return static_cast<int>(field::xdr_buf::len(&field::svc_rqst::rq_arg(rqst)));
}

void Connection::release(ServedCall &call) noexcept
{
	endpoint_->receives().give_back(*call.message);
	bool is_wanted = false;
	{
		kernel::Guard guard(lock_);
		if (call.is_outstanding)
			grants_.done();
		if (call.is_served)
			is_wanted = give_thread_back();
		free_calls_.push_front(call);
	}
	if (is_wanted)
		svc_xprt_enqueue(xprt());
}

void Connection::forget(verbs::ReceiveBuffer &buffer) noexcept
{
	endpoint_->receives().give_back(buffer);
	kernel::Guard guard(lock_);
	grants_.done();
}

/* An answer is about to be sent: sees to the Receives that it makes necessary, and says what it has to grant. */
std::uint32_t Connection::settle(bool is_outstanding) noexcept
{
	std::uint32_t credits;
	std::uint32_t receives;
	bool is_news;
	{
		kernel::Guard guard(lock_);
		if (is_outstanding)
			grants_.done();
		credits = grants_.next();
		receives = grants_.receives_for(credits) + least_spare;
		is_news = credits != grants_.in_force();
	}
	const bool is_covered = endpoint_->receives().provide(receives, spare_receives, kernel::GFP_KERNEL) >= receives;
	/* What is in force stays so, covered or not. */
	if (!is_news)
		return credits;
	kernel::Guard guard(lock_);
	if (is_covered)
		grants_.announced(credits);
	return grants_.in_force();
}

int Connection::refuse(ServedCall &call, const char *reason) noexcept
{
	rpcordma_trace_call_refused(peer(), static_cast<u32>(call.call.xid), reason);
	refuse(proto::Refused{call.call.xid, RPCRDMA_V1, proto::Refusal::malformed},
	       std::exchange(call.is_outstanding, false));
	release(call);
	return 0;
}

void Connection::refuse(const proto::Refused &message, bool is_outstanding) noexcept
{
	rpcordma_trace_error_sent(peer(), static_cast<u32>(message.xid), name_of(message.with), message.version);
	verbs::SendBuffer *const buffer = endpoint_->sends().take(kernel::GFP_KERNEL);
	if (!buffer)
		return endpoint_->lose("memory", "for a message");
	const std::uint32_t credits = settle(is_outstanding);
	const auto size =
		message.with == proto::Refusal::version ?
			wire::encode_error(buffer->bytes(), message.xid, message.version, credits,
					   wire::VersionError{RPCRDMA_V1, RPCRDMA_V1}) :
			wire::encode_error(buffer->bytes(), message.xid, message.version, credits, wire::ChunkError{});
	/* The smallest of messages fits the smallest of buffers. */
	if (!transmit(*buffer, static_cast<std::uint32_t>(size.value_or(0)), message.xid, {}))
		endpoint_->lose("memory", "for a message");
}

void Connection::ignore(const verbs::ReceiveBuffer &buffer, const char *reason) noexcept
{
	rpcordma_trace_message_dropped(peer(), static_cast<u32>(buffer.message().size()), reason);
}

} // namespace rpcordma::server
