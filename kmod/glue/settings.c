// SPDX-License-Identifier: GPL-2.0-only
/* What administrators set, with the in-tree module's defaults unless it says so, and what is counted for them. */
#include <linux/percpu.h>

#include "kernel/glue.h"

unsigned int rpcordma_slot_table_entries = 128;
/*
 * Four times those of the in-tree module: what a message carries takes no registration, and READs and WRITEs of 4 and
 * 8 KiB are the most frequent ones. The smaller size of both ends counts, so that only where both have it is memory
 * taken for it.
 */
unsigned int rpcordma_max_inline_read = 16384;
unsigned int rpcordma_max_inline_write = 16384;

/* The highest version of the protocol that clients offer, and that servers accept. The in-tree module has version 1
 * alone. */
unsigned int rpcordma_highest_version = 2;
unsigned int rpcordma_svc_highest_version = 2;

unsigned int rpcordma_svc_max_requests = 64;
unsigned int rpcordma_svc_max_req_size = 16384;
unsigned int rpcordma_svc_max_reads = 16;
/* Not the in-tree module's: see enum ReverseChunks. */
unsigned int rpcordma_svc_reverse_chunks;
/* Nor are these. */
unsigned int rpcordma_svc_reserved_ports;
unsigned int rpcordma_svc_max_connects = 16;

static DEFINE_PER_CPU(unsigned long[RPCORDMA_SVC_COUNTERS], counters);

void rpcordma_svc_count(enum rpcordma_svc_counter counter)
{
	this_cpu_inc(counters[counter]);
}

unsigned long rpcordma_svc_counted(enum rpcordma_svc_counter counter)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu(counters, cpu)[counter]);
	return sum;
}

void rpcordma_svc_count_anew(enum rpcordma_svc_counter counter)
{
	int cpu;

	for_each_possible_cpu(cpu)
		WRITE_ONCE(per_cpu(counters, cpu)[counter], 0);
}
