/* SPDX-License-Identifier: GPL-2.0-only */
/* A second thread, for tests of what threads wait for. */
#ifndef RPCORDMA_KUNIT_GLUE_THREAD_H
#define RPCORDMA_KUNIT_GLUE_THREAD_H

#ifdef __cplusplus
extern "C" {
#endif

struct rpcordma_kunit_thread;

/* Null where it cannot be had. To be joined. */
struct rpcordma_kunit_thread *rpcordma_kunit_thread_start(void (*action)(void *data), void *data);
/* Waits until it has ended. */
void rpcordma_kunit_thread_join(struct rpcordma_kunit_thread *thread);

#ifdef __cplusplus
}
#endif

#endif
