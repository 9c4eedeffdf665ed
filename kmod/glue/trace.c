// SPDX-License-Identifier: GPL-2.0-only
/* The trace events, each behind a function of its own: kmod/kernel/trace.def. */
#include <linux/module.h>
#include <linux/socket.h>

#define CREATE_TRACE_POINTS
#include "glue/trace.h"

#include "kernel/glue.h"

#undef EVENT
#define EVENT(name, format, ...)                                                                       \
	void rpcordma_trace_##name(const struct sockaddr *peer EACH(RPCORDMA_PARAMETER, __VA_ARGS__)); \
	void rpcordma_trace_##name(const struct sockaddr *peer EACH(RPCORDMA_PARAMETER, __VA_ARGS__))  \
	{                                                                                              \
		trace_rpcordma_##name(peer EACH(RPCORDMA_ARGUMENT, __VA_ARGS__));                      \
	}
#include "kernel/trace.def"
#undef EVENT

void rpcordma_trace_registrations_made(const char *device, u32 made, u32 total);
void rpcordma_trace_registrations_made(const char *device, u32 made, u32 total)
{
	trace_rpcordma_registrations_made(device, made, total);
}

bool rpcordma_traces_segments(void)
{
	return trace_rpcordma_segment_advertised_enabled() || trace_rpcordma_segment_invalidated_enabled();
}
