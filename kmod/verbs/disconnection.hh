/* SPDX-License-Identifier: GPL-2.0-only */
/* A disconnection that the peer has not answered yet: the request is repeated until it has. */
#pragma once

#include "kernel/heap.hh"
#include "kernel/list.hh"
#include "kernel/sync.hh"

namespace rpcordma::verbs {

/* The connection manager repeats a disconnect request that is lost, but only while its identifier is there. A peer that gets none
 * keeps the connection until it has something to send, and then until its device has tried for long enough. Until then a server
 * sends its Calls in the reverse direction there, in vain.
 *
 * Owns the rdma_cm_id of a connection that has been disconnected, whose queue pair is gone. Destroys it, and itself, when the peer
 * has answered, when the connection manager has given up, or when the device goes: within two minutes. */
class Disconnection : public kernel::Heap, public kernel::ListNode<Disconnection> {
    public:
	/* Before the first connection, and after the last: those that are not answered end. Process context.
	 * Return: 0 or -ENOMEM. */
	[[nodiscard]] static int start() noexcept;
	static void stop() noexcept;

	/* Takes the identifier over, in any case, and destroys it at once where memory is short, or too many are waiting.
	 * `is_needless` is asked while no event can come: true where the peer knows, or where the device is going. No event
	 * finds the identifier's former owner afterwards. Process context. */
	template <typename Question> static void begin(rdma_cm_id *id, Question is_needless) noexcept
	{
		Disconnection *const disconnection = new (kernel::GFP_ATTEMPT) Disconnection(id);
		/* Sends the request where the first attempt could not, because the device had no memory to stop the queue
		 * pair. Otherwise it does nothing. */
		rdma_disconnect(id);
		rdma_lock_handler(id);
		const bool waits = disconnection && !is_needless() && disconnection->wait();
		rdma_unlock_handler(id);
		if (waits)
			return;
		delete disconnection;
		rdma_destroy_id(id);
	}

    private:
	explicit Disconnection(rdma_cm_id *id) noexcept;

	static int event_handler(rdma_cm_id *id, rdma_cm_event *event);
	[[nodiscard]] bool wait() noexcept;
	void event(rdma_cm_event *event) noexcept;
	void end_soon() noexcept;
	void end() noexcept;

	rdma_cm_id *const id_;
	/* Whether it is on the list of those whose end is not due. Under the list's lock. */
	bool waits_ = false;
	kernel::Opaque<delayed_work> end_;
};

} // namespace rpcordma::verbs
