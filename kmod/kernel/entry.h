/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the C of module_init(), of module_exit() and of debugfs enters C++. */
#ifndef RPCORDMA_KERNEL_ENTRY_H
#define RPCORDMA_KERNEL_ENTRY_H

#ifdef __cplusplus
extern "C" {
#endif

struct seq_file;

int rpcordma_start(void);
void rpcordma_stop(void);
/* How many objects of each kind there are: a line for each, "NAME COUNT". */
void rpcordma_print_live_objects(struct seq_file *file);

#ifdef __cplusplus
}
#endif

#endif
