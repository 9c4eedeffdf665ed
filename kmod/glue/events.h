/* SPDX-License-Identifier: GPL-2.0-only */
/* What the sending of events shares with the rest of the netlink family. */
#ifndef RPCORDMA_GLUE_EVENTS_H
#define RPCORDMA_GLUE_EVENTS_H

#include <linux/types.h>

struct genl_family;
struct rpcordma_address;

/* Events go out as that family's, which is registered, and stays so as long as there is any connection. */
void rpcordma_events_open(const struct genl_family *open);
/* 0 where there is no address. */
size_t rpcordma_address_size(const struct rpcordma_address *address);

#endif
