// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clients that vanish: each connects, sends one NULL Call, and its process exits.
 *
 *     abandon ADDRESS PORT COUNT AT_A_TIME
 *
 * Says "N abandoned" at the end: so many of COUNT were connected.
 */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define INLINE_THRESHOLD 4096
/* Nobody waits for longer for a server that lets nobody in. */
#define MOST_SECONDS 20

/* RDMA_MSG without chunks (RFC 8166, 4.3), and NULL of NFS version 3. */
static void encode_null(uint32_t *message, uint32_t xid)
{
	const uint32_t words[] = {xid, 1, 1, 0, 0, 0, 0, xid, 0, 2, 100003, 3, 0, 0, 0, 0, 0};

	for (size_t n = 0; n < sizeof(words) / sizeof(*words); n++)
		message[n] = htonl(words[n]);
}

static int abandon_one(const char *address, const char *port)
{
	static char call[INLINE_THRESHOLD], reply[INLINE_THRESHOLD];
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP}, *found;
	struct ibv_qp_init_attr queues = {
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.sq_sig_all = 1,
	};
	struct rdma_conn_param parameters = {
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	struct rdma_cm_id *id;
	struct ibv_mr *call_memory, *reply_memory;
	struct ibv_wc completion;

	alarm(MOST_SECONDS);
	if (rdma_getaddrinfo(address, port, &hints, &found) || rdma_create_ep(&id, found, NULL, &queues))
		return 1;
	call_memory = rdma_reg_msgs(id, call, sizeof(call));
	reply_memory = rdma_reg_msgs(id, reply, sizeof(reply));
	encode_null((uint32_t *)call, getpid());
	if (!call_memory || !reply_memory || rdma_post_recv(id, NULL, reply, sizeof(reply), reply_memory) ||
	    rdma_connect(id, &parameters) || rdma_post_send(id, NULL, call, 17 * 4, call_memory, 0))
		return 1;
	return rdma_get_send_comp(id, &completion) == 1 ? 0 : 1;
}

static int take_status(void)
{
	int status;

	return wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(int argc, char **argv)
{
	int count, at_a_time, abandoned = 0;

	if (argc != 5)
		return 2;
	count = atoi(argv[3]);
	at_a_time = atoi(argv[4]);
	for (int started = 0; started < count; started++) {
		if (started >= at_a_time)
			abandoned += take_status();
		/* Whoever exits like this tells the server nothing: its kernel does. */
		if (fork() == 0)
			_exit(abandon_one(argv[1], argv[2]));
	}
	for (int left = count < at_a_time ? count : at_a_time; left > 0; left--)
		abandoned += take_status();
	printf("%d abandoned\n", abandoned);
	return 0;
}
