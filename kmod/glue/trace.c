// SPDX-License-Identifier: GPL-2.0-only
/* The trace events, each behind a function of its own: kmod/kernel/trace.def. */
#include <linux/module.h>
#include <linux/socket.h>

#define CREATE_TRACE_POINTS
#include "glue/trace.h"

#include "kernel/glue.h"

#define EVENT(name, parameters, arguments)       \
	void rpcordma_trace_##name parameters;   \
	void rpcordma_trace_##name parameters    \
	{                                        \
		trace_rpcordma_##name arguments; \
	}
#include "kernel/trace.def"
#undef EVENT

bool rpcordma_traces_segments(void)
{
	return trace_rpcordma_segment_advertised_enabled() || trace_rpcordma_segment_invalidated_enabled();
}
