/* SPDX-License-Identifier: GPL-2.0-only */
/* Threads that wait for what a connection has too little of now, one kind of thing for each queue. */
#pragma once

#include <atomic>

#include "kernel/list.hh"
#include "kernel/sync.hh"

namespace rpcordma::server {

/* First come, first served; every wait has an end. */
class RoomQueue {
    public:
	enum class Outcome : std::uint8_t { granted, timed_out, ended };

	/* Whether somebody waits. */
	[[nodiscard]] bool is_crowded() const noexcept
	{
		return waiting_.load() != 0;
	}
	/* Calls `attempt` until it returns true: at once where nobody waits, else, one thread at a time and after each room(),
	 * in the order of arrival. A thread whose turn it is waits for no longer than `patience` jiffies. `attempt` may
	 * sleep. Where others could see this thread wait, `waits_no_more` is called in the end. Process context. */
	template <typename Attempt, typename Left>
	[[nodiscard]] Outcome acquire(unsigned long patience, Attempt attempt, Left waits_no_more) noexcept
	{
		if (!is_crowded()) {
			if (attempt())
				return Outcome::granted;
			/* Who has come meanwhile may have missed what this attempt had for a moment. */
			room();
		}
		Waiter waiter;
		join(waiter);
		Outcome outcome;
		for (;;) {
			/* What happens from here on wakes the waiter again. */
			outcome = begin_turn(waiter);
			if (outcome != Outcome::granted)
				break;
			if (!waiter.has_turn) {
				/* Those in front have no longer than that each. */
				(void)waiter.woken.wait(patience);
				continue;
			}
			if (attempt())
				break;
			patience = waiter.woken.wait_within(patience);
			if (patience == 0) {
				outcome = Outcome::timed_out;
				break;
			}
		}
		leave(waiter);
		waits_no_more();
		return outcome;
	}
	/* There may be room now. Any context that may take a spinlock. */
	void room() noexcept RPCORDMA_EXCLUDES(lock_)
	{
		if (!is_crowded())
			return;
		kernel::Guard guard(lock_);
		if (Waiter *const first = waiters_.front())
			first->woken.complete();
	}
	/* Nothing will ever be granted again: ends all waits. */
	void end() noexcept RPCORDMA_EXCLUDES(lock_)
	{
		kernel::Guard guard(lock_);
		ended_ = true;
		waiters_.for_each([](Waiter &waiter) { waiter.woken.complete(); });
	}

    private:
	struct Waiter : kernel::ListNode<Waiter> {
		kernel::Completion woken;
		bool has_turn = false;
	};

	void join(Waiter &waiter) noexcept RPCORDMA_EXCLUDES(lock_)
	{
		kernel::Guard guard(lock_);
		waiters_.push_back(waiter);
		waiting_.fetch_add(1);
	}
	[[nodiscard]] Outcome begin_turn(Waiter &waiter) noexcept RPCORDMA_EXCLUDES(lock_)
	{
		kernel::Guard guard(lock_);
		waiter.woken.reset();
		waiter.has_turn = waiters_.front() == &waiter;
		return ended_ ? Outcome::ended : Outcome::granted;
	}
	void leave(Waiter &waiter) noexcept RPCORDMA_EXCLUDES(lock_)
	{
		kernel::Guard guard(lock_);
		waiters_.remove(waiter);
		waiting_.fetch_sub(1);
		if (Waiter *const next = waiters_.front())
			next->woken.complete();
	}

	kernel::SpinLock lock_{RPCORDMA_LOCK_ROOM_QUEUE};
	kernel::List<Waiter> waiters_ RPCORDMA_GUARDED_BY(lock_);
	bool ended_ RPCORDMA_GUARDED_BY(lock_) = false;
	/* The size of waiters_, for a look without the lock. */
	std::atomic<std::uint32_t> waiting_{0};
};

} // namespace rpcordma::server
