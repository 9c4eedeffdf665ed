// SPDX-License-Identifier: GPL-2.0-only
/* sunrpc's svc_xprt, for C++: what are macros, and what is of several steps. */
#include <linux/sunrpc/addr.h>
#include <linux/sunrpc/clnt.h>
#include <linux/sunrpc/svc_xprt.h>
#include <linux/version.h>

#include "kernel/glue.h"

void rpcordma_svc_init_listener(struct svc_xprt *xprt, struct svc_xprt_class *xprt_class, struct net *network,
				struct svc_serv *server)
{
	svc_xprt_init(network, xprt_class, xprt, server);
	set_bit(XPT_LISTENER, &xprt->xpt_flags);
	strscpy(xprt->xpt_remotebuf, "listener", sizeof(xprt->xpt_remotebuf));
}

void rpcordma_svc_init_connection(struct svc_xprt *xprt, struct svc_xprt *listener)
{
	svc_xprt_init(listener->xpt_net, listener->xpt_class, xprt, listener->xpt_server);
	/* What NFSv4 asks of a transport (RFC 7530, 3.1): RDMA networks have it. */
	set_bit(XPT_CONG_CTRL, &xprt->xpt_flags);
}

static size_t length_of(const struct sockaddr *address)
{
	return address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

void rpcordma_svc_set_local(struct svc_xprt *xprt, const struct sockaddr *address)
{
	svc_xprt_set_local(xprt, address, length_of(address));
}

void rpcordma_svc_set_remote(struct svc_xprt *xprt, const struct sockaddr *address)
{
	svc_xprt_set_remote(xprt, address, length_of(address));
	rpc_set_port((struct sockaddr *)&xprt->xpt_remote, 0);
	snprintf(xprt->xpt_remotebuf, sizeof(xprt->xpt_remotebuf), "%pISc", &xprt->xpt_remote);
}

bool rpcordma_svc_may_start_threads(const struct svc_serv *server)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0)
	return READ_ONCE(server->sv_nrthreads) < svc_serv_maxthreads(server);
#else
	return false;
#endif
}

void rpcordma_address_copy(struct sockaddr_storage *to, const struct sockaddr *from)
{
	memset(to, 0, sizeof(*to));
	memcpy(to, from, length_of(from));
}
