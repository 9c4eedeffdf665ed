// SPDX-License-Identifier: GPL-2.0-only
/*
 * The global operators new and delete, for tests that use std::vector. The module itself has none: what it allocates
 * can fail.
 */
#include <linux/fault-inject.h>
#include <linux/sched.h>
#include <linux/slab.h>

void *_Znwm(unsigned long size);
void *_Znam(unsigned long size);
void _ZdlPv(void *memory);
void _ZdaPv(void *memory);
void _ZdlPvm(void *memory, unsigned long size);
void _ZdaPvm(void *memory, unsigned long size);

/* Exactly as large as asked for, to KASAN, and no target for injected failures. */
void *_Znwm(unsigned long size)
{
	unsigned int fail_nth = current->fail_nth;
	void *memory;

	current->fail_nth = 0;
	memory = kmalloc(size, GFP_KERNEL | __GFP_NOFAIL);
	current->fail_nth = fail_nth;
	return memory;
}

void *_Znam(unsigned long size)
{
	return _Znwm(size);
}

void _ZdlPv(void *memory)
{
	kfree(memory);
}

void _ZdaPv(void *memory)
{
	kfree(memory);
}

void _ZdlPvm(void *memory, unsigned long size)
{
	kfree(memory);
}

void _ZdaPvm(void *memory, unsigned long size)
{
	kfree(memory);
}
