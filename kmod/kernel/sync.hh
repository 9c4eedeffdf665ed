/* SPDX-License-Identifier: GPL-2.0-only */
/* Locks and completions of the kernel's. */
#pragma once

#include <cstdint>

#include "kernel/atomic.hh"
#include "kernel/glue.h"
#include "kernel/thread_safety.hh"

/* The kernel's own functions, where it has them (kmod/cxx.mk). */
#ifndef RPCORDMA_SPIN_LOCK
#define RPCORDMA_SPIN_LOCK rpcordma_spin_lock
#define RPCORDMA_SPIN_UNLOCK rpcordma_spin_unlock
#endif
extern "C" {
void RPCORDMA_SPIN_LOCK(struct spinlock *lock);
void RPCORDMA_SPIN_UNLOCK(struct spinlock *lock);
}

namespace rpcordma::kernel {

/* A spinlock for process context: neither interrupts nor softirqs take it. Nothing sleeps while it is held. */
class RPCORDMA_CAPABILITY("spinlock") SpinLock {
    public:
	explicit SpinLock(rpcordma_lock kind) noexcept { rpcordma_spin_init(lock_.get(), kind); }
	void lock() noexcept RPCORDMA_ACQUIRE() { RPCORDMA_SPIN_LOCK(lock_.get()); }
	void unlock() noexcept RPCORDMA_RELEASE() { RPCORDMA_SPIN_UNLOCK(lock_.get()); }

    private:
	Opaque<spinlock> lock_;
};

/* Holds a lock for a scope. */
class RPCORDMA_SCOPED_CAPABILITY Guard {
    public:
	explicit Guard(SpinLock &lock) noexcept RPCORDMA_ACQUIRE(lock)
		: lock_(lock)
	{
		lock_.lock();
	}
	~Guard() RPCORDMA_RELEASE() { lock_.unlock(); }
	Guard(const Guard &) = delete;
	Guard &operator=(const Guard &) = delete;

    private:
	SpinLock &lock_;
};

/* Holds a lock of the kernel's own for a scope. */
class KernelGuard {
    public:
	explicit KernelGuard(::spinlock &lock) noexcept
		: lock_(lock)
	{
		RPCORDMA_SPIN_LOCK(&lock_);
	}
	~KernelGuard() { RPCORDMA_SPIN_UNLOCK(&lock_); }
	KernelGuard(const KernelGuard &) = delete;
	KernelGuard &operator=(const KernelGuard &) = delete;

    private:
	::spinlock &lock_;
};

/* Something that happens once and can be waited for, in process context. */
class Completion {
    public:
	Completion() noexcept { rpcordma_completion_init(completion_.get()); }
	/* It has not happened (any more). Nobody may be waiting. */
	void reset() noexcept { rpcordma_completion_reset(completion_.get()); }
	void complete() noexcept { ::complete(completion_.get()); }
	/* Whether it happened within that time. */
	[[nodiscard]] bool wait(unsigned long jiffies) noexcept { return wait_within(jiffies) != 0; }
	/* What is left of that time when it has happened; 0 if it has not. */
	[[nodiscard]] unsigned long wait_within(unsigned long jiffies) noexcept
	{
		return wait_for_completion_timeout(completion_.get(), jiffies);
	}
	/* For what is certain to happen: the caller says why. */
	void wait() noexcept { wait_for_completion(completion_.get()); }

    private:
	Opaque<::completion> completion_;
};

/* Lets users in until it is closed. Process context. */
class Gate {
    public:
	/* False where it is closed; else leave() is due. */
	[[nodiscard]] bool enter() noexcept
	{
		if (users_.fetch_add(1) < closed)
			return true;
		leave();
		return false;
	}
	void leave() noexcept
	{
		if (users_.fetch_sub(1) == closed + 1)
			left_.complete();
	}
	/* Lets nobody in any more, and waits until all have left; once. */
	void close() noexcept
	{
		if (users_.fetch_add(closed) != 0)
			left_.wait();
	}

    private:
	static constexpr std::uint32_t closed = 1u << 31;
	/* Who enters after close() has begun sees it, and close() sees all that those did who have left. */
	Atomic<std::uint32_t> users_{0};
	Completion left_;
};

/* Being inside of a gate for a scope, or not. */
class Visit {
    public:
	explicit Visit(Gate &gate) noexcept
		: gate_(gate.enter() ? &gate : nullptr)
	{
	}
	~Visit()
	{
		if (gate_)
			gate_->leave();
	}
	Visit(const Visit &) = delete;
	Visit &operator=(const Visit &) = delete;
	explicit operator bool() const noexcept { return gate_ != nullptr; }

    private:
	Gate *const gate_;
};

} // namespace rpcordma::kernel
