// SPDX-License-Identifier: GPL-2.0-only
/* The trace events, each behind a function of its own: kmod/kernel/trace.def, kmod/kernel/trace.hh. */
#include <linux/module.h>
#include <linux/socket.h>

#define CREATE_TRACE_POINTS
#include "glue/trace.h"

#include "kernel/glue.h"

unsigned int rpcordma_traced_events;

/* The kernel calls these with its lock for tracepoints. */
int rpcordma_event_traced(void)
{
	WRITE_ONCE(rpcordma_traced_events, rpcordma_traced_events + 1);
	return 0;
}

void rpcordma_event_untraced(void)
{
	WRITE_ONCE(rpcordma_traced_events, rpcordma_traced_events - 1);
}

#undef EVENT
#define EVENT(name, format, ...)                                                                        \
	void rpcordma_record_##name(const struct sockaddr *peer EACH(RPCORDMA_PARAMETER, __VA_ARGS__)); \
	void rpcordma_record_##name(const struct sockaddr *peer EACH(RPCORDMA_PARAMETER, __VA_ARGS__))  \
	{                                                                                               \
		trace_rpcordma_##name(peer EACH(RPCORDMA_ARGUMENT, __VA_ARGS__));                       \
	}
#include "kernel/trace.def"
#undef EVENT

void rpcordma_trace_registrations_made(const char *device, u32 made, u32 total);
void rpcordma_trace_registrations_made(const char *device, u32 made, u32 total)
{
	trace_rpcordma_registrations_made(device, made, total);
}
