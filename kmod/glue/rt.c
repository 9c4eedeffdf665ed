// SPDX-License-Identifier: GPL-2.0-only
/* What compiled C++ calls without being asked: the rest of what a C++ runtime has is left undefined on purpose. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/bug.h>
#include <linux/printk.h>

void rpcordma_rt_bug(const char *what, const char *file, int line);
void __cxa_pure_virtual(void);
int __popcountdi2(long long value);

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
