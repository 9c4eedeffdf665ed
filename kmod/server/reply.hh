/* SPDX-License-Identifier: GPL-2.0-only */
/* The way of a Reply: planned in proto/, its chunks written, its message sent, all posted as one chain. */
#pragma once

#include "kernel/list.hh"
#include "kernel/reserve.hh"
#include "kernel/sync.hh"
#include "server/served_call.hh"

namespace rpcordma::server {

class StreamReader;

/* The Replies of one connection. Its lock guards the lists of what is on its way. */
class Replies {
    public:
	explicit Replies(Connection &connection) noexcept;

	/* sunrpc's xpo_result_payload(): names a DDP-eligible item of the Reply. */
	static void add_item(svc_rqst *rqst, proto::Item item) noexcept;
	/* sunrpc's xpo_sendto().
	 * Return: 0, or -ENOTCONN where the connection is no longer of use.
	 * Context: a thread of the service. Sleeps for memory. */
	[[nodiscard]] int send(svc_rqst *rqst) noexcept;
	/* Answers a Call with ERR_CHUNK. The reason is for the trace. May sleep. */
	[[gnu::noinline]] void refuse(ServedCall &call, const char *reason) noexcept;
	/* Answers a message with an error (RFC 8166, 4.5). `is_outstanding`: it counts as an unanswered Call. May sleep. */
	[[gnu::noinline]] void refuse(const proto::Refused &message, bool is_outstanding) noexcept;
	/* Answers an optional message, which counts as an unanswered Call. May sleep. */
	void answer(const proto::Option &option) noexcept;
	/* Frees what has not been needed since the last call. Return: whether another call may free more. */
	bool trim() noexcept RPCORDMA_EXCLUDES(lock_);
	/* The end: nothing completes any more, and no thread is inside. */
	void clear() noexcept RPCORDMA_EXCLUDES(lock_);

    private:
	/* These are false where there is no memory. */
	[[nodiscard]] bool transmit(ServedCall &call, svc_rqst *rqst, const proto::ReplyPlan &plan) noexcept;
	[[nodiscard]] bool post(verbs::SendBuffer &message, std::uint32_t size, wire::Xid xid,
				std::optional<u32> invalidate, Push *push) noexcept;
	/* Sends the message that `encode(room, credits)` writes and returns the size of, or an error. */
	template <typename Encode> void answer(wire::Xid xid, bool is_outstanding, Encode encode) noexcept;
	/* Adds what it writes to `written`. */
	[[nodiscard]] bool make_writes(Push &push, const ServedCall &call, const xdr_buf &reply,
				       const proto::ReplyPlan &plan, Written &written) noexcept;
	[[nodiscard]] bool write_chunk(Push &push, const wire::WriteChunk &chunk, StreamReader source,
				       std::uint32_t length, Moved &moved) noexcept;
	/* `writes` is for the account: see Backlog::Answer. */
	[[nodiscard]] std::uint32_t fill(ServedCall &call, const xdr_buf &reply, const proto::ReplyPlan &plan,
					 const Written *writes, std::span<std::byte> message) noexcept;
	[[nodiscard]] Push *make_push(wire::Xid xid) noexcept RPCORDMA_EXCLUDES(lock_);
	void pushed(Push &push) noexcept RPCORDMA_EXCLUDES(lock_);

	Connection &connection_;
	kernel::SpinLock lock_{RPCORDMA_LOCK_REPLIES};
	/* In the send queue or the outbox. */
	kernel::List<Push> pushing_ RPCORDMA_GUARDED_BY(lock_);
	/* Kept for the next RPCs. */
	kernel::Reserve<Push> free_ RPCORDMA_GUARDED_BY(lock_);
};

} // namespace rpcordma::server
