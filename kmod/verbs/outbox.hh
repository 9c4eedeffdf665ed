/* SPDX-License-Identifier: GPL-2.0-only */
/* What a responder has to post and there is no room for yet. It waits here: no thread does. */
#pragma once

#include "kernel/atomic.hh"
#include "proto/failures.hh"
#include "verbs/send_queue.hh"
#include "verbs/transfer.hh"
#include "wire/header.hh"

namespace rpcordma::verbs {

class Outbox;

/* What is posted for one RPC: RDMA Reads, or a message and the RDMA Writes that precede it. As a Signal it completes when all
 * of it is done with. What the end of the connection finds in an outbox never does. */
class Posting : public kernel::ListNode<Posting>, public Signal {
    public:
	explicit Posting(Action done) noexcept;

	/* Made, and not prepared: registrations are taken when it is posted. Whoever finishes them may do so at any time
	 * after the posting has completed, or the queue pair has been drained. */
	Transfers transfers;
	/* Null where there is none, and from when it is posted on: then it is the send queue's. */
	SendBuffer *message = nullptr;
	std::uint32_t message_size = 0;
	/* The handle that the message invalidates at the peer. */
	std::optional<u32> invalidate;
	/* Of the RPC, for who is told. */
	wire::Xid xid{};
	proto::Transaction transaction{};

	/* What the first of its work requests failed with, IB_WC_SUCCESS where none did. */
	[[nodiscard]] unsigned int failure() const noexcept
	{
		return front_.failure() != kernel::IB_WC_SUCCESS ? front_.failure() : Signal::failure();
	}

    private:
	friend class Outbox;

	/* Of the part that was posted last, and is not all. */
	struct Front final : Signal {
		explicit Front(Posting &posting) noexcept;

		Posting &owner;
		/* The completion clears it before it takes the outbox's lock, which whoever finds it set takes afterwards. */
		kernel::Atomic<bool> is_posted{false};
	};

	/* Of those that are left, how many work requests the transfers have: prepared once some are posted. */
	[[nodiscard]] std::uint32_t left() noexcept { return has_begun_ ? rest_.count : requests_of(transfers); }

	Outbox *outbox_ = nullptr;
	Front front_;
	bool has_begun_ = false;
	Chain rest_;
};

/* In front of the send queue of one connection. First come, first served: what waits holds neither room nor registrations,
 * but for the first, which may have been posted in part. Nothing in here sleeps for anything but memory. */
class Outbox {
    public:
	/* Who is told. Process context, no lock held. */
	struct Listener {
		/* Something of that RPC has to wait. */
		virtual void posting_waits(wire::Xid xid) noexcept = 0;
		/* Nothing waits any more. */
		virtual void outbox_is_empty() noexcept = 0;
		/* A part of a posting is done with, or was flushed. */
		virtual void posted_in_part(const Posting &posting) noexcept = 0;
		/* It could not be prepared, and never will be: the connection is no longer of use. */
		virtual void not_prepared() noexcept = 0;

	    protected:
		~Listener() = default;
	};

	explicit Outbox(Listener &listener) noexcept
		: listener_(listener)
	{
	}
	/* Before anything is put. The queue outlives all that is put. */
	void attach(SendQueue &queue) noexcept { queue_ = &queue; }

	/* Whether something waits. */
	[[nodiscard]] bool is_crowded() const noexcept { return waiting_.read() != 0; }
	/* Posts a message by itself where that can be done at once; false where it has to be put as a Posting. */
	[[nodiscard]] bool post(SendBuffer &message, std::uint32_t size, std::optional<u32> invalidate) noexcept;
	/* Posts it when its turn has come and there is room. Owned by the caller, who hears of its completion, at any time
	 * from here on. Process context; may sleep for memory. */
	void put(Posting &posting) noexcept RPCORDMA_EXCLUDES(lock_);
	/* There may be more room or registrations now. Process context; may sleep for memory, but waits for none to be
	 * written. */
	void room() noexcept RPCORDMA_EXCLUDES(lock_)
	{
		if (is_crowded()) [[unlikely]]
			advance();
	}
	/* Takes back what waits. Nothing is posted any more, and nobody puts anything. */
	void clear() noexcept RPCORDMA_EXCLUDES(lock_);

    private:
	friend class Posting;
	enum class Outcome : std::uint8_t { gone, waits };
	enum class Parts : bool { no, yes };

	[[nodiscard]] Outcome post(Posting &posting, Parts may_go_in_parts) noexcept;
	[[nodiscard]] Outcome post_prepared(Posting &posting, Parts may_go_in_parts) noexcept;
	void advance() noexcept RPCORDMA_EXCLUDES(lock_);
	[[nodiscard]] Posting *next() noexcept RPCORDMA_EXCLUDES(lock_);
	void front_done(Posting &posting) noexcept;

	Listener &listener_;
	SendQueue *queue_ = nullptr;
	kernel::SpinLock lock_{RPCORDMA_LOCK_OUTBOX};
	kernel::List<Posting> postings_ RPCORDMA_GUARDED_BY(lock_);
	/* Somebody goes through them; whether there has been room since that one looked last. */
	bool is_advancing_ RPCORDMA_GUARDED_BY(lock_) = false;
	bool has_room_ RPCORDMA_GUARDED_BY(lock_) = false;
	/* Those that wait, with the one that is being looked at. Who finds some looks again when the listener hears that there
	 * are none; a full barrier stands between the last one's going and that. Counting one is a full barrier too: then what
	 * SendQueue::release() gave up before it looked here is seen. */
	kernel::Atomic<std::uint32_t> waiting_{0};
};

} // namespace rpcordma::verbs
