// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's log. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/printk.h>
#include <linux/ratelimit.h>

#include "kernel/glue.h"

__printf(1, 2) void rpcordma_log_error(const char *format, ...)
{
	struct va_format message = { .fmt = format };
	va_list arguments;

	va_start(arguments, format);
	message.va = &arguments;
	pr_err("%pV\n", &message);
	va_end(arguments);
}

__printf(1, 2) void rpcordma_log_peer(const char *format, ...)
{
	struct va_format message = { .fmt = format };
	va_list arguments;

	va_start(arguments, format);
	message.va = &arguments;
	pr_warn_ratelimited("%pV\n", &message);
	va_end(arguments);
}
