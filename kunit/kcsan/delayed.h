/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * KCSAN's model of weak memory: of each task it knows one access that may still be under way, until something orders it
 * against what follows.
 */
#ifndef RPCORDMA_KUNIT_KCSAN_DELAYED_H
#define RPCORDMA_KUNIT_KCSAN_DELAYED_H

#ifdef __cplusplus
extern "C" {
#endif

/* Has KCSAN take a write to this byte by the running task to be under way. */
void rpcordma_kunit_delay_write(const void *byte);
/* Whether KCSAN still does. No longer, too, once it has chosen another access of the task's: one in 4000. */
bool rpcordma_kunit_is_delayed(const void *byte);
/* Lets other threads run, in a loop that waits for one. */
void rpcordma_kunit_let_others_run(void);

#ifdef __cplusplus
}
#endif

#endif
