// SPDX-License-Identifier: GPL-2.0-only
/* The module as the kernel's loader sees it: what starts when it is loaded, and stops when it is unloaded. */
#include <linux/init.h>
#include <linux/module.h>

#include "client/operations.h"
#include "entry/parts.h"
#include "kernel/glue.h"
#include "verbs/disconnections.h"
#include "verbs/live_objects.h"
#include "verbs/observed.h"

struct part {
	int (*start)(void);
	void (*stop)(void);
};

/* In the order of starting. Netlink before what tells of itself by it. The requester before the sysctls, because what
 * it says where the in-tree module is loaded can be explained. The responder last: it may have a listener from then on.
 * Disconnections need the workqueues, and are needed by all that connects.
 */
static const struct part parts[] = {
	{ rpcordma_workqueues_create, rpcordma_workqueues_destroy },
	{ rpcordma_disconnections_start, rpcordma_disconnections_stop },
	{ rpcordma_observing_start, rpcordma_observing_stop },
	{ rpcordma_netlink_register, rpcordma_netlink_unregister },
	{ rpcordma_client_start, rpcordma_client_stop },
	{ rpcordma_requester_register, rpcordma_requester_unregister },
	{ rpcordma_sysctls_register, rpcordma_sysctls_unregister },
	{ rpcordma_debugfs_create, rpcordma_debugfs_remove },
	{ rpcordma_reverse_requester_register, rpcordma_reverse_requester_unregister },
	{ rpcordma_responder_register, rpcordma_responder_unregister },
};

static void stop_first(size_t count)
{
	while (count-- > 0)
		parts[count].stop();
}

static int __init rpcordma_init(void)
{
	size_t started;
	int error;

	for (started = 0; started < ARRAY_SIZE(parts); started++) {
		error = parts[started].start();
		if (!error)
			continue;
		stop_first(started);
		if (error != -EEXIST)
			return error;
		rpcordma_log_error("another module serves RPC over RDMA already: unload it (rmmod rpcrdma), then load "
				   "this one; `make install` settles it for good");
		/* modprobe takes EEXIST for success. */
		return -EBUSY;
	}
	return 0;
}

static void __exit rpcordma_exit(void)
{
	stop_first(ARRAY_SIZE(parts));
	rpcordma_log_leaks();
}

module_init(rpcordma_init);
module_exit(rpcordma_exit);

MODULE_DESCRIPTION("ONC RPC over RDMA, client and server");
MODULE_AUTHOR("rpcordma developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(RPCORDMA_VERSION);
MODULE_ALIAS("rpcrdma");
MODULE_ALIAS("rpcrdma6");
MODULE_ALIAS("xprtrdma");
MODULE_ALIAS("svcrdma");
