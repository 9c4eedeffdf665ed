/* SPDX-License-Identifier: GPL-2.0-only */
/* What can be observed of connections, for entry/netlink.c. */
#ifndef RPCORDMA_VERBS_OBSERVED_H
#define RPCORDMA_VERBS_OBSERVED_H

#include "kernel/observed.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Before there is any connection, and after the last. Return: 0 or -ENOMEM. Process context. */
__visible int rpcordma_observing_start(void);
__visible void rpcordma_observing_stop(void);

/* Each fills `to`, which is all zero, with the first of that network namespace whose id is above `after`.
 * Return: false where there is none. Process context; does not sleep. */
__visible bool rpcordma_observe_listener(const struct net *network, u64 after, void *to);
__visible bool rpcordma_observe_connection(const struct net *network, u64 after, void *to);
__visible bool rpcordma_observe_disconnect(const struct net *network, u64 after, void *to);

#ifdef __cplusplus
}
#endif

#endif
