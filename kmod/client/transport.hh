/* SPDX-License-Identifier: GPL-2.0-only */
/* The requester: one of sunrpc's transports. Connects, sends Calls and takes Replies; what it may send and accept is
 * decided in proto/, how it is carried out in verbs/. */
#pragma once

#include <atomic>
#include <optional>

#include "client/request.hh"
#include "client/reverse.hh"
#include "kernel/list.hh"
#include "kernel/sync.hh"
#include "proto/assembly.hh"
#include "proto/credits.hh"
#include "proto/received.hh"
#include "verbs/endpoint.hh"
#include "verbs/live.hh"
#include "verbs/transfer.hh"

namespace rpcordma::client {

/* What /proc/self/mountstats shows behind sunrpc's own numbers, in its order. Written by the sending and the receiving
 * context, each its own members; local_invalidations under lock_. */
struct Statistics {
	/* Sending. */
	unsigned long read_chunks = 0;
	unsigned long write_chunks = 0;
	unsigned long reply_chunks = 0;
	unsigned long long request_bytes = 0;
	unsigned long long pulled_up = 0;
	unsigned long failed_marshal = 0;
	unsigned long nomsg_calls = 0;
	unsigned long no_send_room = 0;
	/* Receiving. */
	unsigned long long reply_bytes = 0;
	unsigned long long fixed_up = 0;
	unsigned long bad_replies = 0;
	unsigned long local_invalidations = 0;
	/* Both. */
	unsigned long registrations_lost = 0;
};

/* The memory of a Payload stream. */
struct Runs;

/* Lives behind its rpc_xprt, in one allocation of sunrpc's. */
class Transport final : private verbs::Endpoint::User {
    public:
	[[nodiscard]] static Transport &of(rpc_xprt *xprt) noexcept;
	[[nodiscard]] static Transport &of(const rpc_rqst *rqst) noexcept;
	/* The size to allocate for an rpc_xprt and its Transport. */
	[[nodiscard]] static std::size_t allocation() noexcept;

	Transport(rpc_xprt *xprt, const sockaddr *source, std::size_t source_length) noexcept;
	/* close() has been called. */
	~Transport();

	/* sunrpc's operations; each as sunrpc/xprt.h has it. */

	/* Takes the send lock over from the task. */
	void connect(rpc_task *task) noexcept;
	/* With the send lock held. Sleeps. */
	[[nodiscard]] int send(rpc_rqst *rqst) noexcept;
	[[nodiscard]] int allocate(rpc_rqst *rqst) noexcept;
	void release(rpc_rqst *rqst) noexcept;
	/* For a Call that has waited in vain: no Reply came in time, or the connection is going. From its task's callback,
	 * which may have the task sleep; does not wait itself. */
	void unanswered(rpc_rqst *rqst, bool timed_out) noexcept;
	/* The task that unanswered() had sleep goes on: its memory is back, or not in time, or it was killed. */
	void fenced(rpc_task *task) noexcept RPCORDMA_EXCLUDES(lock_);
	/* With the send lock held, or when nobody can call any more. Sleeps. */
	void close() noexcept;
	void cancel_connect() noexcept;
	/* Fault injection, of a task that need not have the send lock: another may be closing the connection. */
	void break_off() noexcept;
	/* Has the connection closed, and a new one made when there is something to send. */
	void give_up(const char *reason) noexcept;
	void set_timeouts(unsigned long connect, unsigned long reconnect) noexcept;
	[[nodiscard]] int print_source(char *buffer, std::size_t size) noexcept;
	[[nodiscard]] unsigned short source_port() noexcept;
	void print_statistics(seq_file *file) noexcept;
	/* On this and all earlier connections. */
	[[nodiscard]] unsigned long registrations_made() noexcept;
	/* The largest Call and Reply of the reverse direction that a peer can send and take without chunks, in bytes. */
	[[nodiscard]] std::size_t reverse_size() noexcept;
	/* What answers Calls of the responder's on this transport's connections. */
	[[nodiscard]] ReverseResponder &reverse() noexcept
	{
		return reverse_;
	}

    private:
	friend class Request;
	friend class ReverseResponder;

	/* connect.cc */
	void attempt() noexcept;
	[[nodiscard]] proto::ConnectOutcome connect_to(const verbs::EndpointWishes &wishes) noexcept;
	void drop_endpoint() noexcept;
	void sweep() noexcept;

	/* call.cc */
	[[nodiscard]] Sent transmit(Request &request, rpc_rqst *rqst) noexcept;
	[[nodiscard]] std::optional<Sent> prepare(rpc_rqst *rqst) noexcept;
	[[nodiscard]] std::optional<proto::Plan> plan_call(const rpc_rqst *rqst, const Runs &call,
							   const Runs &reply) noexcept;
	[[nodiscard]] verbs::Mapped advertise(Request &request, const Runs &call, const Runs &reply,
					      const proto::Plan &plan, verbs::Registrations &taken,
					      verbs::Chain &chain) noexcept;
	[[nodiscard]] std::uint32_t fill(Request &request, rpc_rqst *rqst, const proto::Plan &plan,
					 std::span<std::byte> message) noexcept;
	[[nodiscard]] bool post(Request &request, verbs::SendBuffer &buffer, std::uint32_t size,
				const verbs::Chain &chain) noexcept;
	/* Ends an RPC whose Call can never be sent, with EIO. */
	[[nodiscard]] int fail_unsent(rpc_rqst *rqst) noexcept;
	[[nodiscard]] int wait_for_room(std::uint32_t seen) noexcept;
	[[nodiscard]] Sent held(const rpc_rqst *rqst, const char *reason, Sent result) noexcept;
	void trace_advertised(const Request &request, const rpc_rqst *rqst, const proto::Plan &plan) noexcept;
	void count(const Request &request, const proto::Plan &plan) noexcept;

	/* reply.cc */
	void received(verbs::ReceiveBuffer &buffer) noexcept override;
	void drop(const verbs::ReceiveBuffer &buffer, proto::Dropped reason) noexcept;
	void reply(const proto::ForCall &message, verbs::ReceiveBuffer &buffer) noexcept;
	[[nodiscard]] proto::Grant replied(Request &request, const proto::Accepted &accepted,
					   const proto::ForCall &message, verbs::ReceiveBuffer &buffer) noexcept
		RPCORDMA_REQUIRES(lock_);
	void discard(wire::Xid xid, proto::ReplyError reason) noexcept;
	void await_another(Request &request) noexcept RPCORDMA_EXCLUDES(lock_);
	void unusual_grant(const proto::ForCall &message, proto::Grant grant) noexcept;
	void trace_accepted(const proto::ForCall &message, const proto::Accepted &accepted) noexcept;
	void bad_reply(wire::Xid xid, const char *reason) noexcept;
	void no_call(const proto::ForCall &message, verbs::ReceiveBuffer &buffer) noexcept;
	[[nodiscard]] static bool mark_invalidated(Request &request, const verbs::ReceiveBuffer &buffer) noexcept;
	void invalidation_not_offered(wire::Xid xid, const verbs::ReceiveBuffer &buffer) noexcept;
	/* True where the peer has invalidated everything. Else invalidated() will be called; or, where the connection is
	 * being closed, sweep() comes by. */
	[[nodiscard]] bool invalidate(Request &request) noexcept RPCORDMA_REQUIRES(lock_);
	void let_go(rpc_rqst *rqst, verbs::ReceiveBuffer &buffer) noexcept;
	void check_stray_invalidation(const verbs::ReceiveBuffer &buffer) noexcept;
	/* Whether a call that awaits its reply has offered memory by this handle. */
	[[nodiscard]] bool is_in_use(wire::Handle handle) noexcept RPCORDMA_EXCLUDES(lock_);
	void invalidated(Request &request) noexcept;
	void finish(Request &request) noexcept;
	[[nodiscard]] std::expected<int, proto::ReplyError> take_reply(Request &request) noexcept;
	[[nodiscard]] static int say_failed(rpc_rqst *rqst, int error) noexcept;
	/* Unmaps what a request advertised; the peer can no longer reach it. */
	void give_back_memory(Request &request) noexcept;
	void trace_invalidated(Request &request, const char *by) noexcept;
	/* Whoever has waited for that goes on with the request, or frees it, as soon as the lock is free. */
	void memory_is_back(Request &request) noexcept RPCORDMA_REQUIRES(lock_);
	/* What becomes of memory that nobody is to reach any more. */
	enum class Fence : std::uint8_t {
		/* There is none; or a reply is being worked on, which brings it back, and ends the call. */
		none,
		/* The peer has invalidated all of it: invalidated() is due. */
		due,
		/* invalidated() will be called, or sweep() comes by. */
		awaited,
	};
	[[nodiscard]] Fence begin_fence(Request &request) noexcept RPCORDMA_REQUIRES(lock_);
	/* Has the task sleep for that. */
	[[nodiscard]] Fence begin_sleep(Request &request, bool timed_out) noexcept RPCORDMA_EXCLUDES(lock_);
	/* Sleeps until the peer cannot reach what a request advertised that nobody wants a reply to any more. */
	void fence(Request &request) noexcept;
	void abandon(Request &request) noexcept RPCORDMA_REQUIRES(lock_);
	void keep_receives() noexcept;

	[[nodiscard]] const sockaddr *peer() const noexcept;
	void useful() noexcept RPCORDMA_EXCLUDES(reconnection_lock_);
	[[nodiscard]] bool backs_off() noexcept RPCORDMA_EXCLUDES(reconnection_lock_);
	[[nodiscard]] std::uint64_t since_connect_began() const noexcept RPCORDMA_REQUIRES(reconnection_lock_);
	void end(proto::Reconnection::By by) noexcept RPCORDMA_EXCLUDES(reconnection_lock_);
	void lost() noexcept override;
	void room() noexcept override;
	[[nodiscard]] bool carries_swap() noexcept override;

	Counted counted_{live_objects.transports};
	rpc_xprt *const xprt_;
	kernel::Opaque<sockaddr_storage> wanted_source_;
	bool has_wanted_source_ = false;
	kernel::Opaque<delayed_work> connect_work_;
	/* This mount's, where it is not the default. */
	kernel::Opaque<rpc_timeout> timeout_;
	kernel::SpinLock reconnection_lock_{RPCORDMA_LOCK_RECONNECTION};
	proto::Reconnection reconnection_ RPCORDMA_GUARDED_BY(reconnection_lock_);
	/* When the last attempt to connect began, in jiffies. */
	unsigned long connect_began_ RPCORDMA_GUARDED_BY(reconnection_lock_) = 0;
	/* Whether this connection has brought a reply, for a look without the lock. */
	std::atomic<bool> useful_{false};

	/* The send lock of sunrpc's covers changes; what runs without that lock looks under lock_. Completions may use
	 * it as it is, because close() waits for them. */
	kernel::Owned<verbs::Endpoint> endpoint_;

	kernel::SpinLock lock_{RPCORDMA_LOCK_TRANSPORT};
	kernel::List<Request> free_ RPCORDMA_GUARDED_BY(lock_);
	/* Requests with memory that the peer may reach. */
	kernel::List<Request> advertising_ RPCORDMA_GUARDED_BY(lock_);
	proto::Credits credits_ RPCORDMA_GUARDED_BY(lock_){1};
	/* Calls without a reply on this connection, those of them that nobody waits for any more, and replies that came
	 * between a call's end and its release. */
	std::uint32_t in_flight_ RPCORDMA_GUARDED_BY(lock_) = 0;
	std::uint32_t abandoned_ RPCORDMA_GUARDED_BY(lock_) = 0;
	std::uint32_t unclaimed_ RPCORDMA_GUARDED_BY(lock_) = 0;
	/* Tasks whose memory is on its way out of the peer's reach. */
	kernel::Opaque<rpc_wait_queue> fences_;
	ReverseResponder reverse_{*this};
	/* Numbers the connections. */
	std::uint32_t connection_ RPCORDMA_GUARDED_BY(lock_) = 0;
	unsigned long registrations_of_past_connections_ RPCORDMA_GUARDED_BY(lock_) = 0;
	kernel::Opaque<sockaddr_storage> source_ RPCORDMA_GUARDED_BY(lock_);

	/* Counts the events after which a Call may find room that it lacked. */
	std::atomic<std::uint32_t> room_events_{0};
	Statistics statistics_;
};

} // namespace rpcordma::client
