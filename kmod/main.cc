// SPDX-License-Identifier: GPL-2.0-only
/* What runs when the module is loaded and unloaded. */
#include "kernel/entry.h"
#include "kernel/kernel.hh"

namespace rpcordma {

/* A workqueue while the module has nothing better to do: shows each of the tables at work. */
static constinit workqueue_struct *queue;

} // namespace rpcordma

int rpcordma_start(void)
{
	using namespace rpcordma;

	queue = alloc_workqueue("rpcordma", 0, 1);
	return queue ? 0 : -kernel::ENOMEM;
}

void rpcordma_stop(void)
{
	destroy_workqueue(rpcordma::queue);
}
