/* SPDX-License-Identifier: GPL-2.0-only */
/* The Calls that a transport has outstanding, and the memory that its peer may reach because of them. */
#pragma once

#include <optional>

#include "client/request.hh"
#include "kernel/list.hh"
#include "kernel/sync.hh"
#include "proto/credits.hh"
#include "proto/received.hh"
#include "verbs/send_queue.hh"

namespace rpcordma::client {

class Transport;

/* Knows which Calls hold a credit (RFC 8166, 3.3.1) and await a Reply, on which connection, and what memory the peer can
 * reach because of them. sunrpc gets such memory back only when the peer does not reach it any more. One lock guards all of
 * it; the Connector's lock may be taken inside. */
class Outstanding {
    public:
	explicit Outstanding(Transport &owner) noexcept;
	~Outstanding();

	/* sunrpc's operations; each as sunrpc/xprt.h has it. */

	/* The RPC ends. If its Call has no Reply, its credit stays taken. Context: a task; sleeps until the peer does not reach
	 * the RPC's memory. Where that takes seconds, it closes the connection. */
	void release(Request &request) noexcept RPCORDMA_EXCLUDES(lock_);
	/* For a Call that has waited in vain: no Reply came in time, or the connection is going. Puts the task to sleep
	 * until the peer does not reach the RPC's memory. Context: the task's callback; does not sleep itself. */
	void unanswered(rpc_rqst *rqst, bool timed_out) noexcept RPCORDMA_EXCLUDES(lock_);
	/* A task that unanswered() put to sleep was woken: its memory is back, or the task was killed.
	 * Context: the task's callback. */
	void woken(rpc_task *task) noexcept RPCORDMA_EXCLUDES(lock_);

	/* The transport has another connection from now on, on which each Call asks for `credits`. Context: the send lock. */
	void connected(std::uint32_t credits) noexcept RPCORDMA_EXCLUDES(lock_);
	/* The number of Calls without a Reply on this connection. Context: any. */
	[[nodiscard]] std::uint32_t count() noexcept RPCORDMA_EXCLUDES(lock_)
	{
		kernel::Guard guard(lock_);
		return credits_.outstanding();
	}
	/* The credits of this connection. Context: any. */
	[[nodiscard]] proto::Credits credits() noexcept RPCORDMA_EXCLUDES(lock_)
	{
		kernel::Guard guard(lock_);
		return credits_;
	}
	/* Return: count() with another Call; nothing if there is no credit for one. Context: the send lock. */
	[[nodiscard]] std::optional<std::uint32_t> with_another() noexcept RPCORDMA_EXCLUDES(lock_);
	/* Posts a Call. Return: as SendQueue::post(). Context: the send lock. */
	[[nodiscard]] bool post(Request &request, verbs::SendBuffer &buffer, std::uint32_t size,
				const verbs::Chain &chain) noexcept RPCORDMA_EXCLUDES(lock_);

	/* Posts a Call once more that is outstanding on this connection, in another version, if it still awaits its Reply. There is
	 * room in the send queue for it. Context: a completion. */
	void post_again(Request &request, verbs::SendBuffer &buffer, std::uint32_t size) noexcept
		RPCORDMA_EXCLUDES(lock_);

	/* What the Call is to a Reply that names it. */
	enum class Match : std::uint8_t {
		awaits_it,
		/* It has one. */
		has_another,
		/* Nobody waits for it any more. */
		is_withdrawn,
	};
	struct Judgement {
		Match match;
		/* The handle that the peer has invalidated with it, if it did, was the Call's. */
		bool invalidation_allowed = true;
		proto::Grant grant = proto::Grant::usual;
	};
	/* Judges a Reply by what its Call offered, and sets `verdict`. If the Reply is awaited and accepted, nobody else
	 * touches the request from here on, and its memory is back if the peer has invalidated all of it.
	 * Context: a completion. */
	[[nodiscard]] Judgement judge(Request &request, const proto::ForCall &message,
				      verbs::ReceiveBuffer &buffer) noexcept RPCORDMA_EXCLUDES(lock_);
	/* A Reply has come that nobody waits for. Context: a completion. */
	void unclaimed() noexcept RPCORDMA_EXCLUDES(lock_);
	/* Whether a Call that awaits its Reply offers memory by this handle. Context: any. */
	[[nodiscard]] bool offers(wire::Handle handle) noexcept RPCORDMA_EXCLUDES(lock_);
	/* Takes back the memory of a Call that has its Reply, and has the Reply delivered then. Context: a completion. */
	void take_back(Request &request) noexcept RPCORDMA_EXCLUDES(lock_);
	/* The peer does not reach the Call's memory any more. Context: the completion that the Request is the Signal of. */
	void taken_back(Request &request) noexcept RPCORDMA_EXCLUDES(lock_);
	/* The Call has its Reply: the credit comes back, if it has not already. Context: a completion. */
	void answered(Request &request) noexcept RPCORDMA_EXCLUDES(lock_);
	/* The Call waits for another Reply, and offers it no memory. Context: a completion. */
	void await_another(Request &request) noexcept RPCORDMA_EXCLUDES(lock_);
	/* Gives the connection up where an invalidation has been under way since the call before the last: so every wait for
	 * memory ends. Comes by every ten seconds while there is one. Return: whether there is. Context: process. */
	[[nodiscard]] bool look() noexcept RPCORDMA_EXCLUDES(lock_);
	/* Takes back all memory that the peer could reach. The queue pair is drained. Context: the send lock. */
	void sweep() noexcept RPCORDMA_EXCLUDES(lock_);

    private:
	using State = Request::Progress::State;
	using Memory = Request::Progress::Memory;

	[[nodiscard]] Request::Progress &progress_of(Request &request) noexcept RPCORDMA_REQUIRES(lock_)
	{
		return request.progress_;
	}
	void invalidate(Request &request) noexcept RPCORDMA_REQUIRES(lock_);
	void invalidated_by_peer(Request &request) noexcept RPCORDMA_REQUIRES(lock_);
	void memory_is_back(Request &request) noexcept RPCORDMA_REQUIRES(lock_);
	void settle(Request &request) noexcept RPCORDMA_REQUIRES(lock_);
	[[nodiscard]] bool withdraw(Request &request) noexcept RPCORDMA_REQUIRES(lock_);
	/* What is left to do for an RPC that was to be ended. */
	enum class Left : std::uint8_t {
		nothing,
		/* Its memory has to come back first. */
		fence,
		/* Its credit does not come back. */
		abandoned_credit,
	};
	[[nodiscard]] Left end(Request &request) noexcept RPCORDMA_EXCLUDES(lock_);
	void fence(Request &request) noexcept RPCORDMA_EXCLUDES(lock_);
	[[nodiscard]] bool free_memory(Request &request, const char *by) noexcept RPCORDMA_EXCLUDES(lock_);
	bool abandon(Request &request, State state) noexcept RPCORDMA_REQUIRES(lock_);

	Transport &owner_;
	kernel::SpinLock lock_{RPCORDMA_LOCK_OUTSTANDING};
	/* Those with memory that the peer may reach. */
	kernel::List<Request> advertising_ RPCORDMA_GUARDED_BY(lock_);
	proto::Credits credits_ RPCORDMA_GUARDED_BY(lock_){1};
	/* Numbers the connections: a Reply on this one is not taken for a Call that was sent on another only. */
	std::uint32_t connection_ RPCORDMA_GUARDED_BY(lock_) = 0;
	/* Tasks that sleep until their memory is back. */
	kernel::Opaque<rpc_wait_queue> sleepers_;
};

} // namespace rpcordma::client
