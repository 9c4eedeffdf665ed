/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts of live objects: all zero when the module is unloaded, or something leaked. */
#pragma once

#include "kernel/atomic.hh"

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
	KIND(held_pages)                \
	KIND(kept_pages)

/* Ordered against nothing. */
struct LiveObjects {
#define KIND(name) kernel::Atomic<long> name;
	RPCORDMA_EACH_LIVE_OBJECT(KIND)
#undef KIND
};

extern LiveObjects live_objects;

/* Counts its owner's life in one of the above. */
class Counted {
    public:
	explicit Counted(kernel::Atomic<long> &count) noexcept
		: count_(count)
	{
		count_.add(1);
	}
	~Counted() { count_.sub(1); }
	Counted(const Counted &) = delete;
	Counted &operator=(const Counted &) = delete;

    private:
	kernel::Atomic<long> &count_;
};

} // namespace rpcordma
