/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts of live objects: all zero when the module is unloaded, or something leaked. */
#pragma once

#include <atomic>

namespace rpcordma {

/* What is counted, in the order in which it is shown. */
#define RPCORDMA_EACH_LIVE_OBJECT(KIND) \
	KIND(transports)                \
	KIND(endpoints)                 \
	KIND(requests)                  \
	KIND(registrations)             \
	KIND(mapped_pages)              \
	KIND(receive_buffers)           \
	KIND(send_buffers)              \
	KIND(transfers)                 \
	KIND(listeners)                 \
	KIND(connect_requests)          \
	KIND(connections)               \
	KIND(calls)                     \
	KIND(pulls)                     \
	KIND(pushes)                    \
	KIND(offered_calls)             \
	KIND(held_pages)

struct LiveObjects {
#define KIND(name) std::atomic<long> name;
	RPCORDMA_EACH_LIVE_OBJECT(KIND)
#undef KIND
};

extern LiveObjects live_objects;

/* Counts its owner's life in one of the above. */
class Counted {
    public:
	explicit Counted(std::atomic<long> &count) noexcept
		: count_(count)
	{
		count_.fetch_add(1, std::memory_order_relaxed);
	}
	~Counted() { count_.fetch_sub(1, std::memory_order_relaxed); }
	Counted(const Counted &) = delete;
	Counted &operator=(const Counted &) = delete;

    private:
	std::atomic<long> &count_;
};

} // namespace rpcordma
