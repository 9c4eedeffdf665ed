// SPDX-License-Identifier: GPL-2.0-only
#include "client/outstanding.hh"

#include <algorithm>

#include "client/delivery.hh"
#include "client/transport.hh"
#include "kernel/trace.hh"

namespace rpcordma::client {

namespace field = kernel::field;

namespace {

/* How often an invalidation is found under way: where a peer takes nothing that is ahead of it in the queue, only closing the
 * connection brings the memory back. */
constexpr std::uint32_t most_looks = 2;

/* So long an RPC that ends waits for its memory before the connection is closed for that. It may hold a thread of sunrpc's
 * workqueue meanwhile, which all mounts share. */
constexpr unsigned long memory_patience = 2 * kernel::HZ;

/* The callback of a task that slept for its memory. */
void sleep_is_over(rpc_task *task)
{
	Transport::of(field::rpc_task::tk_rqstp(task)).outstanding().woken(task);
}

/* Whether its Reply is in memory that the peer has written: it is settled when that has been looked at. */
bool is_long(const Request &request)
{
	return std::holds_alternative<proto::LongReply>(*request.verdict);
}

/* `by` names the one that invalidated what the responder did not. */
void trace_invalidated(const Transport &transport, Request &request, const char *by)
{
	if (!rpcordma_traces())
		return;
	request.advertised.for_each([&](const verbs::Registration &registration) {
		rpcordma_trace_segment_invalidated(transport.peer(), static_cast<u32>(xid_of(request.rqst())),
						   static_cast<u32>(registration.handle()),
						   registration.invalidated ? "responder" : by);
	});
}

} // namespace

Outstanding::Outstanding(Transport &owner) noexcept
	: owner_(owner)
{
	rpc_init_wait_queue(sleepers_.get(), "fences");
}

Outstanding::~Outstanding()
{
	rpc_destroy_wait_queue(sleepers_.get());
}

void Outstanding::release(Request &request) noexcept
{
	/* Read without the lock: whoever else writes it has pinned the RPC, and sunrpc has waited for that to end. No memory is
	 * advertised where it is idle. */
	if (request.progress_.state == State::idle) [[likely]]
		return;
	Left left = end(request);
	if (left == Left::fence) {
		fence(request);
		left = end(request);
	}
	/* A Call that waits for a credit may have to see that none comes back. */
	if (left == Left::abandoned_credit)
		owner_.room();
}

Outstanding::Left Outstanding::end(Request &request) noexcept
{
	kernel::Guard guard(lock_);
	if (withdraw(request))
		return Left::fence;
	return abandon(request, State::idle) ? Left::abandoned_credit : Left::nothing;
}

void Outstanding::connected(std::uint32_t credits) noexcept
{
	kernel::Guard guard(lock_);
	credits_ = proto::Credits(credits);
}

std::optional<std::uint32_t> Outstanding::with_another() noexcept
{
	kernel::Guard guard(lock_);
	if (credits_.is_available())
		return credits_.outstanding() + 1;
	/* No timer will find out that no Reply comes, but that of a negotiation. */
	if (credits_.are_abandoned() && owner_.negotiator().is_settled())
		owner_.give_up("credits held by abandoned calls");
	return std::nullopt;
}

bool Outstanding::post(Request &request, verbs::SendBuffer &buffer, std::uint32_t size,
		       const verbs::Chain &chain) noexcept
{
	/* In one with the posting: a peer that guesses XIDs must not be answered before its turn. */
	kernel::Guard guard(lock_);
	Request::Progress &progress = progress_of(request);
	progress.state = State::sent;
	progress.connection = connection_;
	credits_.take();
	if (request.advertised.count() != 0) {
		progress.memory = Memory::advertised;
		advertising_.push_back(request);
	}
	return owner_.endpoint().sends().post(buffer, size, chain, {});
}

void Outstanding::post_again(Request &request, verbs::SendBuffer &buffer, std::uint32_t size) noexcept
{
	{
		kernel::Guard guard(lock_);
		const Request::Progress &progress = progress_of(request);
		if (progress.state == State::sent && progress.connection == connection_) {
			(void)owner_.endpoint().sends().post(buffer, size, {}, {});
			return;
		}
	}
	owner_.endpoint().sends().abandon(buffer, 1);
	owner_.room();
}

Outstanding::Judgement Outstanding::judge(Request &request, const proto::ForCall &message,
					  verbs::ReceiveBuffer &buffer) noexcept
{
	kernel::Guard guard(lock_);
	Request::Progress &progress = progress_of(request);
	const bool is_late = progress.state == State::withdrawn || progress.state == State::abandoned;
	if (progress.state != State::sent || progress.connection != connection_)
		return {is_late ? Match::is_withdrawn : Match::has_another};
	Judgement judgement{Match::awaits_it};
	/* ERR_VERS may come in any version (RFC 8166, 4.5.1). */
	const bool is_in_version = message.version == std::to_underlying(owner_.negotiator().version()) ||
				   std::holds_alternative<wire::VersionError>(message.body);
	request.verdict = is_in_version ? proto::accept_reply(message.body, message.xid, request.offer()) :
					  std::unexpected(proto::ReplyError::other_version);
	judgement.invalidation_allowed = request.advertised.mark_invalidated(buffer);
	if (!request.verdict)
		return judgement;
	progress.state = State::replied;
	request.reply = &buffer;
	if (progress.memory == Memory::advertised && request.advertised.is_invalidated())
		invalidated_by_peer(request);
	if (progress.memory == Memory::none && !is_long(request))
		settle(request);
	if (const auto credits = proto::grant_of(message))
		judgement.grant = is_error(*request.verdict) ? credits_.granted_by_error(*credits) :
							       credits_.granted(*credits);
	return judgement;
}

void Outstanding::unclaimed() noexcept
{
	kernel::Guard guard(lock_);
	credits_.unclaimed();
}

bool Outstanding::offers(wire::Handle handle) noexcept
{
	bool found = false;
	kernel::Guard guard(lock_);
	advertising_.for_each([&](Request &request) {
		/* Clang does not see here that the lock is held. */
		if (request.progress_.memory == Memory::advertised)
			request.advertised.for_each([&](const verbs::Registration &registration) {
				found = found || registration.handle() == handle;
			});
	});
	return found;
}

void Outstanding::take_back(Request &request) noexcept
{
	kernel::Guard guard(lock_);
	invalidate(request);
}

/* Nothing is left to be invalidated, and the room for that is not used. */
void Outstanding::invalidated_by_peer(Request &request) noexcept
{
	const std::uint32_t count = request.advertised.count();
	owner_.endpoint().sends().release(count);
	owner_.statistics().remote_invalidations += count;
	memory_is_back(request);
}

/* Sees to the invalidation of what the peer has not invalidated, of which there is some: taken_back() will be called, or sweep()
 * comes by. */
void Outstanding::invalidate(Request &request) noexcept
{
	/* Once they are posted, their completion may take them back. */
	const std::uint32_t count = request.advertised.count();
	const auto posted = request.advertised.invalidate(owner_.endpoint().sends(), request);
	if (!posted)
		return;
	Request::Progress &progress = progress_of(request);
	progress.memory = Memory::returning;
	progress.looks = 0;
	owner_.endpoint().look_later();
	owner_.statistics().local_invalidations += *posted;
	owner_.statistics().remote_invalidations += count - *posted;
}

void Outstanding::taken_back(Request &request) noexcept
{
	if (free_memory(request, "requester"))
		deliver(owner_, request);
}

/* Unmaps the memory, and wakes what waits for it. Returns whether the Call has its Reply: if not, the request is not touched
 * any more. `by` is for the trace. */
bool Outstanding::free_memory(Request &request, const char *by) noexcept
{
	trace_invalidated(owner_, request, by);
	request.advertised.take_back(owner_.endpoint().registrations());
	kernel::Guard guard(lock_);
	advertising_.remove(request);
	Request::Progress &progress = progress_of(request);
	progress.memory = Memory::none;
	/* What waits for that goes on with the request, or frees it, as soon as the lock is free. */
	if (progress.sleeper)
		rpc_wake_up_queued_task(sleepers_.get(), progress.sleeper);
	if (progress.fenced)
		std::exchange(progress.fenced, nullptr)->complete();
	if (progress.state != State::replied)
		return false;
	if (!is_long(request))
		settle(request);
	return true;
}

bool Outstanding::look() noexcept
{
	std::uint32_t most = 0;
	kernel::Guard guard(lock_);
	/* Clang does not see that the lock is held in what follows. */
	advertising_.for_each([&most, connection = connection_](Request &request) {
		Request::Progress &progress = request.progress_;
		if (progress.memory == Memory::returning && progress.connection == connection)
			most = std::max(most, ++progress.looks);
	});
	if (most >= most_looks)
		owner_.give_up("no invalidation in time");
	return most != 0;
}

void Outstanding::settle(Request &request) noexcept
{
	progress_of(request).state = State::idle;
	credits_.give_back();
}

void Outstanding::answered(Request &request) noexcept
{
	if (!is_long(request)) [[likely]]
		return;
	kernel::Guard guard(lock_);
	settle(request);
}

void Outstanding::await_another(Request &request) noexcept
{
	kernel::Guard guard(lock_);
	request.withdraw_offer();
	progress_of(request).state = State::sent;
}

void Outstanding::sweep() noexcept
{
	{
		kernel::Guard guard(lock_);
		/* A Call of it that is given up from here on says nothing of the next connection. */
		connection_++;
	}
	for (;;) {
		Request *request;
		{
			kernel::Guard guard(lock_);
			request = advertising_.front();
			if (!request)
				return;
			progress_of(*request).memory = Memory::returning;
		}
		owner_.statistics().registrations_lost += request->advertised.count();
		if (!free_memory(*request, "disconnect"))
			continue;
		/* Its Reply came when nothing could be invalidated any more. sunrpc waits with the request until it is let go. */
		{
			kernel::Guard guard(lock_);
			progress_of(*request).state = State::idle;
		}
		let_go(owner_, request->rqst(), *std::exchange(request->reply, nullptr));
	}
}

/* The responder still owes a reply to a call that nobody waits for any more, and with it the credit. Returns whether that is so
 * from now on. */
bool Outstanding::abandon(Request &request, State state) noexcept
{
	Request::Progress &progress = progress_of(request);
	if (progress.state == State::idle || progress.state == State::replied)
		return false;
	if (std::exchange(progress.state, state) == State::abandoned)
		return false;
	if (progress.connection == connection_)
		credits_.abandon();
	return true;
}

/* sunrpc encodes the Call anew, perhaps before the old connection is gone: the memory has to be out of the responder's
 * reach first. The task sleeps until then: many that waited on sunrpc's workqueue would stop those of other transports, and
 * those that this transport's end depends on. */
void Outstanding::unanswered(rpc_rqst *rqst, bool timed_out) noexcept
{
	Request &request = Request::of(rqst);
	kernel::Guard guard(lock_);
	Request::Progress &progress = progress_of(request);
	/* RDMA has no keep-alive: only a new connection shows whether the responder is there. A Reply that came, and that
	 * sunrpc could not verify, has used the Call up: it has to be sent again as well. */
	if (timed_out && progress.state != State::replied && progress.connection == connection_)
		owner_.give_up("no reply in time");
	if (!withdraw(request)) {
		abandon(request, State::abandoned);
		return;
	}
	rpc_task *const task = field::rpc_rqst::rq_task(rqst);
	progress.sleeper = task;
	progress.status = field::rpc_task::tk_status(task);
	rpc_sleep_on(sleepers_.get(), task, sleep_is_over);
}

void Outstanding::woken(rpc_task *task) noexcept
{
	Request &request = Request::of(field::rpc_task::tk_rqstp(task));
	kernel::Guard guard(lock_);
	Request::Progress &progress = progress_of(request);
	progress.sleeper = nullptr;
	/* Nothing is encoded any more, and release() sees to the rest. */
	const bool is_killed = field::rpc_task::tk_rpc_status(task) != 0;
	if (is_killed)
		return;
	field::rpc_task::tk_status(task) = progress.status;
	abandon(request, State::abandoned);
}

/* Nobody wants a reply to the Call any more. Returns whether its memory is awaited: not where there is none, or a reply is
 * being worked on, which brings it back, and ends the call. */
bool Outstanding::withdraw(Request &request) noexcept
{
	Request::Progress &progress = progress_of(request);
	if (progress.memory == Memory::none || progress.state == State::replied)
		return false;
	/* It was begun before, by a task that was killed since, or by the completion of its Reply. */
	const bool is_begun = std::exchange(progress.state, State::withdrawn) == State::withdrawn;
	if (is_begun || progress.memory == Memory::returning)
		return true;
	rpcordma_trace_call_fenced(owner_.peer(), static_cast<u32>(xid_of(request.rqst())), request.advertised.count());
	if (request.advertised.is_invalidated()) {
		invalidated_by_peer(request);
		owner_.room();
		return false;
	}
	invalidate(request);
	return true;
}

/* The peer has invalidated all, and nobody waits for that. Under the lock: sweep(), and with it the end of the connection, may
 * come at any time. The caller sees to it that room() is called. */
void Outstanding::memory_is_back(Request &request) noexcept
{
	trace_invalidated(owner_, request, "requester");
	request.advertised.put_back(owner_.endpoint().registrations());
	advertising_.remove(request);
	progress_of(request).memory = Memory::none;
}

/* Sleeps until the peer does not reach the memory: sunrpc frees it next, and has no task that could sleep. */
void Outstanding::fence(Request &request) noexcept
{
	kernel::Completion fenced;
	{
		kernel::Guard guard(lock_);
		if (!withdraw(request))
			return;
		progress_of(request).fenced = &fenced;
	}
	if (fenced.wait(memory_patience))
		return;
	{
		kernel::Guard guard(lock_);
		const Request::Progress &progress = progress_of(request);
		if (progress.fenced && progress.connection == connection_)
			owner_.give_up("no invalidation in time");
	}
	/* The end of the connection brings it back. */
	fenced.wait();
}

} // namespace rpcordma::client
