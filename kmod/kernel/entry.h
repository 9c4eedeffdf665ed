/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the C of module_init() and module_exit() enters C++. */
#ifndef RPCORDMA_KERNEL_ENTRY_H
#define RPCORDMA_KERNEL_ENTRY_H

#ifdef __cplusplus
extern "C" {
#endif

int rpcordma_start(void);
void rpcordma_stop(void);

#ifdef __cplusplus
}
#endif

#endif
