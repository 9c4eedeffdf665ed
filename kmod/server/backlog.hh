/* SPDX-License-Identifier: GPL-2.0-only */
/* The Calls of a connection that wait for a thread of the service, and the credits that they came by. */
#pragma once

#include "kernel/histogram.hh"
#include "kernel/list.hh"
#include "kernel/observed.h"
#include "kernel/reserve.hh"
#include "kernel/sync.hh"
#include "proto/grants.hh"
#include "proto/reverse.hh"
#include "server/served_call.hh"

namespace rpcordma::server {

/* Calls that the server may have outstanding in the reverse direction. */
inline constexpr std::uint32_t reverse_credits = 2;
/* Receives beyond those that the grant covers. A Call too many meets one of them and is noticed; without it, the device
 * would have the requester try again. Receives are made in steps of this number. */
inline constexpr std::uint32_t spare_receives = 8;
/* The spare Receives that are always posted. The rest is posted in one go when there are fewer. */
inline constexpr std::uint32_t least_spare = proto::receives_for_reverse_replies(reverse_credits);

/* A Call goes from one list to the next: arrived, waiting for its turn to be read, being read, read. Its lock guards the
 * lists, the count of threads and the credits. */
class Backlog {
    public:
	explicit Backlog(Connection &connection) noexcept;
	/* Before the first message. `most_credits` is the largest grant, `most_reading` the number of Calls that are read at
	 * a time, of 1 MiB each or fewer that are larger; both are at least 1. */
	void begin(std::uint32_t most_credits, std::uint32_t most_reading) noexcept RPCORDMA_EXCLUDES(lock_);

	/* A message has come that may be a Call.
	 * Return: false where no grant covers it.
	 * Context: the completion queue's. */
	[[nodiscard]] bool arrived(verbs::ReceiveBuffer &buffer) noexcept RPCORDMA_EXCLUDES(lock_);
	/* Posts the Receives that the grant in force needs, as far as there is memory. Any process context. */
	void keep_receives() noexcept RPCORDMA_EXCLUDES(lock_);

	/* What a thread is to do: one of these, or nothing. */
	struct Work {
		Pull *pulled = nullptr;
		ServedCall *waiting = nullptr;
		verbs::ReceiveBuffer *arrived = nullptr;

		[[nodiscard]] bool is_any() const noexcept { return pulled || waiting || arrived; }
	};
	/* The work of the thread that asks. The thread counts as one of the connection's until leave() or release(). */
	[[nodiscard]] Work next() noexcept RPCORDMA_EXCLUDES(lock_);
	/* The thread has brought no Call to the upper layer. */
	void leave() noexcept RPCORDMA_EXCLUDES(lock_);

	/* A record of a Call that came in `buffer`, which belongs to it now.
	 * Return: null where there is no memory. */
	[[nodiscard]] ServedCall *make_call(const proto::Call &message, verbs::ReceiveBuffer &buffer) noexcept
		RPCORDMA_EXCLUDES(lock_);
	/* A Call is done with, answered or not, and so is its thread if the upper layer had it. */
	void release(ServedCall &call) noexcept RPCORDMA_EXCLUDES(lock_);
	/* A message is done with that was no Call. */
	void dismiss(verbs::ReceiveBuffer &buffer) noexcept RPCORDMA_EXCLUDES(lock_);

	/* For the RDMA Reads of a Call.
	 * Return: null where there is no memory. */
	[[nodiscard]] Pull *make_pull(ServedCall &call) noexcept RPCORDMA_EXCLUDES(lock_);
	/* Return: whether the Call may be read now. Where as many are read as may be, it waits, and the Pull is gone. */
	[[nodiscard]] bool begin_read(Pull &pull) noexcept RPCORDMA_EXCLUDES(lock_);
	/* All of the Call has been read: a thread may have it. */
	void pulled(Pull &pull) noexcept RPCORDMA_EXCLUDES(lock_);
	void keep(Pull &pull) noexcept RPCORDMA_EXCLUDES(lock_);

	/* A Reply, and how it travels. */
	struct Answer {
		const ServedCall &call;
		std::uint32_t inline_size;
		/* Null where nothing is written and nothing invalidated. */
		const Written *written;
	};
	/* A message is about to be sent, in answer to an outstanding Call or not: a Reply, or an error where `answer` is null.
	 * Return: the credits that it is to grant. The Receives for them are posted. */
	[[nodiscard]] std::uint32_t settle(bool is_outstanding, const Answer *answer) noexcept RPCORDMA_EXCLUDES(lock_);

	/* The credits, the messages that have come and gone, how, and how long Calls have taken to be answered. */
	struct Account {
		proto::Grants grants;
		std::uint64_t received;
		std::uint64_t sent;
		kernel::Histogram<RPCORDMA_LATENCIES> latencies;
		Traffic traffic;
	};
	/* Any process context. */
	[[nodiscard]] Account account() noexcept RPCORDMA_EXCLUDES(lock_)
	{
		kernel::Guard guard(lock_);
		return {grants_, received_, sent_, latencies_, traffic_};
	}

	/* Frees what has not been needed since the last call, and has the next Replies grant less where less was used. Sees whether
	 * there are threads now for Calls that lacked one. Process context.
	 * Return: whether another call may free more. */
	bool trim() noexcept RPCORDMA_EXCLUDES(lock_);
	/* The end: nothing completes any more, and no thread is inside.
	 * Return: how many Calls have no answer. */
	std::uint32_t clear() noexcept RPCORDMA_EXCLUDES(lock_);

    private:
	[[nodiscard]] std::uint32_t receives_needed() const noexcept RPCORDMA_REQUIRES(lock_)
	{
		return grants_.receives_for(grants_.in_force()) + least_spare;
	}
	void provide(std::uint32_t receives) noexcept RPCORDMA_EXCLUDES(lock_);
	/* Whether one more Call may be read: neither as many are as may be, nor as much. */
	[[nodiscard]] bool may_read() const noexcept RPCORDMA_REQUIRES(lock_)
	{
		return reading_.size() < most_reading_ && reading_bytes_ < std::uint64_t{most_reading_} << 20;
	}
	void count(const Answer &answer, std::int64_t taken) noexcept RPCORDMA_REQUIRES(lock_);
	[[nodiscard]] bool wants_thread() noexcept RPCORDMA_REQUIRES(lock_);
	[[nodiscard]] bool leave_locked() noexcept RPCORDMA_REQUIRES(lock_);
	[[nodiscard]] bool may_have_thread() noexcept RPCORDMA_REQUIRES(lock_);

	Connection &connection_;
	kernel::SpinLock lock_{RPCORDMA_LOCK_BACKLOG};
	proto::Grants grants_ RPCORDMA_GUARDED_BY(lock_){1};
	/* Messages that may be Calls, and Replies and errors. */
	std::uint64_t received_ RPCORDMA_GUARDED_BY(lock_) = 0;
	std::uint64_t sent_ RPCORDMA_GUARDED_BY(lock_) = 0;
	/* From a Call's arrival to its Reply, in nanoseconds. */
	kernel::Histogram<RPCORDMA_LATENCIES> latencies_ RPCORDMA_GUARDED_BY(lock_);
	Traffic traffic_ RPCORDMA_GUARDED_BY(lock_);
	kernel::List<verbs::ReceiveBuffer> arrived_ RPCORDMA_GUARDED_BY(lock_);
	kernel::List<ServedCall> waiting_ RPCORDMA_GUARDED_BY(lock_);
	/* The RDMA Reads of these are posted, or in the outbox. */
	kernel::List<Pull> reading_ RPCORDMA_GUARDED_BY(lock_);
	std::uint64_t reading_bytes_ RPCORDMA_GUARDED_BY(lock_) = 0;
	kernel::List<Pull> pulled_ RPCORDMA_GUARDED_BY(lock_);
	std::uint32_t most_reading_ RPCORDMA_GUARDED_BY(lock_) = 1;
	/* How many threads work for the connection. */
	std::uint32_t threads_ RPCORDMA_GUARDED_BY(lock_) = 0;
	/* Whether there was work for one more when these were all that the connection may have. */
	bool lacks_thread_ RPCORDMA_GUARDED_BY(lock_) = false;
	/* Kept for the next RPCs. */
	kernel::Reserve<ServedCall> free_calls_ RPCORDMA_GUARDED_BY(lock_);
	kernel::Reserve<Pull> free_pulls_ RPCORDMA_GUARDED_BY(lock_);
};

} // namespace rpcordma::server
