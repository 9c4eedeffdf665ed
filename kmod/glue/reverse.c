// SPDX-License-Identifier: GPL-2.0-only
/* The reverse direction: hands Calls to the service that awaits them at a client, and lets a server send some. */
#include <linux/module.h>
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

static void close(struct rpc_xprt *xprt)
{
	xprt_disconnect_done(xprt);
}

/* sunrpc's fault injection. */
static void inject_disconnect(struct rpc_xprt *xprt)
{
	svc_xprt_deferred_close(xprt->bc_xprt);
}

static void print_no_stats(struct rpc_xprt *xprt, struct seq_file *file)
{
}

static const struct rpc_xprt_ops operations = {
	.reserve_xprt = xprt_reserve_xprt_cong,
	.release_xprt = xprt_release_xprt_cong,
	.alloc_slot = xprt_alloc_slot,
	.free_slot = xprt_free_slot,
	.release_request = xprt_release_rqst_cong,
	.buf_alloc = rpcordma_server_reverse_alloc,
	.buf_free = rpcordma_server_reverse_free,
	.send_request = rpcordma_server_reverse_send,
	.wait_for_reply_request = xprt_wait_for_reply_request_def,
	.close = close,
	.destroy = rpcordma_server_reverse_destroy,
	.inject_disconnect = inject_disconnect,
	.print_stats = print_no_stats,
};

static struct xprt_class class = {
	.list = LIST_HEAD_INIT(class.list),
	.name = "rdma backchannel",
	.owner = THIS_MODULE,
	.ident = XPRT_TRANSPORT_BC_RDMA,
	.setup = rpcordma_server_reverse_setup,
	.netid = { "" },
};

int rpcordma_register_reverse_class(void)
{
	return xprt_register_transport(&class);
}

void rpcordma_unregister_reverse_class(void)
{
	xprt_unregister_transport(&class);
}

const struct xprt_class *rpcordma_reverse_class(void)
{
	return &class;
}

const struct rpc_xprt_ops *rpcordma_reverse_ops(void)
{
	return &operations;
}
