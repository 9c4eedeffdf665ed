/* SPDX-License-Identifier: GPL-2.0-only */
/* What is said of the counts of live objects. Any context. */
#ifndef RPCORDMA_VERBS_LIVE_OBJECTS_H
#define RPCORDMA_VERBS_LIVE_OBJECTS_H

#include "kernel/glue.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many objects of each kind there are: a line for each, "NAME COUNT". Returns 0. */
__visible int rpcordma_live_objects_show(struct seq_file *file, void *unused);
/* Logs each kind of which some are left. */
__visible void rpcordma_log_leaks(void);

#ifdef __cplusplus
}
#endif

#endif
