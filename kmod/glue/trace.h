/* SPDX-License-Identifier: GPL-2.0-only */
/* What the trace events record: events/rpcordma in tracefs. Documentation/administration.rst says what they mean. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rpcordma

#if !defined(RPCORDMA_GLUE_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RPCORDMA_GLUE_TRACE_H

#include <linux/in6.h>
#include <linux/tracepoint.h>
#include <linux/version.h>

/* 6.10 took the second argument away. */
#undef ASSIGN_STRING
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define ASSIGN_STRING(field) __assign_str(field, field)
#else
#define ASSIGN_STRING(field) __assign_str(field)
#endif

/* An IPv4 address uses the front of it. */
#undef PEER_FIELD
#undef PEER_ASSIGN
#define PEER_FIELD __array(u8, peer, sizeof(struct sockaddr_in6))
#define PEER_ASSIGN memcpy(__entry->peer, peer, sizeof(struct sockaddr_in6))

/* The connection. */

TRACE_EVENT(rpcordma_connect_attempt,
	TP_PROTO(const struct sockaddr *peer, u32 delay_ms),
	TP_ARGS(peer, delay_ms),
	TP_STRUCT__entry(
		PEER_FIELD
		__field(u32, delay_ms)
	),
	TP_fast_assign(
		PEER_ASSIGN;
		__entry->delay_ms = delay_ms;
	),
	TP_printk("peer=%pISpc delay_ms=%u", __entry->peer, __entry->delay_ms)
);

TRACE_EVENT(rpcordma_connection_event,
	TP_PROTO(const struct sockaddr *peer, const char *event, int status),
	TP_ARGS(peer, event, status),
	TP_STRUCT__entry(
		PEER_FIELD
		__string(event, event)
		__field(int, status)
	),
	TP_fast_assign(
		PEER_ASSIGN;
		ASSIGN_STRING(event);
		__entry->status = status;
	),
	TP_printk("peer=%pISpc event='%s' status=%d", __entry->peer, __get_str(event), __entry->status)
);

TRACE_EVENT(rpcordma_connected,
	TP_PROTO(const struct sockaddr *peer, const char *device, u32 credits, u32 call_threshold,
		 u32 reply_threshold, bool remote_invalidation),
	TP_ARGS(peer, device, credits, call_threshold, reply_threshold, remote_invalidation),
	TP_STRUCT__entry(
		PEER_FIELD
		__string(device, device)
		__field(u32, credits)
		__field(u32, call_threshold)
		__field(u32, reply_threshold)
		__field(bool, remote_invalidation)
	),
	TP_fast_assign(
		PEER_ASSIGN;
		ASSIGN_STRING(device);
		__entry->credits = credits;
		__entry->call_threshold = call_threshold;
		__entry->reply_threshold = reply_threshold;
		__entry->remote_invalidation = remote_invalidation;
	),
	TP_printk("peer=%pISpc device=%s credits=%u call_threshold=%u reply_threshold=%u remote_invalidation=%u",
		  __entry->peer, __get_str(device), __entry->credits, __entry->call_threshold,
		  __entry->reply_threshold, __entry->remote_invalidation)
);

TRACE_EVENT(rpcordma_connect_failed,
	TP_PROTO(const struct sockaddr *peer, const char *reason),
	TP_ARGS(peer, reason),
	TP_STRUCT__entry(
		PEER_FIELD
		__string(reason, reason)
	),
	TP_fast_assign(
		PEER_ASSIGN;
		ASSIGN_STRING(reason);
	),
	TP_printk("peer=%pISpc reason='%s'", __entry->peer, __get_str(reason))
);

TRACE_EVENT(rpcordma_disconnect,
	TP_PROTO(const struct sockaddr *peer, const char *reason, const char *detail),
	TP_ARGS(peer, reason, detail),
	TP_STRUCT__entry(
		PEER_FIELD
		__string(reason, reason)
		__string(detail, detail)
	),
	TP_fast_assign(
		PEER_ASSIGN;
		ASSIGN_STRING(reason);
		ASSIGN_STRING(detail);
	),
	TP_printk("peer=%pISpc reason='%s' detail='%s'", __entry->peer, __get_str(reason), __get_str(detail))
);

TRACE_EVENT(rpcordma_disconnected,
	TP_PROTO(const struct sockaddr *peer, u32 calls),
	TP_ARGS(peer, calls),
	TP_STRUCT__entry(
		PEER_FIELD
		__field(u32, calls)
	),
	TP_fast_assign(
		PEER_ASSIGN;
		__entry->calls = calls;
	),
	TP_printk("peer=%pISpc calls=%u", __entry->peer, __entry->calls)
);

/* The way of a Call. */

TRACE_EVENT(rpcordma_call_planned,
	TP_PROTO(const struct sockaddr *peer, u32 xid, const char *call, const char *reply, u32 header_size,
		 u32 inline_size, u32 read_segments, u32 room_segments),
	TP_ARGS(peer, xid, call, reply, header_size, inline_size, read_segments, room_segments),
	TP_STRUCT__entry(
		PEER_FIELD
		__field(u32, xid)
		__string(call, call)
		__string(reply, reply)
		__field(u32, header_size)
		__field(u32, inline_size)
		__field(u32, read_segments)
		__field(u32, room_segments)
	),
	TP_fast_assign(
		PEER_ASSIGN;
		__entry->xid = xid;
		ASSIGN_STRING(call);
		ASSIGN_STRING(reply);
		__entry->header_size = header_size;
		__entry->inline_size = inline_size;
		__entry->read_segments = read_segments;
		__entry->room_segments = room_segments;
	),
	TP_printk("peer=%pISpc xid=0x%08x call='%s' reply='%s' header=%u inline=%u read_segments=%u room_segments=%u",
		  __entry->peer, __entry->xid, __get_str(call), __get_str(reply), __entry->header_size,
		  __entry->inline_size, __entry->read_segments, __entry->room_segments)
);

TRACE_EVENT(rpcordma_call_sent,
	TP_PROTO(const struct sockaddr *peer, u32 xid, u32 size, u32 registrations, u32 transmission),
	TP_ARGS(peer, xid, size, registrations, transmission),
	TP_STRUCT__entry(
		PEER_FIELD
		__field(u32, xid)
		__field(u32, size)
		__field(u32, registrations)
		__field(u32, transmission)
	),
	TP_fast_assign(
		PEER_ASSIGN;
		__entry->xid = xid;
		__entry->size = size;
		__entry->registrations = registrations;
		__entry->transmission = transmission;
	),
	TP_printk("peer=%pISpc xid=0x%08x size=%u registrations=%u transmission=%u", __entry->peer, __entry->xid,
		  __entry->size, __entry->registrations, __entry->transmission)
);

DECLARE_EVENT_CLASS(rpcordma_reason,
	TP_PROTO(const struct sockaddr *peer, u32 xid, const char *reason),
	TP_ARGS(peer, xid, reason),
	TP_STRUCT__entry(
		PEER_FIELD
		__field(u32, xid)
		__string(reason, reason)
	),
	TP_fast_assign(
		PEER_ASSIGN;
		__entry->xid = xid;
		ASSIGN_STRING(reason);
	),
	TP_printk("peer=%pISpc xid=0x%08x reason='%s'", __entry->peer, __entry->xid, __get_str(reason))
);

#undef REASON_EVENT
#define REASON_EVENT(name)                                                           \
	DEFINE_EVENT(rpcordma_reason, rpcordma_##name,                               \
		TP_PROTO(const struct sockaddr *peer, u32 xid, const char *reason),  \
		TP_ARGS(peer, xid, reason))

REASON_EVENT(call_held);
REASON_EVENT(call_impossible);
REASON_EVENT(reply_refused);
REASON_EVENT(reply_unmatched);
REASON_EVENT(reverse_call_dropped);

TRACE_EVENT(rpcordma_call_fenced,
	TP_PROTO(const struct sockaddr *peer, u32 xid, u32 segments),
	TP_ARGS(peer, xid, segments),
	TP_STRUCT__entry(
		PEER_FIELD
		__field(u32, xid)
		__field(u32, segments)
	),
	TP_fast_assign(
		PEER_ASSIGN;
		__entry->xid = xid;
		__entry->segments = segments;
	),
	TP_printk("peer=%pISpc xid=0x%08x segments=%u", __entry->peer, __entry->xid, __entry->segments)
);

/* Memory that the peer may reach. */

TRACE_EVENT(rpcordma_segment_advertised,
	TP_PROTO(const struct sockaddr *peer, u32 xid, const char *chunk, u32 position, u32 handle, u32 length,
		 u64 offset),
	TP_ARGS(peer, xid, chunk, position, handle, length, offset),
	TP_STRUCT__entry(
		PEER_FIELD
		__field(u32, xid)
		__string(chunk, chunk)
		__field(u32, position)
		__field(u32, handle)
		__field(u32, length)
		__field(u64, offset)
	),
	TP_fast_assign(
		PEER_ASSIGN;
		__entry->xid = xid;
		ASSIGN_STRING(chunk);
		__entry->position = position;
		__entry->handle = handle;
		__entry->length = length;
		__entry->offset = offset;
	),
	TP_printk("peer=%pISpc xid=0x%08x chunk='%s' position=%u segment=%u@0x%016llx:0x%08x", __entry->peer,
		  __entry->xid, __get_str(chunk), __entry->position, __entry->length,
		  (unsigned long long)__entry->offset, __entry->handle)
);

TRACE_EVENT(rpcordma_segment_invalidated,
	TP_PROTO(const struct sockaddr *peer, u32 xid, u32 handle, const char *by),
	TP_ARGS(peer, xid, handle, by),
	TP_STRUCT__entry(
		PEER_FIELD
		__field(u32, xid)
		__field(u32, handle)
		__string(by, by)
	),
	TP_fast_assign(
		PEER_ASSIGN;
		__entry->xid = xid;
		__entry->handle = handle;
		ASSIGN_STRING(by);
	),
	TP_printk("peer=%pISpc xid=0x%08x handle=0x%08x by='%s'", __entry->peer, __entry->xid, __entry->handle,
		  __get_str(by))
);

TRACE_EVENT(rpcordma_registrations_made,
	TP_PROTO(const char *device, u32 made, u32 total),
	TP_ARGS(device, made, total),
	TP_STRUCT__entry(
		__string(device, device)
		__field(u32, made)
		__field(u32, total)
	),
	TP_fast_assign(
		ASSIGN_STRING(device);
		__entry->made = made;
		__entry->total = total;
	),
	TP_printk("device=%s made=%u total=%u", __get_str(device), __entry->made, __entry->total)
);

/* The way of a Reply, and what else comes in. */

TRACE_EVENT(rpcordma_reply_received,
	TP_PROTO(const struct sockaddr *peer, u32 xid, const char *type, u32 credits, u32 inline_size,
		 u32 chunk_size),
	TP_ARGS(peer, xid, type, credits, inline_size, chunk_size),
	TP_STRUCT__entry(
		PEER_FIELD
		__field(u32, xid)
		__string(type, type)
		__field(u32, credits)
		__field(u32, inline_size)
		__field(u32, chunk_size)
	),
	TP_fast_assign(
		PEER_ASSIGN;
		__entry->xid = xid;
		ASSIGN_STRING(type);
		__entry->credits = credits;
		__entry->inline_size = inline_size;
		__entry->chunk_size = chunk_size;
	),
	TP_printk("peer=%pISpc xid=0x%08x type=%s credits=%u inline=%u chunk=%u", __entry->peer, __entry->xid,
		  __get_str(type), __entry->credits, __entry->inline_size, __entry->chunk_size)
);

TRACE_EVENT(rpcordma_error_received,
	TP_PROTO(const struct sockaddr *peer, u32 xid, const char *error, u32 low, u32 high),
	TP_ARGS(peer, xid, error, low, high),
	TP_STRUCT__entry(
		PEER_FIELD
		__field(u32, xid)
		__string(error, error)
		__field(u32, low)
		__field(u32, high)
	),
	TP_fast_assign(
		PEER_ASSIGN;
		__entry->xid = xid;
		ASSIGN_STRING(error);
		__entry->low = low;
		__entry->high = high;
	),
	TP_printk("peer=%pISpc xid=0x%08x error=%s versions=%u-%u", __entry->peer, __entry->xid, __get_str(error),
		  __entry->low, __entry->high)
);

TRACE_EVENT(rpcordma_unusual_grant,
	TP_PROTO(const struct sockaddr *peer, u32 xid, u32 granted, u32 requested, const char *reason),
	TP_ARGS(peer, xid, granted, requested, reason),
	TP_STRUCT__entry(
		PEER_FIELD
		__field(u32, xid)
		__field(u32, granted)
		__field(u32, requested)
		__string(reason, reason)
	),
	TP_fast_assign(
		PEER_ASSIGN;
		__entry->xid = xid;
		__entry->granted = granted;
		__entry->requested = requested;
		ASSIGN_STRING(reason);
	),
	TP_printk("peer=%pISpc xid=0x%08x granted=%u requested=%u reason='%s'", __entry->peer, __entry->xid,
		  __entry->granted, __entry->requested, __get_str(reason))
);

TRACE_EVENT(rpcordma_invalidation_not_offered,
	TP_PROTO(const struct sockaddr *peer, u32 xid, u32 handle),
	TP_ARGS(peer, xid, handle),
	TP_STRUCT__entry(
		PEER_FIELD
		__field(u32, xid)
		__field(u32, handle)
	),
	TP_fast_assign(
		PEER_ASSIGN;
		__entry->xid = xid;
		__entry->handle = handle;
	),
	TP_printk("peer=%pISpc xid=0x%08x handle=0x%08x", __entry->peer, __entry->xid, __entry->handle)
);

TRACE_EVENT(rpcordma_message_dropped,
	TP_PROTO(const struct sockaddr *peer, u32 size, const char *reason),
	TP_ARGS(peer, size, reason),
	TP_STRUCT__entry(
		PEER_FIELD
		__field(u32, size)
		__string(reason, reason)
	),
	TP_fast_assign(
		PEER_ASSIGN;
		__entry->size = size;
		ASSIGN_STRING(reason);
	),
	TP_printk("peer=%pISpc size=%u reason='%s'", __entry->peer, __entry->size, __get_str(reason))
);

/* A responder's listener and RPCs. */

TRACE_EVENT(rpcordma_listener,
	TP_PROTO(const struct sockaddr *peer, const char *event, int status),
	TP_ARGS(peer, event, status),
	TP_STRUCT__entry(
		PEER_FIELD
		__string(event, event)
		__field(int, status)
	),
	TP_fast_assign(
		PEER_ASSIGN;
		ASSIGN_STRING(event);
		__entry->status = status;
	),
	TP_printk("address=%pISpc event='%s' status=%d", __entry->peer, __get_str(event), __entry->status)
);

DECLARE_EVENT_CLASS(rpcordma_arrival,
	TP_PROTO(const struct sockaddr *peer, u32 xid, const char *shape, u32 credits, u32 inline_size,
		 u32 read_segments, u32 size),
	TP_ARGS(peer, xid, shape, credits, inline_size, read_segments, size),
	TP_STRUCT__entry(
		PEER_FIELD
		__field(u32, xid)
		__string(shape, shape)
		__field(u32, credits)
		__field(u32, inline_size)
		__field(u32, read_segments)
		__field(u32, size)
	),
	TP_fast_assign(
		PEER_ASSIGN;
		__entry->xid = xid;
		ASSIGN_STRING(shape);
		__entry->credits = credits;
		__entry->inline_size = inline_size;
		__entry->read_segments = read_segments;
		__entry->size = size;
	),
	TP_printk("peer=%pISpc xid=0x%08x call='%s' credits=%u inline=%u read_segments=%u size=%u", __entry->peer,
		  __entry->xid, __get_str(shape), __entry->credits, __entry->inline_size, __entry->read_segments,
		  __entry->size)
);

#undef ARRIVAL_EVENT
#define ARRIVAL_EVENT(name)                                                                                   \
	DEFINE_EVENT(rpcordma_arrival, rpcordma_##name,                                                       \
		TP_PROTO(const struct sockaddr *peer, u32 xid, const char *shape, u32 credits, u32 inline_size, \
			 u32 read_segments, u32 size),                                                        \
		TP_ARGS(peer, xid, shape, credits, inline_size, read_segments, size))

ARRIVAL_EVENT(call_received);
ARRIVAL_EVENT(reverse_call_received);

TRACE_EVENT(rpcordma_call_pulled,
	TP_PROTO(const struct sockaddr *peer, u32 xid, u32 size, u32 segments),
	TP_ARGS(peer, xid, size, segments),
	TP_STRUCT__entry(
		PEER_FIELD
		__field(u32, xid)
		__field(u32, size)
		__field(u32, segments)
	),
	TP_fast_assign(
		PEER_ASSIGN;
		__entry->xid = xid;
		__entry->size = size;
		__entry->segments = segments;
	),
	TP_printk("peer=%pISpc xid=0x%08x size=%u segments=%u", __entry->peer, __entry->xid, __entry->size,
		  __entry->segments)
);

REASON_EVENT(call_refused);

TRACE_EVENT(rpcordma_error_sent,
	TP_PROTO(const struct sockaddr *peer, u32 xid, const char *error, u32 version),
	TP_ARGS(peer, xid, error, version),
	TP_STRUCT__entry(
		PEER_FIELD
		__field(u32, xid)
		__string(error, error)
		__field(u32, version)
	),
	TP_fast_assign(
		PEER_ASSIGN;
		__entry->xid = xid;
		ASSIGN_STRING(error);
		__entry->version = version;
	),
	TP_printk("peer=%pISpc xid=0x%08x error=%s version=%u", __entry->peer, __entry->xid, __get_str(error),
		  __entry->version)
);

TRACE_EVENT(rpcordma_reply_sent,
	TP_PROTO(const struct sockaddr *peer, u32 xid, const char *type, u32 size, u32 reply_size, u32 segments,
		 u32 invalidated),
	TP_ARGS(peer, xid, type, size, reply_size, segments, invalidated),
	TP_STRUCT__entry(
		PEER_FIELD
		__field(u32, xid)
		__string(type, type)
		__field(u32, size)
		__field(u32, reply_size)
		__field(u32, segments)
		__field(u32, invalidated)
	),
	TP_fast_assign(
		PEER_ASSIGN;
		__entry->xid = xid;
		ASSIGN_STRING(type);
		__entry->size = size;
		__entry->reply_size = reply_size;
		__entry->segments = segments;
		__entry->invalidated = invalidated;
	),
	TP_printk("peer=%pISpc xid=0x%08x type=%s size=%u reply=%u segments=%u invalidated=0x%08x", __entry->peer,
		  __entry->xid, __get_str(type), __entry->size, __entry->reply_size, __entry->segments,
		  __entry->invalidated)
);

TRACE_EVENT(rpcordma_reverse_call_sent,
	TP_PROTO(const struct sockaddr *peer, u32 xid, u32 size, const char *call, const char *reply),
	TP_ARGS(peer, xid, size, call, reply),
	TP_STRUCT__entry(
		PEER_FIELD
		__field(u32, xid)
		__field(u32, size)
		__string(call, call)
		__string(reply, reply)
	),
	TP_fast_assign(
		PEER_ASSIGN;
		__entry->xid = xid;
		__entry->size = size;
		ASSIGN_STRING(call);
		ASSIGN_STRING(reply);
	),
	TP_printk("peer=%pISpc xid=0x%08x size=%u call='%s' reply='%s'", __entry->peer, __entry->xid, __entry->size,
		  __get_str(call), __get_str(reply))
);

TRACE_EVENT(rpcordma_reverse_reply_sent,
	TP_PROTO(const struct sockaddr *peer, u32 xid, const char *type, u32 size),
	TP_ARGS(peer, xid, type, size),
	TP_STRUCT__entry(
		PEER_FIELD
		__field(u32, xid)
		__string(type, type)
		__field(u32, size)
	),
	TP_fast_assign(
		PEER_ASSIGN;
		__entry->xid = xid;
		ASSIGN_STRING(type);
		__entry->size = size;
	),
	TP_printk("peer=%pISpc xid=0x%08x type=%s size=%u", __entry->peer, __entry->xid, __get_str(type),
		  __entry->size)
);

REASON_EVENT(reverse_reply_unmatched);

TRACE_EVENT(rpcordma_send_waits,
	TP_PROTO(const struct sockaddr *peer, u32 xid),
	TP_ARGS(peer, xid),
	TP_STRUCT__entry(
		PEER_FIELD
		__field(u32, xid)
	),
	TP_fast_assign(
		PEER_ASSIGN;
		__entry->xid = xid;
	),
	TP_printk("peer=%pISpc xid=0x%08x", __entry->peer, __entry->xid)
);

#endif

/* Found below kmod/, which is on the include path. */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH glue
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
