/* SPDX-License-Identifier: GPL-2.0-only */
/* The requester's end as a responder: Calls in the reverse direction (RFC 8167), such as NFSv4.1's callbacks. */
#pragma once

#include "client/request.hh"
#include "client/reverse_request.hh"
#include "kernel/atomic.hh"
#include "kernel/list.hh"
#include "kernel/sync.hh"
#include "proto/assembly.hh"
#include "verbs/transfer.hh"

namespace rpcordma::client {

class Transport;

/* Calls that the responder may have outstanding in the reverse direction. */
inline constexpr std::uint32_t reverse_credits = 8;
/* The same with those that have been answered and are still sunrpc's, or the device's. */
inline constexpr std::uint32_t most_reverse_requests = 3 * reverse_credits;
/* The segments that the Read list of one of them may have, or its Write list and Reply chunk together. */
inline constexpr std::uint32_t most_reverse_segments = 4;

/* Serves Calls of the responder on a transport's connections. One lock guards its members; sunrpc's locks, those of
 * verbs/ and the Connector's may be taken inside. */
class ReverseResponder {
    public:
	explicit ReverseResponder(Transport &owner) noexcept;
	~ReverseResponder();

	/* The transport is about to have another connection. Return: the Receives that it begins with. Context: the send
	 * lock. */
	[[nodiscard]] std::uint32_t begin_connection() noexcept RPCORDMA_EXCLUDES(lock_);
	/* Receives for what is granted, and one more: while a message is looked at, its answer may be under way already.
	 * Context: any. */
	[[nodiscard]] std::uint32_t receives() const noexcept { return grant() + 1; }
	/* Calls that the responder may have outstanding. Context: any. */
	[[nodiscard]] std::uint32_t credits() const noexcept { return grant(); }
	/* The Calls of this connection without an answer, and of all connections those that were taken, and answered. */
	struct Account {
		std::uint32_t unanswered;
		std::uint64_t calls;
		std::uint64_t answers;
	};
	/* Context: any. */
	[[nodiscard]] Account account() noexcept RPCORDMA_EXCLUDES(lock_)
	{
		kernel::Guard guard(lock_);
		return {unanswered_, calls_, answers_};
	}
	/* A Call has come, or an optional message in direction CALL, as `message`. Context: a completion. */
	void take(const proto::Call &call, wire::Bytes message) noexcept RPCORDMA_EXCLUDES(lock_);
	void take_option(wire::Xid xid, wire::Bytes message) noexcept RPCORDMA_EXCLUDES(lock_);
	/* Takes what cannot be carried out, which is answered with an error: as take(). */
	void take(const proto::Refused &refused, wire::Bytes message) noexcept RPCORDMA_EXCLUDES(lock_);
	/* There may be more room in the send queue. Context: process; does not sleep. */
	void room() noexcept RPCORDMA_EXCLUDES(lock_)
	{
		if (waits_.read()) [[unlikely]]
			post();
	}
	/* Takes back what RDMA Reads and Writes used. The queue pair is drained. Context: the send lock. */
	void sweep() noexcept RPCORDMA_EXCLUDES(lock_);

	/* sunrpc's operations; each as sunrpc/xprt.h has it. */

	/* Sends a Reply. Return: as Transport::send(). Context: the send lock. */
	[[nodiscard]] int send(rpc_rqst *rqst) noexcept RPCORDMA_EXCLUDES(lock_);
	/* Takes back what a Call was held in: sunrpc does not use it any more. Context: process; does not sleep. */
	void keep(ReverseRequest &request) noexcept RPCORDMA_EXCLUDES(lock_);
	/* A service awaits Calls, for so many sessions more or fewer. close() of the last one sleeps until none of its
	 * Calls is left. Context: process. */
	void open(unsigned int sessions) noexcept RPCORDMA_EXCLUDES(lock_);
	void close(unsigned int sessions) noexcept RPCORDMA_EXCLUDES(lock_);
	/* Replies that wait for the send lock. */
	[[nodiscard]] rpc_wait_queue *replies() noexcept { return replies_.get(); }

    private:
	friend class ReverseRequest;

	using Progress = ReverseRequest::Progress;
	using Refusal = ReverseRequest::Refusal;
	using State = ReverseRequest::State;

	[[nodiscard]] Progress &progress_of(ReverseRequest &request) noexcept RPCORDMA_REQUIRES(lock_)
	{
		return request.progress_;
	}
	/* As long as no service has awaited Calls on this connection, one that is answered with an error. */
	[[nodiscard]] std::uint32_t grant() const noexcept { return awaited_.read() ? reverse_credits : 1; }
	[[nodiscard]] ReverseRequest *begin(wire::Xid xid, wire::Bytes message) noexcept RPCORDMA_EXCLUDES(lock_);
	void drop(wire::Xid xid, const char *reason) noexcept;
	[[nodiscard]] bool take_credit() noexcept RPCORDMA_EXCLUDES(lock_);
	void give_credit_back(ReverseRequest &request) noexcept RPCORDMA_REQUIRES(lock_);
	[[nodiscard]] ReverseRequest *hold(wire::Bytes message) noexcept RPCORDMA_EXCLUDES(lock_);
	void pull(ReverseRequest &request) noexcept RPCORDMA_EXCLUDES(lock_);
	void wait_for_room(ReverseRequest &request, State state) noexcept RPCORDMA_EXCLUDES(lock_);
	void post() noexcept RPCORDMA_EXCLUDES(lock_);
	void moved(ReverseRequest &request) noexcept RPCORDMA_EXCLUDES(lock_);
	void serve(ReverseRequest &request) noexcept RPCORDMA_EXCLUDES(lock_);
	void refuse(ReverseRequest &request, Refusal refusal, const char *reason) noexcept RPCORDMA_EXCLUDES(lock_);
	void send_refusal(ReverseRequest &request) noexcept RPCORDMA_REQUIRES(lock_);
	[[nodiscard]] Sent transmit(ReverseRequest &request, const xdr_buf &reply) noexcept RPCORDMA_EXCLUDES(lock_);
	void recycle(ReverseRequest &request) noexcept RPCORDMA_REQUIRES(lock_);
	unsigned long let_idle(unsigned long time) noexcept RPCORDMA_REQUIRES(lock_);

	Transport &owner_;
	verbs::TransferPool transfers_;
	kernel::Opaque<rpc_wait_queue> replies_;
	kernel::SpinLock lock_{RPCORDMA_LOCK_REVERSE_RESPONDER};
	kernel::List<ReverseRequest> free_ RPCORDMA_GUARDED_BY(lock_);
	/* Those whose RDMA Reads or refusals wait for room, and those whose RDMA Reads or Writes are posted. */
	kernel::List<ReverseRequest> waiting_ RPCORDMA_GUARDED_BY(lock_);
	/* Whether there are some of the former, for a look without the lock: see wait_for_room(). Who looks has a full barrier behind
	 * what made room. */
	kernel::Atomic<bool> waits_{false};
	kernel::List<ReverseRequest> moving_ RPCORDMA_GUARDED_BY(lock_);
	/* Numbers the connections. */
	std::uint32_t connection_ RPCORDMA_GUARDED_BY(lock_) = 0;
	/* Calls of this connection that have no answer, and all that are not free, of earlier ones too. */
	std::uint32_t unanswered_ RPCORDMA_GUARDED_BY(lock_) = 0;
	std::uint32_t in_use_ RPCORDMA_GUARDED_BY(lock_) = 0;
	/* Calls that were taken, and answers to them. */
	std::uint64_t calls_ RPCORDMA_GUARDED_BY(lock_) = 0;
	std::uint64_t answers_ RPCORDMA_GUARDED_BY(lock_) = 0;
	/* Changed under the lock. A Call comes through the device, after all that was written before its session was made. */
	kernel::Atomic<unsigned int> sessions_{0};
	/* There has been one since this connection was made: what was granted then cannot be taken back. Changed under the
	 * lock. */
	kernel::Atomic<bool> awaited_{false};
	/* That of sunrpc's, in jiffies, while it is switched off. */
	unsigned long idle_timeout_ RPCORDMA_GUARDED_BY(lock_) = 0;
	kernel::Completion *idle_ RPCORDMA_GUARDED_BY(lock_) = nullptr;
};

} // namespace rpcordma::client
