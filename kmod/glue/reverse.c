// SPDX-License-Identifier: GPL-2.0-only
/* Hands Calls of the reverse direction to the service that awaits them. */
#include <linux/sunrpc/bc_xprt.h>
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/xprt.h>
#include <linux/version.h>

#include "kernel/glue.h"

bool rpcordma_reverse_enqueue(struct rpc_xprt *xprt, struct rpc_rqst *request)
{
	struct svc_serv *service = READ_ONCE(xprt->bc_serv);

	/* A transport that is being destroyed has no references to give. */
	if (!service || !xprt_get(xprt))
		return false;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	lwq_enqueue(&request->rq_bc_list, &service->sv_cb_list);
	svc_pool_wake_idle_thread(&service->sv_pools[0]);
#else
	spin_lock(&service->sv_cb_lock);
	list_add_tail(&request->rq_bc_list, &service->sv_cb_list);
	wake_up(&service->sv_cb_waitq);
	spin_unlock(&service->sv_cb_lock);
#endif
	return true;
}
