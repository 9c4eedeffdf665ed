/* SPDX-License-Identifier: GPL-2.0-only */
/* The Receives of one connection: as many posted as messages can come, in batches (RFC 8166, 3.3). */
#pragma once

#include "kernel/atomic.hh"
#include "kernel/heap.hh"
#include "kernel/list.hh"
#include "kernel/reserve.hh"
#include "kernel/sync.hh"
#include "verbs/live.hh"
#include "verbs/mapped_block.hh"
#include "verbs/queue_user.hh"
#include "wire/xdr.hh"

namespace rpcordma::verbs {

class ReceiveQueue;

/* What a message arrives in. Belongs to its ReceiveQueue, but from its completion until give_back() to whoever was told
 * of the completion. */
class ReceiveBuffer : public kernel::Heap, public kernel::ListNode<ReceiveBuffer> {
    public:
	/* The message. */
	[[nodiscard]] wire::Bytes message() const noexcept { return std::span(block_.bytes()).first(length_); }
	/* The handle that the peer invalidated along with it (RFC 8797, 3.2), if it did. */
	[[nodiscard]] bool invalidated(u32 &handle) const noexcept
	{
		handle = invalidated_handle_;
		return has_invalidated_;
	}

	/* When the message arrived, by the kernel's clock: for its user, who notes it. */
	std::int64_t arrived_at = 0;

    private:
	friend class ReceiveQueue;
	static void completed(ib_cq *cq, ib_wc *completion);

	Counted counted_{live_objects.receive_buffers};
	kernel::Opaque<ib_cqe> cqe_;
	kernel::Opaque<ib_recv_wr> request_;
	kernel::Opaque<ib_sge> element_;
	MappedBlock block_;
	ReceiveQueue *queue_ = nullptr;
	/* Those that were made before it and after it. */
	ReceiveBuffer *older_ = nullptr;
	ReceiveBuffer *newer_ = nullptr;
	std::uint32_t length_ = 0;
	u32 invalidated_handle_ = 0;
	bool has_invalidated_ = false;
};

/* Its completions come one after the other, in the process context of the connection's completion queue. */
class ReceiveQueue : public kernel::Heap {
    public:
	/* The queue pair may be created later: see attach(). `size` is that of the largest message in bytes, `depth` the
	 * number of Receives that fit the queue pair. */
	ReceiveQueue(ib_device *device, u32 lkey, std::uint32_t size, std::uint32_t depth, QueueUser &user) noexcept
		: device_(device)
		, lkey_(lkey)
		, depth_(depth)
		, user_(user)
		, size_(size)
	{
	}
	/* The queue pair has been drained. */
	~ReceiveQueue();

	void attach(ib_qp *qp) noexcept { qp_ = qp; }
	/* The largest message has `size` bytes, no more than was said before: for buffers that are made from here on. */
	void shrink(std::uint32_t size) noexcept { size_.set(size); }

	/* Sees to it that at least `wanted` Receives are posted, at most the queue's depth; posts `batch` more when it posts
	 * at all. Returns how many are posted. */
	std::uint32_t provide(std::uint32_t wanted, std::uint32_t batch, gfp_t gfp) noexcept RPCORDMA_EXCLUDES(lock_)
	{
		const std::uint32_t at_device = this->at_device();
		return at_device >= wanted ? at_device : post_more(wanted, batch, gfp);
	}
	/* Takes back a buffer; a later provide() posts it. */
	void give_back(ReceiveBuffer &buffer) noexcept RPCORDMA_EXCLUDES(lock_);
	/* Frees the buffers that have not been needed since the last call. Process context.
	 * Return: whether another call may free more. */
	bool trim() noexcept RPCORDMA_EXCLUDES(lock_);
	/* The Receives that have completed, modulo 2^32. Any context. */
	[[nodiscard]] std::uint32_t arrived() const noexcept { return completed_.read(); }
	/* Bytes of all buffers that there are. Any context. */
	[[nodiscard]] std::uint64_t memory() const noexcept { return memory_.read(); }
	/* From here on nothing is posted: for draining. */
	void stop() noexcept RPCORDMA_EXCLUDES(lock_);
	/* Takes all buffers from the device, those that somebody has included: what is in them stays, and give_back() is due
	 * still. The queue pair has been drained, and nobody is in provide() or will be. */
	void unmap() noexcept RPCORDMA_EXCLUDES(lock_);

    private:
	friend class ReceiveBuffer;
	void complete(ReceiveBuffer &buffer, ib_wc *completion) noexcept;
	[[nodiscard]] static const char *lack_of(const ReceiveBuffer &buffer, ib_wc *completion) noexcept;
	ReceiveBuffer *make(gfp_t gfp) noexcept;
	void enlist(ReceiveBuffer &buffer) noexcept RPCORDMA_REQUIRES(lock_);
	void forget(kernel::List<ReceiveBuffer> &buffers) noexcept RPCORDMA_REQUIRES(lock_);
	std::uint32_t post_more(std::uint32_t wanted, std::uint32_t batch, gfp_t gfp) noexcept RPCORDMA_EXCLUDES(lock_);
	void post_spares(std::uint32_t wanted) noexcept RPCORDMA_REQUIRES(lock_);
	/* How many Receives the device has. One that completes meanwhile may be counted still: its message is not to come any more.
	 * One may complete before it is counted as posted. */
	[[nodiscard]] std::uint32_t at_device() const noexcept
	{
		const std::uint32_t completed = completed_.load_acquire();
		const auto difference = static_cast<std::int32_t>(posted_.load_acquire() - completed);
		return difference > 0 ? static_cast<std::uint32_t>(difference) : 0;
	}

	ib_device *const device_;
	ib_qp *qp_ = nullptr;
	const u32 lkey_;
	const std::uint32_t depth_;
	QueueUser &user_;
	/* Ordered against nothing: who sees the old one makes a buffer that is larger than it need be. */
	kernel::Atomic<std::uint32_t> size_;
	kernel::SpinLock lock_{RPCORDMA_LOCK_RECEIVE_QUEUE};
	kernel::Reserve<ReceiveBuffer> spare_ RPCORDMA_GUARDED_BY(lock_);
	/* Ordered against nothing. */
	kernel::Atomic<std::uint64_t> memory_{0};
	/* All there are, wherever they are, begin with this one. */
	ReceiveBuffer *newest_ RPCORDMA_GUARDED_BY(lock_) = nullptr;
	/* Receives that were posted, counted modulo 2^32: written with the lock, released after the posting, acquired by who has the
	 * peer send messages for them. And those that have completed: written by completions, read before the others. */
	kernel::Atomic<std::uint32_t> posted_{0};
	kernel::Atomic<std::uint32_t> completed_{0};
	bool stopped_ RPCORDMA_GUARDED_BY(lock_) = false;
	bool failed_ RPCORDMA_GUARDED_BY(lock_) = false;
};

} // namespace rpcordma::verbs
