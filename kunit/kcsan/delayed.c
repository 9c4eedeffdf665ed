// SPDX-License-Identifier: GPL-2.0-only
/* KCSAN's model of weak memory, see delayed.h. KCSAN does not look at what these functions do. */
#include <linux/kcsan-checks.h>
#include <linux/limits.h>
#include <linux/sched.h>

#include "kunit/kcsan/delayed.h"

__no_kcsan void rpcordma_kunit_delay_write(const void *byte)
{
	struct kcsan_scoped_access *access = &current->kcsan_ctx.reorder_access;

	access->ptr = byte;
	access->type = KCSAN_ACCESS_WRITE | KCSAN_ACCESS_SCOPED;
	access->ip = _THIS_IP_;
	/* The end of a function does not end it. */
	access->stack_depth = INT_MIN;
	access->size = 1;
}

__no_kcsan bool rpcordma_kunit_is_delayed(const void *byte)
{
	const struct kcsan_scoped_access *access = &current->kcsan_ctx.reorder_access;
	bool is_delayed = access->ptr == byte && access->size;

	current->kcsan_ctx.reorder_access.size = 0;
	return is_delayed;
}

void rpcordma_kunit_let_others_run(void)
{
	cond_resched();
	cpu_relax();
}
