// SPDX-License-Identifier: GPL-2.0-only
/* What administrators set, with the defaults of the in-tree module, and what is counted for them. */
#include <linux/percpu_counter.h>

#include "kernel/glue.h"

unsigned int rpcordma_slot_table_entries = 128;
unsigned int rpcordma_max_inline_read = 4096;
unsigned int rpcordma_max_inline_write = 4096;

/* The highest version of the protocol that clients offer, and that servers accept. The in-tree module has version 1 alone. */
unsigned int rpcordma_highest_version = 1;
unsigned int rpcordma_svc_highest_version = 2;

unsigned int rpcordma_svc_max_requests = 64;
unsigned int rpcordma_svc_max_req_size = 4096;
unsigned int rpcordma_svc_max_reads = 16;
/* Not the in-tree module's: see enum ReverseChunks. */
unsigned int rpcordma_svc_reverse_chunks;
/* Nor is this one. */
unsigned int rpcordma_svc_reserved_ports;

static struct percpu_counter counters[RPCORDMA_SVC_COUNTERS];

void rpcordma_svc_count(enum rpcordma_svc_counter counter)
{
	percpu_counter_inc(&counters[counter]);
}

unsigned long rpcordma_svc_counted(enum rpcordma_svc_counter counter)
{
	return percpu_counter_sum_positive(&counters[counter]);
}

void rpcordma_svc_count_anew(enum rpcordma_svc_counter counter)
{
	percpu_counter_set(&counters[counter], 0);
}

static void destroy_first(unsigned int count)
{
	while (count != 0)
		percpu_counter_destroy(&counters[--count]);
}

int rpcordma_svc_counters_create(void)
{
	unsigned int i;

	for (i = 0; i < RPCORDMA_SVC_COUNTERS; i++) {
		if (percpu_counter_init(&counters[i], 0, GFP_KERNEL) != 0) {
			destroy_first(i);
			return -ENOMEM;
		}
	}
	return 0;
}

void rpcordma_svc_counters_destroy(void)
{
	destroy_first(RPCORDMA_SVC_COUNTERS);
}
