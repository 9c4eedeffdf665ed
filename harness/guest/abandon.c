// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clients that vanish: each makes a connection and sends one NULL Call, and its process exits.
 *
 *     abandon ADDRESS PORT COUNT AT_A_TIME SECONDS
 *
 * A process has ten of the connections, and makes them side by side. The last one begins when so many seconds are over, or
 * as soon as there are not too many. Says "N abandoned in S s" at the end: so many of COUNT were made.
 */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EACH 10
#define INLINE_THRESHOLD 4096
#define RESOLVE_MILLISECONDS 10000
/* Nobody waits for longer for a server that lets nobody in. */
#define MOST_SECONDS 20

/* One process's. */
static struct {
	struct rdma_event_channel *events;
	struct ibv_pd *domain;
	struct ibv_mr *memory;
	struct ibv_cq *sent, *received;
	char call[INLINE_THRESHOLD], reply[INLINE_THRESHOLD];
	volatile int connected;
} client;

/* Whoever exits like this tells the server nothing: its kernel does. */
static void vanish(int signal)
{
	(void)signal;
	_exit(client.connected);
}

static void require(int holds, const char *what)
{
	if (holds)
		return;
	perror(what);
	vanish(0);
}

/* RDMA_MSG without chunks (RFC 8166, 4.3), and NULL of NFS version 3. */
static void encode_null(uint32_t xid)
{
	const uint32_t words[] = {xid, 1, 1, 0, 0, 0, 0, xid, 0, 2, 100003, 3, 0, 0, 0, 0, 0};

	for (size_t n = 0; n < sizeof(words) / sizeof(*words); n++)
		((uint32_t *)client.call)[n] = htonl(words[n]);
}

/* All of a process's connections have one device. */
static void prepare(struct ibv_context *device)
{
	if (client.domain)
		return;
	client.domain = ibv_alloc_pd(device);
	client.sent = ibv_create_cq(device, EACH, NULL, NULL, 0);
	client.received = ibv_create_cq(device, EACH, NULL, NULL, 0);
	require(client.domain && client.sent && client.received, "queues");
	client.memory = ibv_reg_mr(client.domain, &client, sizeof(client), IBV_ACCESS_LOCAL_WRITE);
	require(client.memory != NULL, "memory");
}

static void make_queue_pair(struct rdma_cm_id *id)
{
	prepare(id->verbs);

	struct ibv_qp_init_attr queues = {
		.send_cq = client.sent,
		.recv_cq = client.received,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
		.sq_sig_all = 1,
	};
	struct ibv_sge element = {(uintptr_t)client.reply, sizeof(client.reply), client.memory->lkey};
	struct ibv_recv_wr receive = {.sg_list = &element, .num_sge = 1}, *bad;

	require(rdma_create_qp(id, client.domain, &queues) == 0 && ibv_post_recv(id->qp, &receive, &bad) == 0, "a "
													       "queue "
													       "pair");
}

static void connect_to_server(struct rdma_cm_id *id)
{
	struct rdma_conn_param parameters = {
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};

	require(rdma_connect(id, &parameters) == 0, "rdma_connect");
}

static void call_null(struct rdma_cm_id *id)
{
	struct ibv_sge element = {(uintptr_t)client.call, 17 * 4, client.memory->lkey};
	struct ibv_send_wr send = {.sg_list = &element, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;

	require(ibv_post_send(id->qp, &send, &bad) == 0, "a Send");
	client.connected++;
}

/* True where nothing more will come of the connection. */
static int goes_on(struct rdma_cm_id *id, enum rdma_cm_event_type event)
{
	switch (event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		make_queue_pair(id);
		require(rdma_resolve_route(id, RESOLVE_MILLISECONDS) == 0, "rdma_resolve_route");
		return 0;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		connect_to_server(id);
		return 0;
	case RDMA_CM_EVENT_ESTABLISHED:
		call_null(id);
		return 1;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return 0;
	default:
		return 1;
	}
}

static void abandon(struct sockaddr *server)
{
	struct rdma_cm_id *id;
	struct rdma_cm_event *event;
	struct ibv_wc completion;

	signal(SIGALRM, vanish);
	alarm(MOST_SECONDS);
	encode_null(getpid());
	client.events = rdma_create_event_channel();
	require(client.events != NULL, "rdma_create_event_channel");
	for (int n = 0; n < EACH; n++)
		require(rdma_create_id(client.events, &id, NULL, RDMA_PS_TCP) == 0 &&
				rdma_resolve_addr(id, NULL, server, RESOLVE_MILLISECONDS) == 0,
			"rdma_resolve_addr");
	for (int left = EACH; left > 0;) {
		require(rdma_get_cm_event(client.events, &event) == 0, "rdma_get_cm_event");
		left -= goes_on(event->id, event->event);
		rdma_ack_cm_event(event);
	}
	for (int left = client.connected; left > 0;)
		left -= ibv_poll_cq(client.sent, 1, &completion);
	vanish(0);
}

static int take_connected(void)
{
	int status;

	return wait(&status) > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static void sleep_until(double time)
{
	const double left = time - now();

	if (left > 0)
		usleep(left * 1e6);
}

int main(int argc, char **argv)
{
	struct sockaddr_in server = {.sin_family = AF_INET};
	const double begun = now();
	int processes, at_a_time, started, abandoned = 0;

	if (argc != 6 || inet_pton(AF_INET, argv[1], &server.sin_addr) != 1)
		return 2;
	server.sin_port = htons(atoi(argv[2]));
	processes = atoi(argv[3]) / EACH;
	at_a_time = atoi(argv[4]) / EACH;
	for (started = 0; started < processes; started++) {
		if (started >= at_a_time)
			abandoned += take_connected();
		sleep_until(begun + atof(argv[5]) * started / processes);
		if (fork() == 0)
			abandon((struct sockaddr *)&server);
	}
	for (int left = started < at_a_time ? started : at_a_time; left > 0; left--)
		abandoned += take_connected();
	printf("%d abandoned in %.0f s\n", abandoned, now() - begun);
	return 0;
}
