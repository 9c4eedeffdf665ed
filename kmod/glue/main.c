// SPDX-License-Identifier: GPL-2.0-only
/* The module as the kernel's loader sees it. */
#include <linux/init.h>
#include <linux/module.h>

#include "kernel/entry.h"

static int __init rpcordma_init(void)
{
	return rpcordma_start();
}

static void __exit rpcordma_exit(void)
{
	rpcordma_stop();
}

module_init(rpcordma_init);
module_exit(rpcordma_exit);

MODULE_DESCRIPTION("ONC RPC over RDMA, client and server");
MODULE_LICENSE("GPL");
MODULE_VERSION(RPCORDMA_VERSION);
MODULE_ALIAS("rpcrdma");
MODULE_ALIAS("rpcrdma6");
MODULE_ALIAS("xprtrdma");
MODULE_ALIAS("svcrdma");
