// SPDX-License-Identifier: GPL-2.0-only
/* The requester as sunrpc knows it: a class of transports, and the operations on one. */
#include <linux/module.h>
#include <linux/sunrpc/clnt.h>
#include <linux/sunrpc/sched.h>
#include <linux/sunrpc/xprt.h>
#include <linux/version.h>

#include "client/operations.h"
#include "entry/parts.h"
#include "kernel/glue.h"

/* Neither reserves memory: who makes a connection takes it from the system's reserves while there is swap behind it. */
static int enable_swap(struct rpc_xprt *xprt)
{
	atomic_inc(&xprt->swapper);
	return 0;
}

static void disable_swap(struct rpc_xprt *xprt)
{
	atomic_dec(&xprt->swapper);
}

/*
 * The send lock. A Reply in the reverse direction waits for it alone, and is the next to have it: what Calls wait for
 * besides is the peer's to give, who may first want that Reply. Both with the transport's lock held.
 */
static int reserve_xprt(struct rpc_xprt *xprt, struct rpc_task *task)
{
	if (!task->tk_rqstp || !bc_prealloc(task->tk_rqstp))
		return xprt_reserve_xprt(xprt, task);
	if (!test_and_set_bit(XPRT_LOCKED, &xprt->state)) {
		xprt->snd_task = task;
		return 1;
	}
	if (xprt->snd_task == task)
		return 1;
	/* Nobody waits for it on the connection that is being made. */
	if (!xprt_connected(xprt)) {
		task->tk_status = -ENOTCONN;
		return 0;
	}
	task->tk_status = -EAGAIN;
	rpc_sleep_on(rpcordma_client_reverse_replies(xprt), task, NULL);
	return 0;
}

/* One that a Call has sent along has no use for the lock. */
static bool take_over(struct rpc_task *task, void *xprt)
{
	if (test_bit(RPC_TASK_NEED_XMIT, &task->tk_runstate))
		((struct rpc_xprt *)xprt)->snd_task = task;
	return true;
}

/* That Replies wait is rare; to ask the queue for one takes its lock. None can come while the transport's is held. */
static void release_xprt(struct rpc_xprt *xprt, struct rpc_task *task)
{
	struct rpc_wait_queue *replies = rpcordma_client_reverse_replies(xprt);
	struct rpc_task *woken;

	if (READ_ONCE(replies->qlen) && xprt->snd_task == task && !test_bit(XPRT_CLOSE_WAIT, &xprt->state))
		while ((woken = rpc_wake_up_first(replies, take_over, xprt)))
			if (xprt->snd_task == woken)
				return;
	xprt_release_xprt(xprt, task);
}

/* A Call that is encoded anew must be out of the peer's reach: before the task goes on, whatever woke it. */
static void reply_awaited(struct rpc_task *task)
{
	struct rpc_rqst *request = task->tk_rqstp;

	if (task->tk_status >= 0)
		return;
	/* Killed: nothing is encoded any more, and buf_free() sees to the rest. */
	if (task->tk_rpc_status)
		return;
	if (task->tk_status == -ETIMEDOUT && request->rq_reply_bytes_recvd)
		task->tk_status = 0;
	else
		rpcordma_client_unanswered(request, task->tk_status == -ETIMEDOUT);
}

/* For the whole of rq_timeout, also where rq_majortimeo is sooner: that counts from the RPC's beginning, and the Call
 * may have gone out on this connection just now. An RPC whose time is over ends that much later. */
static void wait_for_reply(struct rpc_task *task)
{
	struct rpc_rqst *request = task->tk_rqstp;
	struct rpc_xprt *xprt = request->rq_xprt;

	/* Another task may have sent the Call while this one came to the send lock, which others want. */
	if (READ_ONCE(xprt->snd_task) == task) {
		spin_lock(&xprt->transport_lock);
		release_xprt(xprt, task);
		spin_unlock(&xprt->transport_lock);
	}
	rpc_sleep_on_timeout(&xprt->pending, task, reply_awaited, jiffies + request->rq_timeout);
}

static const struct rpc_xprt_ops operations = {
	.reserve_xprt = reserve_xprt,
	.release_xprt = release_xprt,
	.alloc_slot = rpcordma_client_alloc_slot,
	.free_slot = rpcordma_client_free_slot,
	.rpcbind = rpcb_getport_async,
	.set_port = rpcordma_address_set_port,
	.connect = rpcordma_client_connect,
	.get_srcaddr = rpcordma_client_source_address,
	.get_srcport = rpcordma_client_source_port,
	.buf_alloc = rpcordma_client_buf_alloc,
	.buf_free = rpcordma_client_buf_free,
	.send_request = rpcordma_client_send_request,
	.wait_for_reply_request = wait_for_reply,
	.close = rpcordma_client_close,
	.destroy = rpcordma_client_destroy,
	.set_connect_timeout = rpcordma_client_set_connect_timeout,
	.print_stats = rpcordma_client_print_stats,
	.enable_swap = enable_swap,
	.disable_swap = disable_swap,
	.inject_disconnect = rpcordma_client_inject_disconnect,
	.bc_setup = rpcordma_client_bc_setup,
	.bc_maxpayload = rpcordma_client_bc_maxpayload,
	.bc_num_slots = rpcordma_client_bc_num_slots,
	.bc_free_rqst = rpcordma_client_bc_free_rqst,
	.bc_destroy = rpcordma_client_bc_destroy,
};

static struct xprt_class class;

static const struct rpcordma_xprt_kind kind = { .xprt_class = &class, .operations = &operations };

static struct rpc_xprt *setup(struct xprt_create *args)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	if (args->xprtsec.policy != RPC_XPRTSEC_NONE) {
		rpcordma_log_error("xprtsec is not supported over RDMA: mount without it, or use proto=tcp");
		return ERR_PTR(-EINVAL);
	}
#endif
	return rpcordma_client_setup(args, &kind);
}

static struct xprt_class class = {
	.list = LIST_HEAD_INIT(class.list),
	.name = "rdma",
	.owner = THIS_MODULE,
	.ident = XPRT_TRANSPORT_RDMA,
	.setup = setup,
	.netid = { "rdma", "rdma6", "" },
};

int rpcordma_requester_register(void)
{
	return xprt_register_transport(&class);
}

void rpcordma_requester_unregister(void)
{
	xprt_unregister_transport(&class);
}
