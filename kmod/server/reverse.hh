/* SPDX-License-Identifier: GPL-2.0-only */
/* The responder's end as a requester: Calls in the reverse direction (RFC 8167), such as NFSv4.1's callbacks. To sunrpc it is
 * an rpc_xprt of its own, which lives as long as the connection. */
#pragma once

#include "kernel/atomic.hh"
#include "kernel/counter.hh"
#include "kernel/list.hh"
#include "kernel/observed.h"
#include "kernel/sync.hh"
#include "proto/reverse.hh"
#include "server/offered_call.hh"

namespace rpcordma::server {

class Connection;

/* Calls and Replies travel inline, and by chunks where an administrator says that clients take them. Its lock guards the lists
 * of Calls that offer chunks. */
class ReverseRequester {
    public:
	explicit ReverseRequester(Connection &connection) noexcept;
	/* Before the first Call. `has_reads`: the client may read. */
	void begin(proto::ReverseChunks chunks, bool has_reads) noexcept;

	/* sunrpc's operations; each as sunrpc/xprt.h has it. */

	/* The rpc_xprt of the connection that `args` names.
	 * Return: an error pointer where there is no memory, or one already. */
	[[nodiscard]] static rpc_xprt *open(xprt_create *args, const rpcordma_xprt_kind *kind) noexcept;
	/* Gives the RPC one block for its Call and its Reply, to be given to kfree().
	 * Return: 0 or -ENOMEM, after which sunrpc tries again.
	 * Context: a thread of sunrpc's clients, which must not wait. */
	[[nodiscard]] static int allocate(rpc_rqst *rqst) noexcept;
	/* Context: a thread of sunrpc's clients, which must not wait. It is woken when there is room. */
	[[nodiscard]] static int send(rpc_rqst *rqst) noexcept;

	/* Return: whether the message was a Reply or an RDMA_ERROR. The buffer stays the caller's.
	 * Context: the completion queue's. A callback must not wait for a thread that may itself wait for a callback. */
	[[nodiscard]] bool take(const verbs::ReceiveBuffer &buffer) noexcept RPCORDMA_EXCLUDES(lock_);
	/* There may be more room in the send queue, or more registrations. Process context. */
	void room() noexcept;
	/* The connection is lost: no Call is tried again on it. Process context. */
	void lose() noexcept;
	/* The client reaches nothing of the Call any more. In the context of the completion queue. */
	void fenced(OfferedCall &call) noexcept RPCORDMA_EXCLUDES(lock_);
	/* Says how it stands. Any process context. */
	void observe(rpcordma_connection &to) const noexcept;
	/* The end: nothing completes any more. The memory of Calls without a Reply comes back. */
	void clear() noexcept RPCORDMA_EXCLUDES(lock_);

    private:
	[[nodiscard]] rpc_xprt *xprt() const noexcept;
	[[nodiscard]] int send(rpc_rqst *rqst, rpc_xprt *xprt) noexcept RPCORDMA_EXCLUDES(lock_);
	[[nodiscard]] int refuse(wire::Xid xid) noexcept;
	[[nodiscard]] int wait_for_room(rpc_xprt *xprt, std::uint32_t seen) noexcept;
	[[nodiscard]] OfferedCall *find(wire::Xid xid) noexcept RPCORDMA_REQUIRES(lock_);
	[[nodiscard]] bool take_offered(const verbs::ReceiveBuffer &buffer) noexcept RPCORDMA_EXCLUDES(lock_);
	[[gnu::noinline]] void take_error(wire::Bytes message) noexcept;
	void take_payload(wire::Xid xid, wire::Bytes payload, std::uint32_t credits) noexcept;
	void complete(wire::Xid xid, wire::Bytes reply, std::uint32_t credits) noexcept;
	[[nodiscard]] bool fail(wire::Xid xid) noexcept;
	void discard(wire::Xid xid, proto::ReplyError reason) noexcept;
	void invalidation_not_offered(wire::Xid xid, const verbs::ReceiveBuffer &buffer) noexcept;
	void fence(OfferedCall &call) noexcept;

	Connection &connection_;
	bool has_reads_ = false;
	/* What a Call may offer: never again what the client has refused. Ordered against nothing. */
	kernel::Atomic<proto::ReverseChunks> chunks_{proto::ReverseChunks::never};
	/* Counts the events after which a Call may find room that it lacked. Read before an attempt, and after sunrpc has noted that
	 * somebody waits; an event counts between making room and looking for who waits. */
	kernel::Atomic<std::uint32_t> room_events_{0};
	/* Calls, counted with sunrpc's send lock; Replies to them, and invalidations, by completions. */
	kernel::Counter sent_;
	kernel::Counter answered_;
	kernel::Counter local_invalidations_;
	kernel::SpinLock lock_{RPCORDMA_LOCK_REVERSE_REQUESTER};
	/* Calls whose chunks the client may reach, and those of them that have their answer. */
	kernel::List<OfferedCall> offered_ RPCORDMA_GUARDED_BY(lock_);
	kernel::List<OfferedCall> returning_ RPCORDMA_GUARDED_BY(lock_);
	/* Whether there are some of the former, for a look without the lock. A Call's answer comes through the device, after all
	 * that was written before the Call was posted. */
	kernel::Atomic<bool> any_offered_{false};
};

} // namespace rpcordma::server
