// SPDX-License-Identifier: GPL-2.0-only
/* The transport class that sunrpc knows the server by: its tables, and accessors that are macros. */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/sunrpc/addr.h>
#include <linux/sunrpc/clnt.h>
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/svc_xprt.h>
#include <linux/version.h>

#include "kernel/glue.h"

static void release_context(struct svc_xprt *xprt, void *context)
{
	rpcordma_server_release_context(xprt, context);
}

static int has_room(struct svc_xprt *xprt)
{
	return rpcordma_server_has_room(xprt);
}

static int no_call(struct svc_rqst *rqst)
{
	return 0;
}

static int always_room(struct svc_xprt *xprt)
{
	return 1;
}

static void nothing_to_do(struct svc_xprt *xprt)
{
}

static void nothing_to_release(struct svc_xprt *xprt, void *context)
{
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#define SECURE_PORT .xpo_secure_port = rpcordma_server_judge_port,
#else
#define SECURE_PORT
#endif

static struct svc_xprt *create(struct svc_serv *server, struct net *network, struct sockaddr *address, int length,
			       int flags)
{
	if (address->sa_family != AF_INET && address->sa_family != AF_INET6)
		return ERR_PTR(-EAFNOSUPPORT);
	return rpcordma_server_create(server, network, address);
}

static const struct svc_xprt_ops listener_operations = { .xpo_create = create,
							 .xpo_accept = rpcordma_server_accept,
							 .xpo_recvfrom = no_call,
							 .xpo_sendto = no_call,
							 .xpo_has_wspace = always_room,
							 .xpo_release_ctxt = nothing_to_release,
							 .xpo_detach = rpcordma_server_detach_listener,
							 .xpo_free = rpcordma_server_free_listener,
							 .xpo_kill_temp_xprt = nothing_to_do };

static const struct svc_xprt_ops connection_operations = { .xpo_recvfrom = rpcordma_server_recvfrom,
							   .xpo_sendto = rpcordma_server_sendto,
							   .xpo_result_payload = rpcordma_server_result_payload,
							   .xpo_has_wspace = has_room,
							   .xpo_release_ctxt = release_context,
							   .xpo_detach = rpcordma_server_detach,
							   .xpo_free = rpcordma_server_free,
							   .xpo_kill_temp_xprt = nothing_to_do,
							   SECURE_PORT };

static struct svc_xprt_class class = {
	.xcl_name = "rdma",
	.xcl_owner = THIS_MODULE,
	.xcl_ops = &listener_operations,
	.xcl_max_payload = RPCSVC_MAXPAYLOAD,
	.xcl_ident = XPRT_TRANSPORT_RDMA,
};

int rpcordma_register_svc_class(void)
{
	return svc_reg_xprt_class(&class);
}

void rpcordma_unregister_svc_class(void)
{
	svc_unreg_xprt_class(&class);
}

void rpcordma_svc_init_listener(struct svc_xprt *xprt, struct net *network, struct svc_serv *server)
{
	svc_xprt_init(network, &class, xprt, server);
	set_bit(XPT_LISTENER, &xprt->xpt_flags);
	strscpy(xprt->xpt_remotebuf, "listener", sizeof(xprt->xpt_remotebuf));
}

void rpcordma_svc_init_connection(struct svc_xprt *xprt, struct net *network, struct svc_serv *server)
{
	svc_xprt_init(network, &class, xprt, server);
	xprt->xpt_ops = &connection_operations;
	/* What NFSv4 asks of a transport (RFC 7530, 3.1): RDMA networks have it. */
	set_bit(XPT_CONG_CTRL, &xprt->xpt_flags);
}

void rpcordma_svc_xprt_get(struct svc_xprt *xprt)
{
	svc_xprt_get(xprt);
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

void rpcordma_address_copy(struct sockaddr_storage *to, const struct sockaddr *from)
{
	memset(to, 0, sizeof(*to));
	memcpy(to, from, length_of(from));
}

static void set_flag(struct svc_xprt *xprt, int flag, bool on)
{
	if (on)
		set_bit(flag, &xprt->xpt_flags);
	else
		clear_bit(flag, &xprt->xpt_flags);
}

void rpcordma_svc_set_connecting(struct svc_xprt *xprt, bool connecting)
{
	set_flag(xprt, XPT_CONN, connecting);
}

void rpcordma_svc_set_data(struct svc_xprt *xprt, bool data)
{
	set_flag(xprt, XPT_DATA, data);
}

/* The flag is still that of the thread's last Call. */
void rpcordma_rqst_set_secure(struct svc_rqst *rqst, bool secure)
{
	if (secure)
		set_bit(RQ_SECURE, &rqst->rq_flags);
	else
		clear_bit(RQ_SECURE, &rqst->rq_flags);
}

void rpcordma_release_pages(struct page **pages, unsigned int count)
{
	release_pages(pages, count);
}

void *rpcordma_page_address(struct page *page)
{
	return page_address(page);
}
