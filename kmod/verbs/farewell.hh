/* SPDX-License-Identifier: GPL-2.0-only */
/* Says to a peer that a connection is over until the peer has heard it. */
#pragma once

#include "kernel/heap.hh"
#include "kernel/list.hh"
#include "kernel/sync.hh"

namespace rpcordma::verbs {

/* The connection manager repeats a disconnect request that is lost, but only while its identifier is there. A peer that hears
 * none keeps the connection until it has something to send, and then until its device has tried for long enough. Until then a
 * server sends its Calls in the reverse direction there, in vain.
 *
 * Owns the rdma_cm_id of a connection that has been disconnected, whose queue pair is gone. Destroys it, and itself, when the peer
 * has answered, when the connection manager has given up, or when the device goes: within some 90 s. */
class Farewell : public kernel::Heap, public kernel::ListNode<Farewell> {
    public:
	/* Before the first connection, and after the last: all that have not been answered end. Process context.
	 * Return: 0 or -ENOMEM. */
	[[nodiscard]] static int start() noexcept;
	static void stop() noexcept;

	/* Takes the identifier over, in any case. `is_needless` is asked while no event can come: true where the peer knows, or
	 * where the device is going. No event finds the identifier's former owner afterwards. Process context. */
	template <typename Question> static void begin(rdma_cm_id *id, Question is_needless) noexcept
	{
		Farewell *const farewell = new (kernel::GFP_KERNEL) Farewell(id);
		rdma_lock_handler(id);
		const bool waits = farewell && !is_needless();
		if (waits)
			farewell->wait();
		rdma_unlock_handler(id);
		if (waits)
			return;
		delete farewell;
		rdma_destroy_id(id);
	}

    private:
	explicit Farewell(rdma_cm_id *id) noexcept;

	static int event_handler(rdma_cm_id *id, rdma_cm_event *event);
	void wait() noexcept;
	void event(rdma_cm_event *event) noexcept;
	void end() noexcept;

	rdma_cm_id *const id_;
	kernel::Opaque<delayed_work> end_;
};

} // namespace rpcordma::verbs
