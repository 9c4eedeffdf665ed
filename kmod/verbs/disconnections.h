/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions by which kmod/entry/module.c starts and stops verbs/disconnection.hh. Process context. */
#ifndef RPCORDMA_VERBS_DISCONNECTIONS_H
#define RPCORDMA_VERBS_DISCONNECTIONS_H

#include "kernel/glue.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Before the first connection. Return: 0 or -ENOMEM. */
__visible int rpcordma_disconnections_start(void);
/* After the last. Waits for devices, not for peers. */
__visible void rpcordma_disconnections_stop(void);

#ifdef __cplusplus
}
#endif

#endif
