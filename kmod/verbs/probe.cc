// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/probe.hh"

#include <utility>

namespace rpcordma::verbs {

namespace field = kernel::field;

Probe::Probe() noexcept
	: Signal([](Signal &signal) noexcept { static_cast<Probe &>(signal).is_posted_.set(false); })
{
	field::ib_send_wr::opcode(&field::ib_rdma_wr::wr(request_.get())) = kernel::IB_WR_RDMA_WRITE;
}

void Probe::look(SendQueue &queue, std::uint32_t arrived) noexcept
{
	if (std::exchange(arrived_, arrived) != arrived)
		quiet_ = 0;
	else if (++quiet_ % quiet_looks == 0 && !is_posted_.read())
		post(queue);
}

void Probe::post(SendQueue &queue) noexcept
{
	if (!queue.reserve(1))
		return;
	Chain chain;
	chain.append(&field::ib_rdma_wr::wr(request_.get()));
	reset();
	is_posted_.set(true);
	if (!queue.post(chain, *this))
		is_posted_.set(false);
}

} // namespace rpcordma::verbs
