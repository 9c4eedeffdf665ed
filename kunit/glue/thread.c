// SPDX-License-Identifier: GPL-2.0-only
/* A second thread, for tests of what threads wait for. */
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/slab.h>

#include "kunit/glue/thread.h"

struct rpcordma_kunit_thread {
	void (*action)(void *data);
	void *data;
	struct completion ended;
};

static int run(void *data)
{
	struct rpcordma_kunit_thread *thread = data;

	thread->action(thread->data);
	kthread_complete_and_exit(&thread->ended, 0);
}

struct rpcordma_kunit_thread *rpcordma_kunit_thread_start(void (*action)(void *data), void *data)
{
	struct rpcordma_kunit_thread *thread = kmalloc(sizeof(*thread), GFP_KERNEL);

	if (!thread)
		return NULL;
	thread->action = action;
	thread->data = data;
	init_completion(&thread->ended);
	if (!IS_ERR(kthread_run(run, thread, "rpcordma_kunit")))
		return thread;
	kfree(thread);
	return NULL;
}

void rpcordma_kunit_thread_join(struct rpcordma_kunit_thread *thread)
{
	wait_for_completion(&thread->ended);
	kfree(thread);
}
