/* SPDX-License-Identifier: GPL-2.0-only */
/* Generic netlink's tables of operations, as netlink_gen.c has them: before 6.2 an operation is described by another
 * struct, with the same names for what is used here. */
#ifndef RPCORDMA_ENTRY_GENETLINK_H
#define RPCORDMA_ENTRY_GENETLINK_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define genl_split_ops genl_ops
#define split_ops ops
#define n_split_ops n_ops
#endif

#endif
