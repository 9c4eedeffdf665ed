// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clients that cost a server more than they should: each connects, does something, and then does so again, until it is killed.
 *
 *     jam KIND ADDRESS PORT COUNT FILE
 *
 * FILE is below the server's export "tmpfs". KIND is one of
 *
 *     replies          connects without a Receive, asks to have Sends tried for ever, calls NULL, then READs of FILE that go to
 *                      many segments each, and waits until the connection ends
 *     one-reply        the same, but with a Receive for the first of the Replies
 *     reads            sends Calls that the server has to read, and waits until the connection ends. That no answer to an
 *                      RDMA Read arrives is for others to see to
 *     connections      calls NULL, waits for the Reply, and disconnects
 *
 * Says "N jams" when each of COUNT has had a connection.
 */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define INLINE_THRESHOLD 4096
#define READS 15
/* With the NULL. */
#define CALLS (1 + READS)
/* A READ takes less than half of the server's send queue, and all of them take more. */
#define SEGMENTS 100
#define SEGMENT_SIZE 512
#define CREDITS 64
#define RDMA_MSG 0
#define RDMA_NOMSG 1

struct message {
	uint32_t words[INLINE_THRESHOLD / 4];
	size_t count;
};

static char calls[CALLS][INLINE_THRESHOLD], room[SEGMENTS * SEGMENT_SIZE];

static void put(struct message *message, uint32_t word)
{
	message->words[message->count++] = htonl(word);
}

static void put_zeros(struct message *message, size_t count)
{
	while (count-- > 0)
		put(message, 0);
}

static void put_name(struct message *message, const char *name)
{
	size_t length = strlen(name);

	put(message, length);
	message->words[message->count + length / 4] = 0;
	memcpy(message->words + message->count, name, length);
	message->count += (length + 3) / 4;
}

static void put_segment(struct message *message, const struct ibv_mr *memory, size_t begin, size_t length)
{
	uint64_t offset = (uintptr_t)room + begin;

	put(message, memory->rkey);
	put(message, length);
	put(message, offset >> 32);
	put(message, offset);
}

/* RFC 8166, 4.1. */
static void put_head(struct message *message, uint32_t xid, uint32_t type)
{
	message->count = 0;
	put(message, xid);
	put(message, 1);
	put(message, CREDITS);
	put(message, type);
}

/* A Call whose whole body is where a Position-Zero Read chunk says (RFC 8166, 3.5.2). */
static void encode_long_call(struct message *message, uint32_t xid, const struct ibv_mr *memory)
{
	put_head(message, xid, RDMA_NOMSG);
	put(message, 1);
	put(message, 0);
	put_segment(message, memory, 0, sizeof(room));
	put_zeros(message, 3);
}

/* RDMA_MSG (RFC 8166, 4.3) without chunks but for those Write segments, and the head of a Call to NFS. */
static void begin(struct message *message, uint32_t xid, const struct ibv_mr *memory, uint32_t version,
		  uint32_t procedure)
{
	put_head(message, xid, RDMA_MSG);
	put(message, 0);
	if (memory) {
		put(message, 1);
		put(message, SEGMENTS);
		for (size_t n = 0; n < SEGMENTS; n++)
			put_segment(message, memory, n * SEGMENT_SIZE, SEGMENT_SIZE);
	}
	put_zeros(message, 2);
	put(message, xid);
	put(message, 0);
	put(message, 2);
	put(message, 100003);
	put(message, version);
	put(message, procedure);
	/* AUTH_SYS of root's, and no verifier. */
	put(message, 1);
	put(message, 20);
	put_zeros(message, 5);
	put_zeros(message, 2);
}

/* COMPOUND of NFS version 4.0 (RFC 7530): PUTROOTFH, two LOOKUPs, and READ with the anonymous stateid. */
static void encode_read(struct message *message, uint32_t xid, const struct ibv_mr *memory, const char *file)
{
	begin(message, xid, memory, 4, 1);
	put_zeros(message, 2);
	put(message, 4);
	put(message, 24);
	put(message, 15);
	put_name(message, "tmpfs");
	put(message, 15);
	put_name(message, file);
	put(message, 25);
	put_zeros(message, 4);
	put_zeros(message, 2);
	put(message, sizeof(room));
}

static int send_one(struct rdma_cm_id *id, unsigned int number, const struct message *message, struct ibv_mr *memory)
{
	struct ibv_wc completion;

	memcpy(calls[number], message->words, message->count * 4);
	return rdma_post_send(id, NULL, calls[number], message->count * 4, memory, IBV_SEND_SIGNALED) ||
	       rdma_get_send_comp(id, &completion) != 1;
}

static void wait_for_the_end(struct rdma_cm_id *id)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(id->channel, &event) == 0)
		rdma_ack_cm_event(event);
}

static int call_null(struct rdma_cm_id *id, struct ibv_mr *from)
{
	struct message message;

	begin(&message, 1, NULL, 3, 0);
	return send_one(id, 0, &message, from);
}

static void call_reads(struct rdma_cm_id *id, struct ibv_mr *from, struct ibv_mr *memory, const char *file)
{
	struct message message;

	for (unsigned int n = 1; n < CALLS; n++) {
		encode_read(&message, 1 + n, memory, file);
		if (send_one(id, n, &message, from))
			break;
	}
}

static void take_no_reply(struct rdma_cm_id *id, struct ibv_mr *from, struct ibv_mr *memory, const char *file)
{
	if (call_null(id, from) == 0)
		call_reads(id, from, memory, file);
}

static void take_one_reply(struct rdma_cm_id *id, struct ibv_mr *from, struct ibv_mr *memory, const char *file)
{
	struct ibv_wc completion;

	if (call_null(id, from) == 0 && rdma_get_recv_comp(id, &completion) == 1)
		call_reads(id, from, memory, file);
}

static void have_calls_read(struct rdma_cm_id *id, struct ibv_mr *from, struct ibv_mr *memory, const char *file)
{
	struct message message;

	(void)file;
	for (unsigned int n = 0; n < CALLS; n++) {
		encode_long_call(&message, 1 + n, memory);
		if (send_one(id, n, &message, from))
			break;
	}
}

static void visit(struct rdma_cm_id *id, struct ibv_mr *from, struct ibv_mr *memory, const char *file)
{
	struct ibv_wc completion;

	(void)memory;
	(void)file;
	if (call_null(id, from) == 0)
		rdma_get_recv_comp(id, &completion);
}

static const struct kind {
	const char *name;
	void (*act)(struct rdma_cm_id *id, struct ibv_mr *from, struct ibv_mr *memory, const char *file);
	/* Of the server, to the memory. */
	int access;
	int posts_receive, stays;
} kinds[] = {
	{"replies", take_no_reply, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, 0, 1},
	{"one-reply", take_one_reply, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, 1, 1},
	{"reads", have_calls_read, IBV_ACCESS_REMOTE_READ, 0, 1},
	{"connections", visit, IBV_ACCESS_REMOTE_READ, 1, 0},
};

/* Acts on a connection of its own, and writes a byte to "told" when that is there, unless "told" is negative. Returns whether it
 * was there. */
static int jam_once(const struct kind *kind, char **server, int told)
{
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP}, *found;
	struct ibv_qp_init_attr queues = {
		.cap = {.max_send_wr = CALLS, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.sq_sig_all = 1,
	};
	/* Both of its thresholds are 4 KiB (RFC 8797, 4.1). */
	static const uint8_t private_data[] = {0xf6, 0xab, 0x0e, 0x18, 1, 0, 3, 3};
	struct rdma_conn_param parameters = {
		.private_data = private_data,
		.private_data_len = sizeof(private_data),
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	struct rdma_cm_id *id;
	struct ibv_mr *from, *memory;
	int connected = 0;

	if (rdma_getaddrinfo(server[0], server[1], &hints, &found))
		return 0;
	if (rdma_create_ep(&id, found, NULL, &queues)) {
		rdma_freeaddrinfo(found);
		return 0;
	}
	from = rdma_reg_msgs(id, calls, sizeof(calls));
	memory = ibv_reg_mr(id->pd, room, sizeof(room), kind->access);
	if (from && memory &&
	    (!kind->posts_receive || rdma_post_recv(id, NULL, calls[1], INLINE_THRESHOLD, from) == 0) &&
	    rdma_connect(id, &parameters) == 0) {
		connected = 1;
		if (told >= 0 && write(told, "", 1) != 1)
			exit(1);
		kind->act(id, from, memory, server[3]);
		if (kind->stays)
			wait_for_the_end(id);
		rdma_disconnect(id);
	}
	if (from)
		rdma_dereg_mr(from);
	if (memory)
		rdma_dereg_mr(memory);
	rdma_destroy_ep(id);
	rdma_freeaddrinfo(found);
	return connected;
}

static const struct kind *find_kind(const char *name)
{
	for (size_t n = 0; n < sizeof(kinds) / sizeof(*kinds); n++)
		if (strcmp(kinds[n].name, name) == 0)
			return &kinds[n];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct kind *kind = argc == 6 ? find_kind(argv[1]) : NULL;
	int told[2], count;
	char byte;

	if (!kind || pipe(told))
		return 2;
	count = atoi(argv[4]);
	for (int n = 0; n < count; n++) {
		if (fork() != 0)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (!jam_once(kind, argv + 2, told[1]))
			;
		for (;;)
			jam_once(kind, argv + 2, -1);
	}
	for (int n = 0; n < count; n++)
		if (read(told[0], &byte, 1) != 1)
			return 1;
	printf("%d jams\n", count);
	fflush(stdout);
	while (wait(NULL) > 0)
		;
	return 0;
}
