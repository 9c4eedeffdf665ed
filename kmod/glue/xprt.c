// SPDX-License-Identifier: GPL-2.0-only
/* sunrpc's rpc_xprt, for C++: what are macros, and what is of several steps. */
#include <linux/module.h>
#include <linux/sunrpc/bc_xprt.h>
#include <linux/sunrpc/clnt.h>
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/xprt.h>
#include <linux/version.h>

#include "kernel/glue.h"

static const struct rpc_timeout timeout = { .to_initval = 60 * HZ, .to_maxval = 60 * HZ };

struct rpc_xprt *rpcordma_xprt_alloc(struct xprt_create *args, const struct rpcordma_xprt_kind *kind, size_t size,
				     unsigned int least, unsigned int most)
{
	struct rpc_xprt *xprt;
	int error;

	if (args->addrlen > sizeof(xprt->addr))
		return ERR_PTR(-EBADF);
	if (!rpcordma_module_get())
		return ERR_PTR(-EIO);
	xprt = xprt_alloc(args->net, size, least, most);
	if (!xprt) {
		module_put(THIS_MODULE);
		return ERR_PTR(-ENOMEM);
	}
	xprt->xprt_class = kind->xprt_class;
	xprt->ops = kind->operations;
	xprt->timeout = &timeout;
	xprt->addrlen = args->addrlen;
	memcpy(&xprt->addr, args->dstaddr, args->addrlen);
	error = rpcordma_addresses_format(xprt);
	if (error) {
		rpcordma_xprt_free(xprt);
		return ERR_PTR(error);
	}
	return xprt;
}

void rpcordma_xprt_free(struct rpc_xprt *xprt)
{
	rpcordma_addresses_free(xprt);
	xprt_free(xprt);
	module_put(THIS_MODULE);
}

static void enqueue(struct svc_serv *service, struct rpc_rqst *request)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	lwq_enqueue(&request->rq_bc_list, &service->sv_cb_list);
	svc_pool_wake_idle_thread(&service->sv_pools[0]);
#else
	spin_lock(&service->sv_cb_lock);
	list_add_tail(&request->rq_bc_list, &service->sv_cb_list);
	wake_up(&service->sv_cb_waitq);
	spin_unlock(&service->sv_cb_lock);
#endif
}

/*
 * Since 6.19 bc_serv is cleared with that lock held, before the service ends. sunrpc has a function for all of this
 * since then, which frees a Call that nobody serves: there would be no answer to it.
 */
bool rpcordma_reverse_enqueue(struct rpc_xprt *xprt, struct rpc_rqst *request)
{
	struct svc_serv *service;

	spin_lock(&xprt->bc_pa_lock);
	/* A transport that is being destroyed has no references to give. */
	service = xprt->bc_serv && xprt_get(xprt) ? xprt->bc_serv : NULL;
	if (service)
		enqueue(service, request);
	spin_unlock(&xprt->bc_pa_lock);
	return service;
}
