// SPDX-License-Identifier: GPL-2.0-only
/* The responder as sunrpc knows it: a class of listeners and their connections, and the operations on both. */
#include <linux/module.h>
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/svc_xprt.h>
#include <linux/sunrpc/xprt.h>
#include <linux/version.h>

#include "entry/parts.h"
#include "server/operations.h"

static bool is_listener(const struct svc_xprt *xprt)
{
	return test_bit(XPT_LISTENER, &xprt->xpt_flags);
}

/*
 * sunrpc counts the connections that have shown no valid file handle yet, and closes the oldest of too many. It takes
 * one off the count that ends, and a second time where a thread is in the Call that shows its first handle. Below zero,
 * the count is too many, and clients lose new connections until the service is started anew. Here, before sunrpc looks,
 * the connection is taken off for good.
 */
static void count_no_more(struct svc_xprt *xprt)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
	svc_xprt_set_valid(xprt);
#endif
}

static void detach(struct svc_xprt *xprt)
{
	count_no_more(xprt);
	if (is_listener(xprt))
		rpcordma_server_detach_listener(xprt);
	else
		rpcordma_server_detach(xprt);
}

static void free_xprt(struct svc_xprt *xprt)
{
	if (is_listener(xprt))
		rpcordma_server_free_listener(xprt);
	else
		rpcordma_server_free(xprt);
}

static void nothing_to_do(struct svc_xprt *xprt)
{
}

static struct svc_xprt_class class;

static struct svc_xprt *create(struct svc_serv *server, struct net *network, struct sockaddr *address, int length,
			       int flags)
{
	if (address->sa_family != AF_INET && address->sa_family != AF_INET6)
		return ERR_PTR(-EAFNOSUPPORT);
	return rpcordma_server_create(&class, server, network, address);
}

/* A listener is never ready for what connections are asked for. */
static const struct svc_xprt_ops operations = {
	.xpo_create = create,
	.xpo_accept = rpcordma_server_accept,
	.xpo_recvfrom = rpcordma_server_recvfrom,
	.xpo_sendto = rpcordma_server_sendto,
	.xpo_result_payload = rpcordma_server_result_payload,
	.xpo_has_wspace = rpcordma_server_has_room,
	.xpo_release_ctxt = rpcordma_server_release_context,
	.xpo_detach = detach,
	.xpo_free = free_xprt,
	.xpo_kill_temp_xprt = nothing_to_do,
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	.xpo_secure_port = rpcordma_server_judge_port,
#endif
};

static struct svc_xprt_class class = {
	.xcl_name = "rdma",
	.xcl_owner = THIS_MODULE,
	.xcl_ops = &operations,
	.xcl_max_payload = RPCSVC_MAXPAYLOAD,
	.xcl_ident = XPRT_TRANSPORT_RDMA,
};

int rpcordma_responder_register(void)
{
	return svc_reg_xprt_class(&class);
}

void rpcordma_responder_unregister(void)
{
	svc_unreg_xprt_class(&class);
}
