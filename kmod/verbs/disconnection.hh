/* SPDX-License-Identifier: GPL-2.0-only */
/* A disconnection that the peer has not answered yet: the request is repeated until it has. */
#pragma once

#include "kernel/heap.hh"
#include "kernel/list.hh"
#include "kernel/sync.hh"

namespace rpcordma::verbs {

/* The connection manager repeats a disconnect request that is lost, but only while its identifier exists. A peer that receives none
 * keeps the connection until it has something to send, and then until its device has tried for long enough. Calls in the reverse
 * direction that a server sends there meanwhile are lost.
 *
 * A Disconnection owns the rdma_cm_id of a connection that has been disconnected, whose queue pair is gone. It destroys the
 * identifier, and itself, when the peer has answered, when the connection manager has given up, or when the device is removed. It
 * does so after two minutes at the latest. */
class Disconnection : public kernel::Heap, public kernel::ListNode<Disconnection> {
    public:
	/* start() is called before the first connection, stop() after the last. stop() ends those that are not answered. Process
	 * context.
	 * Return: 0 or -ENOMEM. */
	[[nodiscard]] static int start() noexcept;
	static void stop() noexcept;

	/* Whether nothing has to be repeated after an event of this kind: the peer knows of the end, the connection manager has
	 * given up, or the device is being removed. Other events report that an address has changed, or that a neighbour is not
	 * there. Any context. */
	[[nodiscard]] static bool is_needless_after(unsigned int kind) noexcept
	{
		return kind == kernel::RDMA_CM_EVENT_DISCONNECTED || kind == kernel::RDMA_CM_EVENT_REJECTED ||
		       kind == kernel::RDMA_CM_EVENT_DEVICE_REMOVAL;
	}

	/* Takes the identifier over, in any case. Destroys it at once where memory is short, or too many wait. `is_needless` is
	 * asked while no event can come: whether is_needless_after() was true of one. No event is delivered to the identifier's
	 * former owner afterwards. Process context. */
	template <typename Question> static void begin(rdma_cm_id *id, Question is_needless) noexcept
	{
		Disconnection *const disconnection = new (kernel::GFP_ATTEMPT) Disconnection(id);
		/* This sends the request where the first attempt could not, because the device had no memory to stop the queue
		 * pair. In other states it fails, or answers the peer's request. */
		rdma_disconnect(id);
		rdma_lock_handler(id);
		if (disconnection && !is_needless() && disconnection->wait())
			return;
		rdma_unlock_handler(id);
		delete disconnection;
		rdma_destroy_id(id);
	}

    private:
	explicit Disconnection(rdma_cm_id *id) noexcept;

	static int event_handler(rdma_cm_id *id, rdma_cm_event *event);
	/* With the handler's lock, which is given up where the return is true. */
	[[nodiscard]] bool wait() noexcept;
	void event(rdma_cm_event *event) noexcept;
	void end_soon() noexcept;
	void end() noexcept;

	rdma_cm_id *const id_;
	/* Whether it is on the list. Protected by the list's lock. */
	bool waits_ = false;
	kernel::Opaque<delayed_work> end_;
};

} // namespace rpcordma::verbs
