// SPDX-License-Identifier: GPL-2.0-only
/* The netlink family, which shows modules, listeners and connections: uapi/rpcordma.yaml. */
#include <linux/socket.h>
#include <linux/utsname.h>
#include <net/genetlink.h>
#include <net/sock.h>

#include "entry/netlink_gen.h"
#include "entry/parts.h"
#include "verbs/observed.h"

/* What the module is, and is set to. */
struct settings {
	const char *version;
	const char *kernel;
	u32 slot_table_entries;
	u32 max_inline_read;
	u32 max_inline_write;
	u32 highest_version;
	u32 svc_max_requests;
	u32 svc_max_req_size;
	u32 svc_max_reads;
	u32 svc_reverse_chunks;
	u32 svc_highest_version;
	u32 svc_reserved_ports;
	u64 svc_reads;
	u64 svc_receives;
	u64 svc_writes;
	u64 svc_send_waits;
	u32 svc_max_connects;
	u64 svc_connects;
	u64 svc_disconnects;
	u64 svc_refused;
	u64 svc_errors_sent;
};

/* How a field of a record travels. */
enum kind {
	U32,
	U64,
	/* Is left out where there is none. */
	ADDRESS,
	/* An array of characters, and a pointer to them that may be NULL. */
	CHARACTERS,
	TEXT,
	LATENCIES,
	/* One attribute for each name. */
	TALLY,
};

struct field {
	u16 attribute;
	u16 offset;
	u8 kind;
	/* When it is there: see rpcordma_connection.valid. */
	u8 when;
};

/* What is dumped. The id comes first in each record. */
struct records {
	u8 command;
	size_t size;
	bool (*next)(const struct net *network, u64 after, void *to);
	const struct field *fields;
	size_t count;
};

#define FIELD(prefix, record, name, member, kind, when)                                   \
	{                                                                                 \
		RPCORDMA_A_##prefix##_##name, offsetof(struct record, member), kind, when \
	}

#define SETTING(name, member, kind) FIELD(MODULE, settings, name, member, kind, RPCORDMA_OBSERVED)
static const struct field settings_fields[] = {
	SETTING(VERSION, version, TEXT),
	SETTING(KERNEL, kernel, TEXT),
	SETTING(SLOT_TABLE_ENTRIES, slot_table_entries, U32),
	SETTING(MAX_INLINE_READ, max_inline_read, U32),
	SETTING(MAX_INLINE_WRITE, max_inline_write, U32),
	SETTING(HIGHEST_VERSION, highest_version, U32),
	SETTING(SVC_MAX_REQUESTS, svc_max_requests, U32),
	SETTING(SVC_MAX_REQ_SIZE, svc_max_req_size, U32),
	SETTING(SVC_MAX_READS, svc_max_reads, U32),
	SETTING(SVC_REVERSE_CHUNKS, svc_reverse_chunks, U32),
	SETTING(SVC_HIGHEST_VERSION, svc_highest_version, U32),
	SETTING(SVC_RESERVED_PORTS, svc_reserved_ports, U32),
	SETTING(SVC_READS, svc_reads, U64),
	SETTING(SVC_RECEIVES, svc_receives, U64),
	SETTING(SVC_WRITES, svc_writes, U64),
	SETTING(SVC_SEND_WAITS, svc_send_waits, U64),
	SETTING(SVC_MAX_CONNECTS, svc_max_connects, U32),
	SETTING(SVC_CONNECTS, svc_connects, U64),
	SETTING(SVC_DISCONNECTS, svc_disconnects, U64),
	SETTING(SVC_REFUSED, svc_refused, U64),
	SETTING(SVC_ERRORS_SENT, svc_errors_sent, U64),
};

#define OF_LISTENER(name, member, kind) FIELD(LISTENER, rpcordma_listener, name, member, kind, RPCORDMA_OBSERVED)
static const struct field listener_fields[] = {
	OF_LISTENER(ID, id, U64),
	OF_LISTENER(ADDRESS, address, ADDRESS),
	OF_LISTENER(IS_LISTENING, is_listening, U32),
};

#define ALWAYS(name, member, kind) FIELD(CONNECTION, rpcordma_connection, name, member, kind, RPCORDMA_OBSERVED)
#define CONNECTED(name, member, kind) \
	FIELD(CONNECTION, rpcordma_connection, name, member, kind, RPCORDMA_OBSERVED_CONNECTED)
#define REQUESTER(name, member, kind) \
	FIELD(CONNECTION, rpcordma_connection, name, member, kind, RPCORDMA_OBSERVED_REQUESTER)
#define SAID(name, member, kind) \
	FIELD(CONNECTION, rpcordma_connection, name, member, kind, RPCORDMA_OBSERVED_PRIVATE_DATA)
static const struct field connection_fields[] = {
	ALWAYS(ID, id, U64),
	ALWAYS(ROLE, role, U32),
	ALWAYS(STATE, state, U32),
	ALWAYS(REMOTE, remote, ADDRESS),
	REQUESTER(XPRT_ID, xprt_id, U32),
	CONNECTED(LOCAL, local, ADDRESS),
	CONNECTED(DEVICE, device, CHARACTERS),
	CONNECTED(PORT, port, U32),
	CONNECTED(QUEUE_PAIR, queue_pair, U32),
	CONNECTED(AGE, age, U64),
	CONNECTED(VERSION, version, U32),
	CONNECTED(CREDITS_IN_USE, credits_in_use, U32),
	CONNECTED(CREDITS_GRANTED, credits_granted, U32),
	CONNECTED(CREDITS_ASKED, credits_asked, U32),
	CONNECTED(REVERSE_CREDITS, reverse_credits, U32),
	CONNECTED(CALL_THRESHOLD, call_threshold, U32),
	CONNECTED(REPLY_THRESHOLD, reply_threshold, U32),
	CONNECTED(REMOTE_INVALIDATION, remote_invalidation, U32),
	ALWAYS(RECEIVES, receives, U64),
	ALWAYS(SENDS, sends, U64),
	REQUESTER(CONNECTS, connects, U64),
	REQUESTER(BAD_XIDS, bad_xids, U64),
	ALWAYS(READ_CHUNKS, read_chunks, U64),
	ALWAYS(WRITE_CHUNKS, write_chunks, U64),
	ALWAYS(REPLY_CHUNKS, reply_chunks, U64),
	REQUESTER(REQUEST_BYTES, request_bytes, U64),
	REQUESTER(REPLY_BYTES, reply_bytes, U64),
	REQUESTER(BYTES_COPIED_OUT, bytes_copied_out, U64),
	REQUESTER(BYTES_COPIED_IN, bytes_copied_in, U64),
	REQUESTER(FAILED_MARSHALS, failed_marshals, U64),
	REQUESTER(BAD_REPLIES, bad_replies, U64),
	REQUESTER(NOMSG_CALLS, nomsg_calls, U64),
	ALWAYS(REGISTRATIONS, registrations, U64),
	REQUESTER(REGISTRATIONS_LOST, registrations_lost, U64),
	ALWAYS(LOCAL_INVALIDATIONS, local_invalidations, U64),
	REQUESTER(WAITS_FOR_ROOM, waits_for_room, U64),
	ALWAYS(LATENCY, latency, LATENCIES),
	ALWAYS(LATENCY_SUM, latency_sum, U64),
	ALWAYS(INLINE_SENT, inline_sent, U64),
	ALWAYS(INLINE_RECEIVED, inline_received, U64),
	ALWAYS(READ_CHUNK_BYTES, read_chunk_bytes, U64),
	ALWAYS(WRITE_CHUNK_BYTES, write_chunk_bytes, U64),
	ALWAYS(REPLY_CHUNK_BYTES, reply_chunk_bytes, U64),
	ALWAYS(REMOTE_INVALIDATIONS, remote_invalidations, U64),
	REQUESTER(RETRANSMISSIONS, retransmissions, U64),
	ALWAYS(REVERSE_CALLS, reverse_calls, U64),
	ALWAYS(REVERSE_REPLIES, reverse_replies, U64),
	CONNECTED(REVERSE_CREDITS_IN_USE, reverse_credits_in_use, U32),
	CONNECTED(RECEIVE_MEMORY, receive_memory, U64),
	CONNECTED(SEND_MEMORY, send_memory, U64),
	CONNECTED(REGISTRATION_MEMORY, registration_memory, U64),
	CONNECTED(PRIVATE_DATA, private_data, U32),
	SAID(PEER_SEND_SIZE, peer_send_size, U32),
	SAID(PEER_RECEIVE_SIZE, peer_receive_size, U32),
	SAID(PEER_REMOTE_INVALIDATION, peer_remote_invalidation, U32),
	ALWAYS(WAITS, waits, TALLY),
	ALWAYS(REFUSED, refused, TALLY),
	ALWAYS(ERRORS_SENT, errors_sent, TALLY),
	ALWAYS(ERRORS_RECEIVED, errors_received, TALLY),
};

#define OF_DISCONNECT(name, member, kind) FIELD(DISCONNECT, rpcordma_disconnect, name, member, kind, RPCORDMA_OBSERVED)
static const struct field disconnect_fields[] = {
	OF_DISCONNECT(ID, id, U64),	     OF_DISCONNECT(CONNECTION, connection, U64),
	OF_DISCONNECT(ROLE, role, U32),	     OF_DISCONNECT(REMOTE, remote, ADDRESS),
	OF_DISCONNECT(TIME, time, U64),	     OF_DISCONNECT(AGE, age, U64),
	OF_DISCONNECT(REASON, reason, TEXT), OF_DISCONNECT(DETAIL, detail, TEXT),
};

static const struct records listeners = {
	.command = RPCORDMA_CMD_LISTENER_GET,
	.size = sizeof(struct rpcordma_listener),
	.next = rpcordma_observe_listener,
	.fields = listener_fields,
	.count = ARRAY_SIZE(listener_fields),
};

static const struct records connections = {
	.command = RPCORDMA_CMD_CONNECTION_GET,
	.size = sizeof(struct rpcordma_connection),
	.next = rpcordma_observe_connection,
	.fields = connection_fields,
	.count = ARRAY_SIZE(connection_fields),
};

static const struct records disconnects = {
	.command = RPCORDMA_CMD_DISCONNECT_GET,
	.size = sizeof(struct rpcordma_disconnect),
	.next = rpcordma_observe_disconnect,
	.fields = disconnect_fields,
	.count = ARRAY_SIZE(disconnect_fields),
};

static int put_tallied(struct sk_buff *message, u16 attribute, const struct rpcordma_tallied *tallied)
{
	struct nlattr *nest = nla_nest_start(message, attribute);

	if (!nest || nla_put_string(message, RPCORDMA_A_TALLY_NAME, tallied->name) ||
	    nla_put_u64_64bit(message, RPCORDMA_A_TALLY_COUNT, tallied->count, RPCORDMA_A_TALLY_PAD))
		return -EMSGSIZE;
	nla_nest_end(message, nest);
	return 0;
}

static int put_tally(struct sk_buff *message, u16 attribute, const struct rpcordma_tallied *tally)
{
	int error = 0;

	for (unsigned int i = 0; !error && i <= RPCORDMA_TALLIED && tally[i].name; i++)
		error = put_tallied(message, attribute, &tally[i]);
	return error;
}

static int put_field(struct sk_buff *message, const struct field *field, const void *record)
{
	const void *value = record + field->offset;
	const char *text;
	size_t size;

	switch (field->kind) {
	case U32:
		return nla_put_u32(message, field->attribute, *(const u32 *)value);
	case U64:
		/* The attribute for padding is the first one of each set. */
		return nla_put_u64_64bit(message, field->attribute, *(const u64 *)value, RPCORDMA_A_MODULE_PAD);
	case ADDRESS:
		size = rpcordma_address_size(value);
		return size ? nla_put(message, field->attribute, size, value) : 0;
	case CHARACTERS:
		return nla_put_string(message, field->attribute, value);
	case TEXT:
		text = *(const char *const *)value;
		return text ? nla_put_string(message, field->attribute, text) : 0;
	case LATENCIES:
		return nla_put_64bit(message, field->attribute, RPCORDMA_LATENCIES * sizeof(u64), value,
				     RPCORDMA_A_MODULE_PAD);
	case TALLY:
		return put_tally(message, field->attribute, value);
	}
	return -EINVAL;
}

static int put_fields(struct sk_buff *message, const struct field *fields, size_t count, const void *record, u32 valid)
{
	int error = 0;

	for (; count && !error; count--, fields++)
		if (fields->when & valid)
			error = put_field(message, fields, record);
	return error;
}

static int put_record(struct sk_buff *skb, struct netlink_callback *cb, const struct records *records,
		      const void *record)
{
	const u32 valid = records == &connections ? ((const struct rpcordma_connection *)record)->valid :
						    RPCORDMA_OBSERVED;
	void *header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq, &rpcordma_nl_family,
				   NLM_F_MULTI, records->command);

	if (!header)
		return -EMSGSIZE;
	if (put_fields(skb, records->fields, records->count, record, valid)) {
		genlmsg_cancel(skb, header);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return 0;
}

/* As many as fit the message; the next one goes on behind the last id. No lock is held in between. */
static int dump(struct sk_buff *skb, struct netlink_callback *cb, const struct records *records)
{
	const struct net *network = sock_net(skb->sk);
	void *record = kzalloc(records->size, GFP_KERNEL);
	int error = 0;

	if (!record)
		return -ENOMEM;
	while (!error && records->next(network, cb->args[0], record)) {
		error = put_record(skb, cb, records, record);
		if (!error)
			cb->args[0] = *(u64 *)record;
		memset(record, 0, records->size);
	}
	kfree(record);
	return skb->len ?: error;
}

int rpcordma_nl_listener_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump(skb, cb, &listeners);
}

/* A connection that has counted every kind of thing has more to say than fits the page that a message usually has. */
#define CONNECTION_MESSAGE_SIZE 8192

int rpcordma_nl_connection_get_start(struct netlink_callback *cb)
{
	cb->min_dump_alloc = CONNECTION_MESSAGE_SIZE;
	return 0;
}

int rpcordma_nl_connection_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump(skb, cb, &connections);
}

int rpcordma_nl_disconnect_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump(skb, cb, &disconnects);
}

int rpcordma_nl_module_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	const struct settings settings = {
		.version = RPCORDMA_VERSION,
		.kernel = init_utsname()->release,
		.slot_table_entries = rpcordma_slot_table_entries,
		.max_inline_read = rpcordma_max_inline_read,
		.max_inline_write = rpcordma_max_inline_write,
		.highest_version = rpcordma_highest_version,
		.svc_max_requests = rpcordma_svc_max_requests,
		.svc_max_req_size = rpcordma_svc_max_req_size,
		.svc_max_reads = rpcordma_svc_max_reads,
		.svc_reverse_chunks = rpcordma_svc_reverse_chunks,
		.svc_highest_version = rpcordma_svc_highest_version,
		.svc_reserved_ports = rpcordma_svc_reserved_ports,
		.svc_reads = rpcordma_svc_counted(RPCORDMA_SVC_READS),
		.svc_receives = rpcordma_svc_counted(RPCORDMA_SVC_RECEIVES),
		.svc_writes = rpcordma_svc_counted(RPCORDMA_SVC_WRITES),
		.svc_send_waits = rpcordma_svc_counted(RPCORDMA_SVC_SEND_WAITS),
		.svc_max_connects = rpcordma_svc_max_connects,
		.svc_connects = rpcordma_svc_counted(RPCORDMA_SVC_CONNECTS),
		.svc_disconnects = rpcordma_svc_counted(RPCORDMA_SVC_DISCONNECTS),
		.svc_refused = rpcordma_svc_counted(RPCORDMA_SVC_REFUSED),
		.svc_errors_sent = rpcordma_svc_counted(RPCORDMA_SVC_ERRORS_SENT),
	};
	struct sk_buff *reply = genlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);
	void *header;

	if (!reply)
		return -ENOMEM;
	header = genlmsg_put_reply(reply, info, &rpcordma_nl_family, 0, RPCORDMA_CMD_MODULE_GET);
	if (!header || put_fields(reply, settings_fields, ARRAY_SIZE(settings_fields), &settings, RPCORDMA_OBSERVED)) {
		nlmsg_free(reply);
		return -EMSGSIZE;
	}
	genlmsg_end(reply, header);
	return genlmsg_reply(reply, info);
}

int rpcordma_netlink_register(void)
{
	const int error = genl_register_family(&rpcordma_nl_family);

	if (!error)
		rpcordma_events_open(&rpcordma_nl_family);
	return error;
}

void rpcordma_netlink_unregister(void)
{
	genl_unregister_family(&rpcordma_nl_family);
}
