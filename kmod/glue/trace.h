/* SPDX-License-Identifier: GPL-2.0-only */
/* What the trace events record: events/rpcordma in tracefs. Their fields are in kernel/trace.def. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rpcordma

#if !defined(RPCORDMA_GLUE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RPCORDMA_GLUE_TRACE_H

#include <linux/in6.h>
#include <linux/tracepoint.h>
#include <linux/version.h>

#include "kernel/each.h"

/* Called when the first begins to listen to an event, and when the last ceases to. */
int rpcordma_event_traced(void);
void rpcordma_event_untraced(void);

#ifndef RPCORDMA_PARAMETER
/* For each type of a field: a parameter, a place in the record, how it gets there, how it is shown. */
#define RPCORDMA_TYPE_text const char *
#define RPCORDMA_TYPE_int int
#define RPCORDMA_TYPE_u32 u32
#define RPCORDMA_TYPE_u64 u64
#define RPCORDMA_PARAMETER(type, name) , RPCORDMA_TYPE_##type name
#define RPCORDMA_ARGUMENT(type, name) , name

#define RPCORDMA_RECORD_text(name) __string(name, name)
#define RPCORDMA_RECORD_int(name) __field(int, name)
#define RPCORDMA_RECORD_u32(name) __field(u32, name)
#define RPCORDMA_RECORD_u64(name) __field(u64, name)
#define RPCORDMA_RECORD(type, name) RPCORDMA_RECORD_##type(name)

/* 6.10 took the second argument away. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define RPCORDMA_ASSIGN_text(name) __assign_str(name, name);
#else
#define RPCORDMA_ASSIGN_text(name) __assign_str(name);
#endif
#define RPCORDMA_ASSIGN_int(name) __entry->name = name;
#define RPCORDMA_ASSIGN_u32(name) __entry->name = name;
#define RPCORDMA_ASSIGN_u64(name) __entry->name = name;
#define RPCORDMA_ASSIGN(type, name) RPCORDMA_ASSIGN_##type(name)

#define RPCORDMA_SHOW_text(name) __get_str(name)
#define RPCORDMA_SHOW_int(name) __entry->name
#define RPCORDMA_SHOW_u32(name) __entry->name
#define RPCORDMA_SHOW_u64(name) (unsigned long long)__entry->name
#define RPCORDMA_SHOW(type, name) , RPCORDMA_SHOW_##type(name)
#endif

/* An IPv4 address uses the front of the peer's. */
#undef EVENT
#define EVENT(name, format, ...)                                                                               \
	TRACE_EVENT_FN(rpcordma_##name,                                                                        \
		TP_PROTO(const struct sockaddr *peer EACH(RPCORDMA_PARAMETER, __VA_ARGS__)),                   \
		TP_ARGS(peer EACH(RPCORDMA_ARGUMENT, __VA_ARGS__)),                                            \
		TP_STRUCT__entry(                                                                              \
			__array(u8, peer, sizeof(struct sockaddr_in6))                                         \
			EACH(RPCORDMA_RECORD, __VA_ARGS__)                                                     \
		),                                                                                             \
		TP_fast_assign(                                                                                \
			memcpy(__entry->peer, peer, sizeof(struct sockaddr_in6));                              \
			EACH(RPCORDMA_ASSIGN, __VA_ARGS__)                                                     \
		),                                                                                             \
		TP_printk(format, __entry->peer EACH(RPCORDMA_SHOW, __VA_ARGS__)),                             \
		rpcordma_event_traced, rpcordma_event_untraced)
#include "kernel/trace.def"

TRACE_EVENT(rpcordma_registrations_made,
	TP_PROTO(const char *device, u32 made, u32 total),
	TP_ARGS(device, made, total),
	TP_STRUCT__entry(
		__string(device, device)
		__field(u32, made)
		__field(u32, total)
	),
	TP_fast_assign(
		RPCORDMA_ASSIGN_text(device)
		__entry->made = made;
		__entry->total = total;
	),
	TP_printk("device=%s made=%u total=%u", __get_str(device), __entry->made, __entry->total)
);

#endif

/* Found below kmod/, which is on the include path. */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH glue
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
