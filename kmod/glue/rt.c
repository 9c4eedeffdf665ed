// SPDX-License-Identifier: GPL-2.0-only
/* What compiled C++ calls without being asked: the rest of what a C++ runtime has is left undefined on purpose. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/compiler.h>
#include <linux/printk.h>

void rpcordma_rt_bug(const char *what, const char *file, int line);
void __cxa_pure_virtual(void);
int __popcountdi2(long long value);
#ifdef CONFIG_KCSAN
void __tsan_write8(void *address);
void __tsan_vptr_update(void *pointer, void *value);
#endif

void rpcordma_rt_bug(const char *what, const char *file, int line)
{
	pr_crit("%s:%d: %s\n", file, line, what);
	BUG();
}

void __cxa_pure_virtual(void)
{
	pr_crit("pure virtual function called\n");
	BUG();
}

int __popcountdi2(long long value)
{
	return hweight64(value);
}

#ifdef CONFIG_KCSAN
/* The race detector's word for the assignment of a pointer to virtual functions, which C does not have. */
__no_kcsan void __tsan_vptr_update(void *pointer, void *value)
{
	if (*(void **)pointer != value)
		__tsan_write8(pointer);
}
#endif
