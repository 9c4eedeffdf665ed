/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether the peer of an idle connection is still there. */
#pragma once

#include "verbs/send_queue.hh"

namespace rpcordma::verbs {

/* A peer that loses its power, its network or its address cannot say so, and RDMA has no keep-alive of its own: a connection
 * on which nothing is posted stays. An RDMA Write of no bytes changes nothing at the peer and is not seen by its upper layer, but
 * its device has to acknowledge it. Where none does, the queue fails. For a responder: a requester admits RDMA Writes in any case
 * (RFC 8166, 3.2), and needs no handle for no bytes (InfiniBand Architecture 1.4, C9-88).
 *
 * The owner comes by now and then, always in the same intervals. Not synchronised. */
class Probe final : private Signal {
    public:
	/* The peer is probed in every so many looks at a connection on which nothing arrives. */
	static constexpr std::uint32_t quiet_looks = 3;

	Probe() noexcept;
	/* `arrived` is the number of messages that have come so far, modulo 2^32. Posts nothing where the last probe is under way
	 * still, or where there is no room. Process context. The queue is drained before the Probe goes. */
	void look(SendQueue &queue, std::uint32_t arrived) noexcept;

    private:
	void post(SendQueue &queue) noexcept;

	kernel::Opaque<ib_rdma_wr> request_;
	std::uint32_t arrived_ = 0;
	std::uint32_t quiet_ = 0;
	/* Ordered against nothing: a completion that is seen one look late costs one probe. */
	kernel::Atomic<bool> is_posted_{false};
};

} // namespace rpcordma::verbs
