// SPDX-License-Identifier: GPL-2.0-only
/* The sysctls of /proc/sys/sunrpc, with the names and ranges of the in-tree module's. Defaults: glue/settings.c. */
#include <linux/mm.h>
#include <linux/sysctl.h>
#include <linux/version.h>

#include "client/operations.h"
#include "entry/parts.h"
#include "kernel/glue.h"

/* Accepted so that scripts go on working; what they chose is decided elsewhere (Documentation/administration.rst). */
static unsigned int inline_write_padding;
static unsigned int memreg_strategy = 5;
static int pad_optimize;

/* Compound literals outside of functions live for as long as the module. */
#define RANGED(name, variable, least, most)                                                            \
	{                                                                                              \
		.procname = (name), .data = &(variable), .maxlen = sizeof(unsigned int), .mode = 0644, \
		.proc_handler = proc_douintvec_minmax, .extra1 = &(unsigned int){ least },             \
		.extra2 = &(unsigned int){ most },                                                     \
	}

/* Writing also forgets what servers are known to speak. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
static int version_handler(const struct ctl_table *table, int write, void *buffer, size_t *length, loff_t *position)
#else
static int version_handler(struct ctl_table *table, int write, void *buffer, size_t *length, loff_t *position)
#endif
{
	const int error = proc_douintvec_minmax(table, write, buffer, length, position);

	if (write && !error)
		rpcordma_client_forget_versions();
	return error;
}

static struct ctl_table client_table[] = {
	RANGED("rdma_slot_table_entries", rpcordma_slot_table_entries, 4, 16384),
	RANGED("rdma_max_inline_read", rpcordma_max_inline_read, 1024, 65536),
	RANGED("rdma_max_inline_write", rpcordma_max_inline_write, 1024, 65536),
	RANGED("rdma_inline_write_padding", inline_write_padding, 0, PAGE_SIZE),
	RANGED("rdma_memreg_strategy", memreg_strategy, 0, 6),
	{
		.procname = "rdma_highest_version",
		.data = &rpcordma_highest_version,
		.maxlen = sizeof(unsigned int),
		.mode = 0644,
		.proc_handler = version_handler,
		.extra1 = SYSCTL_ONE,
		.extra2 = SYSCTL_TWO,
	},
	{
		.procname = "rdma_pad_optimize",
		.data = &pad_optimize,
		.maxlen = sizeof(int),
		.mode = 0644,
		.proc_handler = proc_dointvec,
	},
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
	{},
#endif
};

/* Counters that the in-tree module has and does not count. */
static unsigned int not_counted;

/* Reading shows a counter; writing whatever sets it to zero. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
static int counter_handler(const struct ctl_table *table, int write, void *buffer, size_t *length, loff_t *position)
#else
static int counter_handler(struct ctl_table *table, int write, void *buffer, size_t *length, loff_t *position)
#endif
{
	unsigned long value;
	struct ctl_table shown = { .data = &value, .maxlen = sizeof(value), .mode = table->mode };

	if (write) {
		rpcordma_svc_count_anew((unsigned long)table->extra1);
		return 0;
	}
	value = rpcordma_svc_counted((unsigned long)table->extra1);
	return proc_doulongvec_minmax(&shown, write, buffer, length, position);
}

#define COUNTER(name, counter)                                                                                  \
	{                                                                                                       \
		.procname = (name), .extra1 = (void *)(counter), .mode = 0644, .proc_handler = counter_handler, \
	}
#define NOT_COUNTED(name) RANGED(name, not_counted, 0, 0)

static struct ctl_table server_table[] = {
	RANGED("max_requests", rpcordma_svc_max_requests, 4, 16384),
	RANGED("max_req_size", rpcordma_svc_max_req_size, 4096, 65536),
	RANGED("max_outbound_read_requests", rpcordma_svc_max_reads, 1, 255),
	RANGED("reverse_chunks", rpcordma_svc_reverse_chunks, 0, 2),
	RANGED("reserved_ports", rpcordma_svc_reserved_ports, 0, 1),
	RANGED("highest_version", rpcordma_svc_highest_version, 1, 2),
	RANGED("max_connects", rpcordma_svc_max_connects, 0, 10000),
	COUNTER("rdma_stat_read", RPCORDMA_SVC_READS),
	COUNTER("rdma_stat_recv", RPCORDMA_SVC_RECEIVES),
	COUNTER("rdma_stat_write", RPCORDMA_SVC_WRITES),
	COUNTER("rdma_stat_sq_starve", RPCORDMA_SVC_SEND_WAITS),
	NOT_COUNTED("rdma_stat_rq_starve"),
	NOT_COUNTED("rdma_stat_rq_poll"),
	NOT_COUNTED("rdma_stat_rq_prod"),
	NOT_COUNTED("rdma_stat_sq_poll"),
	NOT_COUNTED("rdma_stat_sq_prod"),
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
	{},
#endif
};

static struct ctl_table_header *client_header;
static struct ctl_table_header *server_header;

int rpcordma_sysctls_register(void)
{
	client_header = register_sysctl("sunrpc", client_table);
	server_header = register_sysctl("sunrpc/svc_rdma", server_table);
	if ((client_header && server_header) || !IS_ENABLED(CONFIG_SYSCTL))
		return 0;
	rpcordma_sysctls_unregister();
	return -ENOMEM;
}

void rpcordma_sysctls_unregister(void)
{
	unregister_sysctl_table(server_header);
	unregister_sysctl_table(client_header);
}
