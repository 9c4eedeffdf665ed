// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clients that take no Reply: each connects without a Receive, asks to have Sends tried for ever, calls NULL, then READs that go
 * to many segments each, and waits until the connection ends. Then it does so again, until it is killed.
 *
 *     jam ADDRESS PORT FILE COUNT
 *
 * FILE is below the server's export "tmpfs". Says "N jams" when each of COUNT has sent its Calls for the first time.
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
#define SEGMENTS 200
#define SEGMENT_SIZE 256
#define CREDITS 64

struct message {
	uint32_t words[INLINE_THRESHOLD / 4];
	size_t count;
};

static char calls[1 + READS][INLINE_THRESHOLD], room[SEGMENTS * SEGMENT_SIZE];

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

/* RDMA_MSG (RFC 8166, 4.3) without chunks but for those Write segments, and the head of a Call to NFS. */
static void begin(struct message *message, uint32_t xid, const struct ibv_mr *memory, uint32_t version,
		  uint32_t procedure)
{
	uint32_t head[] = {xid, 1, CREDITS, 0, 0};

	message->count = 0;
	for (size_t n = 0; n < sizeof(head) / sizeof(*head); n++)
		put(message, head[n]);
	if (memory) {
		put(message, 1);
		put(message, SEGMENTS);
		for (uint32_t n = 0; n < SEGMENTS; n++) {
			uint64_t offset = (uintptr_t)room + n * SEGMENT_SIZE;

			put(message, memory->rkey);
			put(message, SEGMENT_SIZE);
			put(message, offset >> 32);
			put(message, offset);
		}
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

static void jam_once(char **arguments, int told)
{
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP}, *found;
	struct ibv_qp_init_attr queues = {
		.cap = {.max_send_wr = 1 + READS, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
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
	struct rdma_cm_event *event;
	struct ibv_mr *from, *to;
	struct message message;

	if (rdma_getaddrinfo(arguments[1], arguments[2], &hints, &found))
		return;
	if (rdma_create_ep(&id, found, NULL, &queues)) {
		rdma_freeaddrinfo(found);
		return;
	}
	from = rdma_reg_msgs(id, calls, sizeof(calls));
	to = rdma_reg_write(id, room, sizeof(room));
	if (from && to && rdma_connect(id, &parameters) == 0) {
		begin(&message, 1, NULL, 3, 0);
		for (unsigned int n = 0; send_one(id, n, &message, from) == 0 && n < READS; n++)
			encode_read(&message, 2 + n, to, arguments[3]);
		if (write(told, "", 1) != 1)
			exit(1);
		if (rdma_get_cm_event(id->channel, &event) == 0)
			rdma_ack_cm_event(event);
		rdma_disconnect(id);
	}
	if (from)
		rdma_dereg_mr(from);
	if (to)
		rdma_dereg_mr(to);
	rdma_destroy_ep(id);
	rdma_freeaddrinfo(found);
}

int main(int argc, char **argv)
{
	int told[2], count;
	char byte;

	if (argc != 5 || pipe(told))
		return 2;
	count = atoi(argv[4]);
	for (int n = 0; n < count; n++) {
		if (fork() != 0)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			jam_once(argv, told[1]);
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
