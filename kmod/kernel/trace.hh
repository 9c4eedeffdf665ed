/* SPDX-License-Identifier: GPL-2.0-only */
/* The trace events: a function rpcordma_trace_<name>() for each row of trace.def. Mostly nobody listens to any, and each is no
 * more than a look whether that is so. */
#pragma once

#include "kernel/atomic.hh"
#include "kernel/each.h"
#include "kernel/glue.h"

/* Whether somebody listens to one of them: to be asked before work that is for events alone. */
[[nodiscard]] inline bool rpcordma_traces() noexcept
{
	return rpcordma::kernel::read_once(rpcordma_traced_events) != 0;
}

#define RPCORDMA_TYPE_text const char *
#define RPCORDMA_TYPE_int int
#define RPCORDMA_TYPE_u32 u32
#define RPCORDMA_TYPE_u64 u64
#define RPCORDMA_PARAMETER(type, name) , RPCORDMA_TYPE_##type name
#define RPCORDMA_ARGUMENT(type, name) , name
#define EVENT(name, format, ...)                                                                               \
	extern "C" void rpcordma_record_##name(const sockaddr *peer EACH(RPCORDMA_PARAMETER, __VA_ARGS__));    \
	inline void rpcordma_trace_##name(const sockaddr *peer EACH(RPCORDMA_PARAMETER, __VA_ARGS__)) noexcept \
	{                                                                                                      \
		if (rpcordma_traces()) [[unlikely]]                                                            \
			rpcordma_record_##name(peer EACH(RPCORDMA_ARGUMENT, __VA_ARGS__));                     \
	}
#include "kernel/trace.def"
#undef EVENT
#undef RPCORDMA_PARAMETER
#undef RPCORDMA_ARGUMENT
#undef RPCORDMA_TYPE_text
#undef RPCORDMA_TYPE_int
#undef RPCORDMA_TYPE_u32
#undef RPCORDMA_TYPE_u64

/* One that has no peer. */
extern "C" void rpcordma_trace_registrations_made(const char *device, u32 made, u32 total);
