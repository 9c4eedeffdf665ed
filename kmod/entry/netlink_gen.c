// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	uapi/rpcordma.yaml */
/* YNL-GEN kernel source */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "netlink_gen.h"

#include <uapi/rpcordma_netlink.h>
#include <entry/genetlink.h>

/* Ops table for rpcordma */
static const struct genl_split_ops rpcordma_nl_ops[] = {
	{
		.cmd	= RPCORDMA_CMD_MODULE_GET,
		.doit	= rpcordma_nl_module_get_doit,
		.flags	= GENL_CMD_CAP_DO,
	},
	{
		.cmd	= RPCORDMA_CMD_LISTENER_GET,
		.dumpit	= rpcordma_nl_listener_get_dumpit,
		.flags	= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DUMP,
	},
	{
		.cmd	= RPCORDMA_CMD_CONNECTION_GET,
		.start	= rpcordma_nl_connection_get_start,
		.dumpit	= rpcordma_nl_connection_get_dumpit,
		.flags	= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DUMP,
	},
	{
		.cmd	= RPCORDMA_CMD_DISCONNECT_GET,
		.dumpit	= rpcordma_nl_disconnect_get_dumpit,
		.flags	= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DUMP,
	},
};

static const struct genl_multicast_group rpcordma_nl_mcgrps[] = {
	[RPCORDMA_NLGRP_EVENTS] = { "events", .flags = GENL_MCAST_CAP_NET_ADMIN, },
};

struct genl_family rpcordma_nl_family __ro_after_init = {
	.name		= RPCORDMA_FAMILY_NAME,
	.version	= RPCORDMA_FAMILY_VERSION,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.split_ops	= rpcordma_nl_ops,
	.n_split_ops	= ARRAY_SIZE(rpcordma_nl_ops),
	.mcgrps		= rpcordma_nl_mcgrps,
	.n_mcgrps	= ARRAY_SIZE(rpcordma_nl_mcgrps),
};
