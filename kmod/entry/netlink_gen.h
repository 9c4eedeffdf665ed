/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	uapi/rpcordma.yaml */
/* YNL-GEN kernel header */

#ifndef _LINUX_RPCORDMA_GEN_H
#define _LINUX_RPCORDMA_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/rpcordma_netlink.h>
#include <entry/genetlink.h>

int rpcordma_nl_connection_get_start(struct netlink_callback *cb);

int rpcordma_nl_module_get_doit(struct sk_buff *skb, struct genl_info *info);
int rpcordma_nl_listener_get_dumpit(struct sk_buff *skb,
				    struct netlink_callback *cb);
int rpcordma_nl_connection_get_dumpit(struct sk_buff *skb,
				      struct netlink_callback *cb);
int rpcordma_nl_disconnect_get_dumpit(struct sk_buff *skb,
				      struct netlink_callback *cb);

enum {
	RPCORDMA_NLGRP_EVENTS,
};

extern struct genl_family rpcordma_nl_family;

#endif /* _LINUX_RPCORDMA_GEN_H */
