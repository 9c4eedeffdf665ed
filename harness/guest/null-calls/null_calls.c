// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes NULL calls of an NFS server, one after the other, and says how long they took: what sunrpc and its transport
 * cost where NFS itself does nothing. It is done when it has been loaded.
 */
#include <linux/err.h>
#include <linux/inet.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sunrpc/clnt.h>
#include <linux/sunrpc/xprt.h>

#define NFS_PROGRAM 100003
#define NFS_VERSION 3

static char *address = "127.0.0.1";
module_param(address, charp, 0444);
MODULE_PARM_DESC(address, "the server's");

static unsigned short port = 20049;
module_param(port, ushort, 0444);
MODULE_PARM_DESC(port, "the server's");

static bool tcp;
module_param(tcp, bool, 0444);
MODULE_PARM_DESC(tcp, "over TCP in the place of RDMA");

static unsigned int count = 1000;
module_param(count, uint, 0444);
MODULE_PARM_DESC(count, "how many calls");

static unsigned long long nanoseconds;
module_param(nanoseconds, ullong, 0444);
MODULE_PARM_DESC(nanoseconds, "how long all of them took");

/* sunrpc has the procedure NULL itself, and counts its calls. */
static unsigned int counts[1];
static const struct rpc_version version = {.number = NFS_VERSION, .nrprocs = ARRAY_SIZE(counts), .counts = counts};
static const struct rpc_version *versions[NFS_VERSION + 1] = {[NFS_VERSION] = &version};
static struct rpc_stat statistics;
static const struct rpc_program program = {
	.name = "null-calls",
	.number = NFS_PROGRAM,
	.nrvers = ARRAY_SIZE(versions),
	.version = versions,
	.stats = &statistics,
};

static int call(struct rpc_clnt *client)
{
	struct rpc_task *task = rpc_call_null(client, NULL, RPC_TASK_SOFT);
	int status;

	if (IS_ERR(task))
		return PTR_ERR(task);
	status = task->tk_status;
	rpc_put_task(task);
	return status;
}

static int measure(struct rpc_clnt *client)
{
	/* The first one is not like the others. */
	int status = call(client);
	ktime_t began = ktime_get();

	for (unsigned int i = 0; i < count && !status; i++)
		status = call(client);
	nanoseconds = ktime_to_ns(ktime_sub(ktime_get(), began));
	return status;
}

static int __init null_calls_init(void)
{
	struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct rpc_create_args args = {
		.net = current->nsproxy->net_ns,
		.protocol = tcp ? XPRT_TRANSPORT_TCP : XPRT_TRANSPORT_RDMA,
		.address = (struct sockaddr *)&server,
		.addrsize = sizeof(server),
		.servername = address,
		.program = &program,
		.version = NFS_VERSION,
		.authflavor = RPC_AUTH_NULL,
		.cred = current_cred(),
	};
	struct rpc_clnt *client;
	int status;

	if (!in4_pton(address, -1, (u8 *)&server.sin_addr, -1, NULL))
		return -EINVAL;
	client = rpc_create(&args);
	if (IS_ERR(client))
		return PTR_ERR(client);
	status = measure(client);
	rpc_shutdown_client(client);
	return status;
}

/* There is nothing to undo: with this it can be taken away again. */
static void __exit null_calls_exit(void) {}

module_init(null_calls_init);
module_exit(null_calls_exit);

MODULE_DESCRIPTION("Benchmark: NULL calls from the kernel");
MODULE_LICENSE("GPL");
