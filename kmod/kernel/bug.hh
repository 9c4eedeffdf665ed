/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * bug(): for the module's own mistakes, never for input. In the kernel it logs the condition and the place and stops
 * the task with a backtrace; the host's tests supply an rpcordma_rt_bug() of their own.
 */
#pragma once

/* Returns, as far as objtool is told: it takes a call of a noreturn function that it does not know for an error. */
extern "C" void rpcordma_rt_bug(const char *what, const char *file, int line);

namespace rpcordma {

[[noreturn, gnu::always_inline]] inline void bug(const char *what, const char *file = __builtin_FILE(),
						 int line = __builtin_LINE())
{
	rpcordma_rt_bug(what, file, line);
	__builtin_trap();
}

} // namespace rpcordma
