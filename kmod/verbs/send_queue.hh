/* SPDX-License-Identifier: GPL-2.0-only */
/* The send queue of one connection: what is in it, what has room in it, and the buffers that Sends leave from. */
#pragma once

#include <algorithm>
#include <optional>

#include "kernel/atomic.hh"
#include "kernel/heap.hh"
#include "kernel/list.hh"
#include "kernel/reserve.hh"
#include "kernel/sync.hh"
#include "verbs/live.hh"
#include "verbs/mapped_block.hh"
#include "verbs/queue_user.hh"

namespace rpcordma::verbs {

class SendQueue;

struct Chain;

/* A completion of the send queue that somebody waits for. Work requests complete in order: one that is signalled shows
 * that all before it are done with. */
class Signal {
    public:
	/* Called when the work request is done with, or was flushed from a queue pair that is in error: either way the
	 * device no longer touches what it referred to. Process context of the completion queue. */
	using Action = void (*)(Signal &signal) noexcept;

	explicit Signal(Action action) noexcept;

	[[nodiscard]] ib_cqe *cqe() noexcept { return cqe_.get(); }
	/* Nothing of what it is used for now has failed. */
	void reset() noexcept { failure_ = kernel::IB_WC_SUCCESS; }
	/* Hears of the failure of a chain's work requests too, which will be posted to `queue` and are not signalled. From
	 * here on nothing has failed. */
	void watch(SendQueue &queue, const Chain &chain) noexcept;
	/* What the first of them failed with, IB_WC_SUCCESS where none did. One that was flushed has not failed. */
	[[nodiscard]] unsigned int failure() const noexcept { return failure_; }

    private:
	friend class SendQueue;
	static void completed(ib_cq *cq, ib_wc *completion);
	static void failed_before(ib_cq *cq, ib_wc *completion);
	void note(unsigned int status) noexcept;

	kernel::Opaque<ib_cqe> cqe_;
	kernel::Opaque<ib_cqe> watched_;
	const Action action_;
	SendQueue *queue_ = nullptr;
	std::uint32_t mark_ = 0;
	unsigned int failure_ = kernel::IB_WC_SUCCESS;
};

/* What a message leaves from. Nobody but the Send refers to it, so an RPC's own memory is never part of a Send, and can
 * be reused whatever became of the Send. */
class SendBuffer final : public kernel::Heap, public kernel::ListNode<SendBuffer>, private Signal {
    public:
	SendBuffer() noexcept
		: Signal([](Signal &) noexcept {})
	{
	}
	[[nodiscard]] std::span<std::byte> bytes() const noexcept { return block_.bytes(); }

    private:
	friend class SendQueue;

	Counted counted_{live_objects.send_buffers};
	kernel::Opaque<ib_send_wr> request_;
	kernel::Opaque<ib_sge> element_;
	MappedBlock block_;
};

/* A chain of work requests that precedes a Send, or stands alone. */
struct Chain {
	ib_send_wr *first = nullptr;
	ib_send_wr *last = nullptr;
	std::uint32_t count = 0;

	void append(ib_send_wr *request) noexcept;
	/* Appends all that hang together. */
	void append_all(ib_send_wr *first) noexcept;
	/* Takes the first `most` off, and leaves the rest, which must not be empty. */
	[[nodiscard]] Chain cut(std::uint32_t most) noexcept;
};

class SendQueue : public kernel::Heap {
    public:
	/* The buffers that a connection begins with. The Send that takes the last one asks for a completion, so that few buffers
	 * would be many completions. */
	static constexpr std::uint32_t least_buffers = 8;
	/* Those that are kept however long nothing is sent. */
	static constexpr std::uint32_t idle_buffers = 4;

	/* `size` is that of the largest message in bytes, `depth` the number of work requests that fit the queue pair. */
	SendQueue(ib_device *device, u32 lkey, std::uint32_t size, std::uint32_t depth, QueueUser &user) noexcept;
	/* The queue pair has been drained. */
	~SendQueue();

	void attach(ib_qp *qp) noexcept { qp_ = qp; }
	/* The largest message has `size` bytes, no more than was said before. Before there is a buffer. */
	void shrink(std::uint32_t size) noexcept { size_ = size; }
	/* Makes the first `count` buffers; false where there is no memory. */
	[[nodiscard]] bool prepare(std::uint32_t count, gfp_t gfp) noexcept RPCORDMA_EXCLUDES(lock_);

	/* From here on there is room for no more work requests than are done with already, or for one chain, until that is all of
	 * the queue: the device tries again whatever is behind a message that the peer does not take. Before anything is posted. */
	void begin_slow_start() noexcept RPCORDMA_EXCLUDES(lock_);
	/* For who reserves room that is used later: the queue would never be empty, and have no room for a chain. */
	void end_slow_start() noexcept RPCORDMA_EXCLUDES(lock_);
	/* Reserves room for `requests` work requests; false where there is not so much now: QueueUser::room() will say when to
	 * try again. */
	[[nodiscard]] bool reserve(std::uint32_t requests) noexcept RPCORDMA_EXCLUDES(lock_);
	/* Gives up room that was reserved. A full barrier: whoever was refused the room before waits already, and is seen to. */
	void release(std::uint32_t requests) noexcept { (void)released_.fetch_add(requests); }
	/* A buffer for one message; null where there is no memory. */
	[[nodiscard]] SendBuffer *take(gfp_t gfp) noexcept RPCORDMA_EXCLUDES(lock_);
	/* Both: a buffer, and room for its Send and what goes with it, `requests` in all; null where there is none now, or
	 * where less than `spare` would be left, but for what the longest chain may need. */
	[[nodiscard]] SendBuffer *begin(std::uint32_t requests, gfp_t gfp, std::uint32_t spare = 0) noexcept
		RPCORDMA_EXCLUDES(lock_);
	/* Undoes begin(). */
	void abandon(SendBuffer &buffer, std::uint32_t requests) noexcept RPCORDMA_EXCLUDES(lock_);

	/* What a Send does beside carrying its message. */
	struct SendOptions {
		/* Told of the Send's completion, if not null. */
		Signal *watcher = nullptr;
		/* The handle to invalidate at the peer (Send With Invalidate). */
		std::optional<u32> invalidate;
	};
	/* Posts `before` and the first `size` bytes of the buffer as one chain, whose room was reserved. False: the
	 * connection is lost, and nothing will be signalled. */
	[[nodiscard]] bool post(SendBuffer &buffer, std::uint32_t size, Chain before,
				const SendOptions &options) noexcept RPCORDMA_EXCLUDES(lock_);
	/* Posts a message by itself, whose room was not reserved.
	 * Return: false where there is no room now. Where posting fails, the connection is lost. */
	[[nodiscard]] bool post_at_once(SendBuffer &buffer, std::uint32_t size, std::optional<u32> invalidate) noexcept
		RPCORDMA_EXCLUDES(lock_);
	/* Posts a chain whose room was reserved, with `signal` on the last; false where the queue has been stopped or is
	 * broken: then nothing will be signalled. */
	[[nodiscard]] bool post(Chain chain, Signal &signal) noexcept RPCORDMA_EXCLUDES(lock_);
	/* Frees the buffers that have not been needed since the last call, but for idle_buffers. Process context.
	 * Return: whether another call may free more. */
	bool trim() noexcept RPCORDMA_EXCLUDES(lock_);
	/* How far the device has come. */
	struct Progress {
		/* A work request that asks for a completion has not completed. */
		bool is_owed;
		/* Work requests that are done with, modulo 2^32. */
		std::uint32_t retired;
	};
	/* Any context. */
	[[nodiscard]] Progress progress() noexcept RPCORDMA_EXCLUDES(lock_);
	/* Bytes of all buffers that there are. Any context. */
	[[nodiscard]] std::uint64_t memory() const noexcept { return memory_.read(); }
	/* From here on nothing is posted: for draining. */
	void stop() noexcept RPCORDMA_EXCLUDES(lock_);
	/* Frees all buffers. The queue pair has been drained, and nobody uses one or will. */
	void free_buffers() noexcept RPCORDMA_EXCLUDES(lock_);
	/* The most work requests that may be posted as one chain: two of them fit. */
	[[nodiscard]] std::uint32_t longest_chain() const noexcept { return depth_ / 2; }
	/* The completion entry of work requests that nobody waits for: it is heard of only when one fails. */
	[[nodiscard]] ib_cqe *silent() noexcept { return silent_.get(); }

    private:
	friend class Signal;
	static void silent_completed(ib_cq *cq, ib_wc *completion);
	void failed(unsigned int status) noexcept { user_.failed("send queue", rpcordma_status_name(status)); }
	SendBuffer *make(gfp_t gfp) noexcept;
	void fill(SendBuffer &buffer, std::uint32_t size, const SendOptions &options) noexcept;
	[[nodiscard]] bool post_message(SendBuffer &buffer, const Chain &chain, Signal *watcher) noexcept
		RPCORDMA_REQUIRES(lock_);
	[[nodiscard]] bool post_locked(Chain chain, Signal &signal, bool signalled) noexcept RPCORDMA_REQUIRES(lock_);
	/* Of so many work requests in a row, one asks for a completion. */
	[[nodiscard]] std::uint32_t most_unsignalled() const noexcept { return depth_ / 4; }
	[[nodiscard]] bool needs_completion(std::uint32_t requests) const noexcept RPCORDMA_REQUIRES(lock_);
	void retire(std::uint32_t mark) noexcept RPCORDMA_EXCLUDES(lock_);
	[[nodiscard]] std::uint32_t room() const noexcept RPCORDMA_REQUIRES(lock_)
	{
		const std::uint32_t taken = posted_ - retired_ + reserved_ - released_.read();
		return taken == 0 ? depth_ : std::max(window_, taken) - taken;
	}

	ib_device *const device_;
	ib_qp *qp_ = nullptr;
	const u32 lkey_;
	std::uint32_t size_;
	/* In bytes. */
	const std::uint32_t largest_unsignalled_;
	const std::uint32_t depth_;
	QueueUser &user_;
	/* Ordered against nothing. */
	kernel::Atomic<std::uint64_t> memory_{0};
	kernel::Opaque<ib_cqe> silent_;
	kernel::SpinLock lock_{RPCORDMA_LOCK_SEND_QUEUE};
	kernel::Reserve<SendBuffer> free_ RPCORDMA_GUARDED_BY(lock_);
	/* In the order in which they were posted. */
	kernel::List<SendBuffer> in_queue_ RPCORDMA_GUARDED_BY(lock_);
	/* Work requests posted, known to be done with, and signalled last, counted modulo 2^32. */
	std::uint32_t posted_ RPCORDMA_GUARDED_BY(lock_) = 0;
	std::uint32_t retired_ RPCORDMA_GUARDED_BY(lock_) = 0;
	std::uint32_t signalled_ RPCORDMA_GUARDED_BY(lock_) = 0;
	/* In so many messages from here on, one is signalled. */
	std::uint32_t messages_left_ RPCORDMA_GUARDED_BY(lock_) = least_buffers;
	/* Work requests that reserve() promised room to and that have not been posted; and of these, modulo 2^32, those that were
	 * released since, which takes no lock: what is not seen yet is as good as not released. Full barriers against the words in
	 * which others note that they wait for room, such as Outbox::waiting_. */
	std::uint32_t reserved_ RPCORDMA_GUARDED_BY(lock_) = 0;
	kernel::Atomic<std::uint32_t> released_{0};
	/* How many work requests may be posted or have room reserved. Where there are none, one chain may all the same. */
	std::uint32_t window_ RPCORDMA_GUARDED_BY(lock_) = depth_;
	bool stopped_ RPCORDMA_GUARDED_BY(lock_) = false;
};

} // namespace rpcordma::verbs
