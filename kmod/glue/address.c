// SPDX-License-Identifier: GPL-2.0-only
/* What sunrpc shows of a transport's addresses. */
#include <linux/inet.h>
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>
#include <linux/sunrpc/msg_prot.h>
#include <linux/sunrpc/xprt.h>
#include <rdma/rdma_cm.h>

#include "kernel/glue.h"

/* The strings that are ours to free: the others are constants. */
static const enum rpc_display_format_t owned[] = { RPC_DISPLAY_ADDR, RPC_DISPLAY_PORT, RPC_DISPLAY_HEX_ADDR,
						   RPC_DISPLAY_HEX_PORT };

static void format_port(struct rpc_xprt *xprt, u16 port)
{
	kfree(xprt->address_strings[RPC_DISPLAY_PORT]);
	kfree(xprt->address_strings[RPC_DISPLAY_HEX_PORT]);
	xprt->address_strings[RPC_DISPLAY_PORT] = kasprintf(GFP_KERNEL, "%u", port);
	xprt->address_strings[RPC_DISPLAY_HEX_PORT] = kasprintf(GFP_KERNEL, "%4hx", port);
}

int rpcordma_addresses_format(struct rpc_xprt *xprt)
{
	const struct sockaddr *address = (const struct sockaddr *)&xprt->addr;
	char text[INET6_ADDRSTRLEN + sizeof("%4294967295")];
	int i;

	switch (address->sa_family) {
	case AF_INET:
		xprt->address_strings[RPC_DISPLAY_NETID] = RPCBIND_NETID_RDMA;
		xprt->address_strings[RPC_DISPLAY_HEX_ADDR] =
			kasprintf(GFP_KERNEL, "%08x", ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr));
		break;
	case AF_INET6:
		xprt->address_strings[RPC_DISPLAY_NETID] = RPCBIND_NETID_RDMA6;
		xprt->address_strings[RPC_DISPLAY_HEX_ADDR] =
			kasprintf(GFP_KERNEL, "%pi6", &((const struct sockaddr_in6 *)address)->sin6_addr);
		break;
	default:
		return -EAFNOSUPPORT;
	}
	rpc_ntop(address, text, sizeof(text));
	xprt->address_strings[RPC_DISPLAY_ADDR] = kstrdup(text, GFP_KERNEL);
	xprt->address_strings[RPC_DISPLAY_PROTO] = "rdma";
	format_port(xprt, rpc_get_port(address));
	for (i = 0; i < ARRAY_SIZE(owned); i++)
		if (!xprt->address_strings[owned[i]])
			return -ENOMEM;
	return 0;
}

void rpcordma_addresses_free(struct rpc_xprt *xprt)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(owned); i++) {
		kfree(xprt->address_strings[owned[i]]);
		xprt->address_strings[owned[i]] = NULL;
	}
}

void rpcordma_address_set_port(struct rpc_xprt *xprt, u16 port)
{
	rpc_set_port((struct sockaddr *)&xprt->addr, port);
	format_port(xprt, port);
}

void rpcordma_address_without_port(struct sockaddr_storage *to, const struct sockaddr *from)
{
	rpcordma_address_copy(to, from);
	rpc_set_port((struct sockaddr *)to, 0);
}

static bool is_link_local(const struct sockaddr *address)
{
	return address->sa_family == AF_INET6 &&
	       ipv6_addr_type(&((const struct sockaddr_in6 *)address)->sin6_addr) & IPV6_ADDR_LINKLOCAL;
}

int rpcordma_bind_port(struct rdma_cm_id *id, const struct sockaddr *source, const struct sockaddr *destination,
		       u16 port)
{
	struct sockaddr_storage from = { .ss_family = destination->sa_family };
	int error;

	/* Only where it binds by itself does the connection manager take the interface from the destination. */
	if (!source && is_link_local(destination))
		return -EINVAL;
	if (source)
		rpcordma_address_copy(&from, source);
	rpc_set_port((struct sockaddr *)&from, port);
	error = rdma_bind_addr(id, (struct sockaddr *)&from);
	/* The latter where an unspecified address has it. */
	return error == -EADDRNOTAVAIL ? -EADDRINUSE : error;
}
