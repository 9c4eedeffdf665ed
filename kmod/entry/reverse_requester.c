// SPDX-License-Identifier: GPL-2.0-only
/* The responder's end as a requester in the reverse direction: the class of transports that its Calls go by. */
#include <linux/module.h>
#include <linux/sunrpc/svc_xprt.h>
#include <linux/sunrpc/xprt.h>

#include "entry/parts.h"
#include "server/operations.h"

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
	.buf_alloc = rpcordma_server_reverse_buf_alloc,
	.buf_free = rpcordma_server_reverse_buf_free,
	.send_request = rpcordma_server_reverse_send,
	.wait_for_reply_request = xprt_wait_for_reply_request_def,
	.close = xprt_disconnect_done,
	.destroy = rpcordma_xprt_free,
	.inject_disconnect = inject_disconnect,
	.print_stats = print_no_stats,
};

static struct xprt_class class;

static const struct rpcordma_xprt_kind kind = { .xprt_class = &class, .operations = &operations };

static struct rpc_xprt *setup(struct xprt_create *args)
{
	return rpcordma_server_reverse_setup(args, &kind);
}

static struct xprt_class class = {
	.list = LIST_HEAD_INIT(class.list),
	.name = "rdma backchannel",
	.owner = THIS_MODULE,
	.ident = XPRT_TRANSPORT_BC_RDMA,
	.setup = setup,
	.netid = { "" },
};

int rpcordma_reverse_requester_register(void)
{
	return xprt_register_transport(&class);
}

void rpcordma_reverse_requester_unregister(void)
{
	xprt_unregister_transport(&class);
}
