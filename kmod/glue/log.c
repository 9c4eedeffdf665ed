// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's log. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/printk.h>
#include <linux/ratelimit.h>

#include "kernel/glue.h"

#define LOG(name, print)                                      \
	__printf(1, 2) void name(const char *format, ...)     \
	{                                                     \
		struct va_format message = { .fmt = format }; \
		va_list arguments;                            \
		va_start(arguments, format);                  \
		message.va = &arguments;                      \
		print("%pV\n", &message);                     \
		va_end(arguments);                            \
	}

LOG(rpcordma_log_error, pr_err)
LOG(rpcordma_log_peer, pr_warn_ratelimited)
