// SPDX-License-Identifier: GPL-2.0-only
/* The sysctls of /proc/sys/sunrpc, with the names, ranges and defaults of the in-tree module's. */
#include <linux/mm.h>
#include <linux/sysctl.h>
#include <linux/version.h>

#include "kernel/glue.h"

unsigned int rpcordma_slot_table_entries = 128;
unsigned int rpcordma_max_inline_read = 4096;
unsigned int rpcordma_max_inline_write = 4096;

/* Accepted so that scripts go on working; what they chose is decided elsewhere (Documentation/administration.rst). */
static unsigned int inline_write_padding;
static unsigned int memreg_strategy = 5;
static int pad_optimize;

static unsigned int least_slots = 4;
static unsigned int most_slots = 16384;
static unsigned int least_inline = 1024;
static unsigned int most_inline = 65536;
static unsigned int most_padding = PAGE_SIZE;
static unsigned int least_strategy;
static unsigned int most_strategy = 6;

#define RANGED(name, variable, least, most)                                                            \
	{                                                                                              \
		.procname = (name), .data = &(variable), .maxlen = sizeof(unsigned int), .mode = 0644, \
		.proc_handler = proc_douintvec_minmax, .extra1 = (least), .extra2 = (most),            \
	}

static struct ctl_table client_table[] = {
	RANGED("rdma_slot_table_entries", rpcordma_slot_table_entries, &least_slots, &most_slots),
	RANGED("rdma_max_inline_read", rpcordma_max_inline_read, &least_inline, &most_inline),
	RANGED("rdma_max_inline_write", rpcordma_max_inline_write, &least_inline, &most_inline),
	RANGED("rdma_inline_write_padding", inline_write_padding, SYSCTL_ZERO, &most_padding),
	RANGED("rdma_memreg_strategy", memreg_strategy, &least_strategy, &most_strategy),
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

static struct ctl_table_header *client_header;

int rpcordma_sysctls_register(void)
{
	client_header = register_sysctl("sunrpc", client_table);
	return client_header ? 0 : -ENOMEM;
}

void rpcordma_sysctls_unregister(void)
{
	unregister_sysctl_table(client_header);
}
