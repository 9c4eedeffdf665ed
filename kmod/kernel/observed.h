/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the netlink family shows, as plain data: C++ fills it, C sends it. Each field is that of the same name in
 * uapi/rpcordma.yaml. Texts are constants, or as old as the module.
 */
#ifndef RPCORDMA_KERNEL_OBSERVED_H
#define RPCORDMA_KERNEL_OBSERVED_H

#include "kernel/glue.h"
#include "uapi/rpcordma_netlink.h"

struct genl_family;

#define RPCORDMA_LATENCIES 24

/* A struct sockaddr_in or sockaddr_in6; all zero where there is none. */
struct rpcordma_address {
	union {
		u8 bytes[28];
		/* Aligned as those are. */
		u32 words[7];
	};
};

/* How often something has happened; name is NULL behind the last. */
#define RPCORDMA_TALLIED 8
struct rpcordma_tallied {
	const char *name;
	u64 count;
};

/* Which of a connection's fields say something. */
enum {
	/* Always. */
	RPCORDMA_OBSERVED = 1,
	/* While there is a connection. */
	RPCORDMA_OBSERVED_CONNECTED = 2,
	/* Of a requester. */
	RPCORDMA_OBSERVED_REQUESTER = 4,
	/* Where the peer sent private data. */
	RPCORDMA_OBSERVED_PRIVATE_DATA = 8,
};

struct rpcordma_connection {
	u64 id;
	/* Some of the above. */
	u32 valid;
	u32 role;
	u32 state;
	u32 xprt_id;
	struct rpcordma_address remote;
	struct rpcordma_address local;
	char device[64];
	u32 port;
	u32 queue_pair;
	u64 age;
	u32 version;
	u32 credits_in_use;
	u32 credits_granted;
	u32 credits_asked;
	u32 reverse_credits;
	u32 call_threshold;
	u32 reply_threshold;
	u32 remote_invalidation;
	u64 receives;
	u64 sends;
	u64 connects;
	u64 bad_xids;
	u64 read_chunks;
	u64 write_chunks;
	u64 reply_chunks;
	u64 request_bytes;
	u64 reply_bytes;
	u64 bytes_copied_out;
	u64 bytes_copied_in;
	u64 failed_marshals;
	u64 bad_replies;
	u64 nomsg_calls;
	u64 registrations;
	u64 registrations_lost;
	u64 local_invalidations;
	u64 waits_for_room;
	u64 latency[RPCORDMA_LATENCIES];
	u64 latency_sum;
	u64 inline_sent;
	u64 inline_received;
	u64 read_chunk_bytes;
	u64 write_chunk_bytes;
	u64 reply_chunk_bytes;
	u64 remote_invalidations;
	u64 retransmissions;
	u64 reverse_calls;
	u64 reverse_replies;
	u32 reverse_credits_in_use;
	u32 private_data;
	u64 receive_memory;
	u64 send_memory;
	u64 registration_memory;
	u32 peer_send_size;
	u32 peer_receive_size;
	u32 peer_remote_invalidation;
	/* With one for the others. */
	struct rpcordma_tallied waits[RPCORDMA_TALLIED + 1];
	struct rpcordma_tallied refused[RPCORDMA_TALLIED + 1];
	struct rpcordma_tallied errors_sent[RPCORDMA_TALLIED + 1];
	struct rpcordma_tallied errors_received[RPCORDMA_TALLIED + 1];
};

struct rpcordma_listener {
	u64 id;
	struct rpcordma_address address;
	u32 is_listening;
};

struct rpcordma_disconnect {
	u64 id;
	u64 connection;
	u32 role;
	struct rpcordma_address remote;
	u64 time;
	u64 age;
	const char *reason;
	const char *detail;
};

struct rpcordma_event {
	u32 happening;
	u32 role;
	u64 connection;
	struct rpcordma_address remote;
	/* NULL where there is none. */
	const char *reason;
	const char *detail;
};

#ifdef __cplusplus
extern "C" {
#endif

/* glue/events.c. Events go out as that family's, which is registered as long as there is any connection. */
void rpcordma_events_open(const struct genl_family *open);
/* 0 where there is no address. */
size_t rpcordma_address_size(const struct rpcordma_address *address);
/* Tells who listens in that network namespace, as far as there is memory. Any process context; does not sleep. */
void rpcordma_send_event(struct net *network, const struct rpcordma_event *event);
/* Never the same for two network namespaces, also where one has been freed. */
u64 rpcordma_network_cookie(const struct net *network);

#ifdef __cplusplus
}
#endif

#endif
