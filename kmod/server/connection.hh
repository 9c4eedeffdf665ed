/* SPDX-License-Identifier: GPL-2.0-only */
/* The responder's end of a connection: one of sunrpc's svc_xprt. Takes Calls, sends Replies; what to do with them is decided
 * in proto/, how it is carried out in verbs/. */
#pragma once

#include <algorithm>

#include "kernel/heap.hh"
#include "kernel/list.hh"
#include "kernel/sync.hh"
#include "proto/grants.hh"
#include "server/call.hh"
#include "server/reverse.hh"
#include "server/service.hh"
#include "server/stream.hh"
#include "verbs/endpoint.hh"
#include "verbs/live.hh"
#include "verbs/outbox.hh"

namespace rpcordma::server {

struct ConnectRequest;

/* Receives beyond those that the grant covers: so many Calls too many are noticed, not made to wait by the device, and the
 * Replies of the reverse direction find one. Also how many more are made when some have to be made. */
inline constexpr std::uint32_t spare_receives = 8;
/* Where RDMA Reads are posted, or something waits in the outbox, the send queue is looked at so often, and the connection
 * given up when nothing of it has completed between so many looks: a requester that does not take its Replies, or does not
 * answer RDMA Reads, for so long has lost them. */
inline constexpr unsigned long look_interval = 5 * kernel::HZ;
inline constexpr std::uint32_t most_idle_looks = 3;
/* Calls that the server may have outstanding in the reverse direction. */
inline constexpr std::uint32_t reverse_credits = 2;
/* Of the spare Receives, those that are posted at any time. The others are posted when it comes to less, in one go. */
inline constexpr std::uint32_t least_spare = proto::receives_for_reverse_replies(reverse_credits);

/* Owned by sunrpc through the reference count of its svc_xprt. */
class Connection final : public kernel::Heap, private verbs::Endpoint::User, private verbs::Outbox::Listener {
    public:
	/* Accepts a connection that a listener was asked for, and hands it to sunrpc; null where it came to nothing.
	 * Process context. */
	[[nodiscard]] static svc_xprt *accept(kernel::Owned<ConnectRequest> request, svc_xprt *listener) noexcept;
	[[nodiscard]] static Connection &of(svc_xprt *xprt) noexcept;

	explicit Connection(svc_xprt *listener) noexcept;
	/* Nobody refers to it any more. Process context. */
	~Connection();

	/* sunrpc's operations, on its threads; each as sunrpc/svc_xprt.h has it. */

	/* The next Call: its size, 0 where there is none yet, or a negative errno. */
	[[nodiscard]] int receive(svc_rqst *rqst) noexcept;
	/* Says whether a Call counts as one from a reserved port. */
	void judge_port(svc_rqst *rqst) const noexcept
	{
		rpcordma_rqst_set_secure(rqst, has_secure_port_);
	}
	/* Sends the Reply. */
	[[nodiscard]] int send(svc_rqst *rqst) noexcept;
	/* A DDP-eligible item is part of the Reply. */
	static void add_item(svc_rqst *rqst, proto::Item item) noexcept;
	/* A Call is done with, answered or not. */
	void release(ServedCall &call) noexcept RPCORDMA_EXCLUDES(lock_);
	/* Whether a Call that came now would find room for its Reply. */
	[[nodiscard]] bool has_room() const noexcept
	{
		return !outbox_.is_crowded();
	}
	/* The reverse direction, on threads of sunrpc's clients; each as sunrpc/xprt.h has it. */
	[[nodiscard]] static rpc_xprt *open_reverse(xprt_create *args, const rpcordma_xprt_kind *kind) noexcept;
	[[nodiscard]] static int send_reverse(rpc_rqst *rqst) noexcept;
	/* Ends the connection, and does not wait for that unless the service itself is ending. What begins afterwards finds
	 * that nothing can be sent. */
	void detach() noexcept;

    private:
	/* connection.cc */
	[[nodiscard]] svc_xprt *xprt() noexcept
	{
		return xprt_.get();
	}
	[[nodiscard]] bool start(ConnectRequest &request) noexcept;
	void set_addresses(rdma_cm_id *id) noexcept;
	[[nodiscard]] const sockaddr *peer() noexcept;
	void interrupt() noexcept;
	void begin_end() noexcept;
	void end() noexcept RPCORDMA_EXCLUDES(lock_);
	void take_back() noexcept RPCORDMA_EXCLUDES(lock_);
	void received(verbs::ReceiveBuffer &buffer) noexcept override RPCORDMA_EXCLUDES(lock_);
	[[nodiscard]] std::uint32_t receives_needed() noexcept RPCORDMA_REQUIRES(lock_);
	void keep_receives(std::uint32_t needed) noexcept RPCORDMA_EXCLUDES(lock_);
	void lost() noexcept override;
	void lose_reverse() noexcept;
	void room() noexcept override;
	void established() noexcept override;
	void reverse_room() noexcept;
	void remember_failure(const verbs::Posting &posting) noexcept;
	void posting_waits(wire::Xid xid) noexcept override RPCORDMA_EXCLUDES(lock_);
	void outbox_is_empty() noexcept override;
	void posted_in_part(const verbs::Posting &posting) noexcept override;
	void not_prepared() noexcept override;
	void watch() noexcept RPCORDMA_REQUIRES(lock_);
	void look() noexcept RPCORDMA_EXCLUDES(lock_);

	/* call.cc */
	struct Work {
		Pull *pulled = nullptr;
		ServedCall *waiting = nullptr;
		verbs::ReceiveBuffer *arrived = nullptr;

		[[nodiscard]] bool is_any() const noexcept
		{
			return pulled || waiting || arrived;
		}
	};
	/* How many threads one connection's Calls may take of the service's: never all of several. */
	[[nodiscard]] static constexpr std::uint32_t share_of(std::uint32_t threads) noexcept
	{
		return std::max<std::uint32_t>(threads - std::max<std::uint32_t>(threads / 8, 1), 1);
	}
	[[nodiscard]] int carry_out(const Work &work, svc_rqst *rqst) noexcept;
	void leave_thread() noexcept RPCORDMA_EXCLUDES(lock_);
	[[nodiscard]] bool give_thread_back() noexcept RPCORDMA_REQUIRES(lock_);
	[[nodiscard]] Work next_work() noexcept RPCORDMA_EXCLUDES(lock_);
	/* Whether a thread would find something to do. */
	[[nodiscard]] bool has_work() const noexcept RPCORDMA_REQUIRES(lock_)
	{
		return !arrived_.empty() || !pulled_.empty() || (!waiting_.empty() && reading_.size() < most_reading_);
	}
	[[nodiscard]] bool wants_thread() noexcept RPCORDMA_REQUIRES(lock_);
	[[nodiscard]] int take(verbs::ReceiveBuffer &buffer, svc_rqst *rqst) noexcept;
	[[nodiscard]] int take(const proto::Call &call, verbs::ReceiveBuffer &buffer, svc_rqst *rqst) noexcept;
	[[nodiscard]] ServedCall *make_call(const proto::Call &call, verbs::ReceiveBuffer &buffer) noexcept;
	[[nodiscard]] int deliver(ServedCall &call, svc_rqst *rqst) noexcept;
	[[nodiscard]] int present(ServedCall &call, wire::Bytes front, svc_rqst *rqst) noexcept;
	[[nodiscard]] int refuse(ServedCall &call, const char *reason) noexcept;
	void refuse(const proto::Refused &message, bool is_outstanding) noexcept;
	void ignore(const verbs::ReceiveBuffer &buffer, const char *reason) noexcept;
	[[nodiscard]] std::uint32_t settle(bool is_outstanding) noexcept RPCORDMA_EXCLUDES(lock_);
	void forget(verbs::ReceiveBuffer &buffer) noexcept RPCORDMA_EXCLUDES(lock_);

	/* pull.cc */
	[[nodiscard]] int pull(ServedCall &call, svc_rqst *rqst) noexcept RPCORDMA_EXCLUDES(lock_);
	[[nodiscard]] Pull *make_pull() noexcept RPCORDMA_EXCLUDES(lock_);
	[[nodiscard]] bool fill(Pull &pull) noexcept;
	[[nodiscard]] bool read_segment(Pull &pull, const wire::Segment &segment, std::uint32_t offset) noexcept;
	void pulled(Pull &pull) noexcept RPCORDMA_EXCLUDES(lock_);
	[[nodiscard]] int deliver(Pull &pull, svc_rqst *rqst) noexcept RPCORDMA_EXCLUDES(lock_);

	/* reply.cc */
	[[nodiscard]] bool transmit(ServedCall &call, svc_rqst *rqst, const proto::ReplyPlan &plan,
				    Push *push) noexcept;
	[[nodiscard]] bool transmit(verbs::SendBuffer &message, std::uint32_t size, wire::Xid xid,
				    std::optional<u32> invalidate) noexcept;
	[[nodiscard]] bool make_writes(Push &push, const ServedCall &call, const xdr_buf &reply,
				       const proto::ReplyPlan &plan) noexcept;
	[[nodiscard]] bool write_chunk(Push &push, const wire::WriteChunk &chunk, StreamReader source,
				       std::uint32_t length) noexcept;
	[[nodiscard]] Push *make_push(wire::Xid xid) noexcept RPCORDMA_EXCLUDES(lock_);
	[[nodiscard]] std::uint32_t fill(ServedCall &call, const xdr_buf &reply, const proto::ReplyPlan &plan,
					 std::span<std::byte> message) noexcept;
	static void hold_pages(Push &push, svc_rqst *rqst) noexcept;
	void pushed(Push &push) noexcept RPCORDMA_EXCLUDES(lock_);

	/* reverse.cc */
	friend class OfferedCall;
	[[nodiscard]] int send_reverse(rpc_rqst *rqst, rpc_xprt *xprt) noexcept RPCORDMA_EXCLUDES(lock_);
	[[nodiscard]] int wait_for_reverse_room(rpc_xprt *xprt, std::uint32_t seen) noexcept;
	[[nodiscard]] std::uint32_t fill_reverse(const proto::ReversePlan &plan, rpc_rqst *rqst,
						 const OfferedCall *offered, std::span<std::byte> message) noexcept;
	[[nodiscard]] bool is_offered(wire::Xid xid) noexcept RPCORDMA_EXCLUDES(lock_);
	[[nodiscard]] bool are_returning() noexcept RPCORDMA_EXCLUDES(lock_);
	[[nodiscard]] OfferedCall *find_offered(wire::Xid xid) noexcept RPCORDMA_REQUIRES(lock_);
	[[nodiscard]] bool take_reverse_reply(const verbs::ReceiveBuffer &buffer) noexcept;
	[[nodiscard]] bool take_offered_reply(const verbs::ReceiveBuffer &buffer) noexcept RPCORDMA_EXCLUDES(lock_);
	void discard_reverse_reply(wire::Xid xid, proto::ReplyError reason) noexcept;
	void invalidation_not_offered(wire::Xid xid, const verbs::ReceiveBuffer &buffer) noexcept;
	void fence(OfferedCall &call) noexcept;
	void fenced(OfferedCall &call) noexcept RPCORDMA_EXCLUDES(lock_);
	void complete_reverse(wire::Xid xid, wire::Bytes reply, std::uint32_t credits) noexcept;
	[[nodiscard]] bool fail_reverse(wire::Xid xid) noexcept;
	void forget_offered() noexcept RPCORDMA_REQUIRES(lock_);

	Counted counted_{live_objects.connections};
	kernel::Opaque<svc_xprt> xprt_;
	kernel::Owned<verbs::Endpoint> endpoint_;
	/* Whoever uses the device on behalf of the endpoint, but for its completions and events, is inside. */
	kernel::Gate gate_;
	kernel::Opaque<work_struct> ending_;
	std::atomic<bool> is_accepted_{false};
	std::atomic<bool> is_ending_{false};
	proto::Requester requester_{};
	bool has_secure_port_ = false;
	verbs::TransferPool transfers_;
	verbs::Outbox outbox_{*this};
	kernel::Opaque<delayed_work> looks_;
	/* Whether something of the send queue has completed since the last look. */
	std::atomic<bool> has_moved_{false};
	/* Counts the events after which a Call of the reverse direction may find room that it lacked. */
	std::atomic<std::uint32_t> room_events_{0};

	kernel::SpinLock lock_{RPCORDMA_LOCK_CONNECTION};
	proto::Grants grants_ RPCORDMA_GUARDED_BY(lock_){1};
	/* Messages that no thread has looked at. */
	kernel::List<verbs::ReceiveBuffer> arrived_ RPCORDMA_GUARDED_BY(lock_);
	/* Calls whose chunks will be read when there are fewer Reads. */
	kernel::List<ServedCall> waiting_ RPCORDMA_GUARDED_BY(lock_);
	/* How many threads work for the connection. */
	std::uint32_t threads_ RPCORDMA_GUARDED_BY(lock_) = 0;
	/* Whether there was something to do for one more when these were all that it may have. */
	bool lacks_thread_ RPCORDMA_GUARDED_BY(lock_) = false;
	/* Whether looks go on; how many in a row have seen no movement. */
	bool is_watched_ RPCORDMA_GUARDED_BY(lock_) = false;
	std::uint32_t idle_looks_ RPCORDMA_GUARDED_BY(lock_) = 0;
	/* Calls whose chunks are being read, or wait in the outbox for that, and those that have been. */
	kernel::List<Pull> reading_ RPCORDMA_GUARDED_BY(lock_);
	kernel::List<Pull> pulled_ RPCORDMA_GUARDED_BY(lock_);
	std::uint32_t most_reading_ = 1;
	/* In the send queue or the outbox. */
	kernel::List<Push> pushing_ RPCORDMA_GUARDED_BY(lock_);
	/* Calls in the reverse direction whose chunks the client may reach, and those that have their answer. */
	kernel::List<OfferedCall> offered_ RPCORDMA_GUARDED_BY(lock_);
	kernel::List<OfferedCall> returning_ RPCORDMA_GUARDED_BY(lock_);
	/* Whether there are some of the former, for a look without the lock. */
	std::atomic<bool> any_offered_{false};
	/* What such Calls may use: never again what the client has refused. */
	std::atomic<proto::ReverseChunks> reverse_chunks_{proto::ReverseChunks::never};
	bool has_own_reads_ = false;
	/* Kept for the next RPCs. */
	kernel::List<ServedCall> free_calls_ RPCORDMA_GUARDED_BY(lock_);
	kernel::List<Pull> free_pulls_ RPCORDMA_GUARDED_BY(lock_);
	kernel::List<Push> free_pushes_ RPCORDMA_GUARDED_BY(lock_);
};

} // namespace rpcordma::server
