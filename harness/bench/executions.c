/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A plugin of QEMU's: how often each stretch of the guest's code has been executed.
 *
 *	-plugin executions.so,requests=FIFO
 *
 * Each line that comes through the FIFO names a file, which then has the counts up to now: for each stretch three numbers
 * of 64 bits, its address, its instructions and its executions. The file is there when all of them are in it. Those of
 * programs, which are somewhere else in each process, have the address 0. Stretches may begin within each other. With one virtual processor the counts are exact, but for those of stretches that an
 * interrupt has cut short.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is needed of qemu-plugin.h, version 1 of the interface, which Debian packages without its header. */
#define EXPORTED __attribute__((visibility("default")))
#define ADD 0
struct qemu_plugin_tb;
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *stretch);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *stretch);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t plugin,
					   void (*translated)(uint64_t plugin, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *stretch, int operation, void *number,
					      uint64_t operand);
EXPORTED int qemu_plugin_version = 1;

struct count {
	uint64_t address;
	uint64_t instructions;
	uint64_t executions;
};

/* QEMU's code refers to them, so they stay where they are. Enough for the kernel and its modules many times over. */
#define MOST (UINT64_C(1) << 22)
static struct count *counts[MOST];
static uint64_t stretches;

static struct count *count_of(uint64_t address, uint64_t instructions)
{
	uint64_t at = (address * UINT64_C(0x9e3779b97f4a7c15) + instructions) % MOST;

	for (; counts[at]; at = (at + 1) % MOST)
		if (counts[at]->address == address && counts[at]->instructions == instructions)
			return counts[at];
	if (++stretches > MOST / 2)
		abort();
	struct count *count = calloc(1, sizeof(*count));
	if (!count)
		abort();
	count->address = address;
	count->instructions = instructions;
	__atomic_store_n(&counts[at], count, __ATOMIC_RELEASE);
	return count;
}

static void translated(uint64_t plugin, struct qemu_plugin_tb *stretch)
{
	(void)plugin;
	uint64_t address = qemu_plugin_tb_vaddr(stretch);
	struct count *count = count_of(address >> 63 ? address : 0, qemu_plugin_tb_n_insns(stretch));

	qemu_plugin_register_vcpu_tb_exec_inline(stretch, ADD, &count->executions, 1);
}

static void answer(const char *path)
{
	char unfinished[4096];
	FILE *file;

	snprintf(unfinished, sizeof(unfinished), "%s.unfinished", path);
	file = fopen(unfinished, "wb");
	if (!file)
		return perror(unfinished);
	for (uint64_t at = 0; at < MOST; at++) {
		const struct count *count = __atomic_load_n(&counts[at], __ATOMIC_ACQUIRE);

		if (count && count->executions)
			fwrite(count, sizeof(*count), 1, file);
	}
	if (fclose(file) || rename(unfinished, path))
		perror(path);
}

static void *serve(void *requests)
{
	char path[4000];

	for (FILE *fifo; (fifo = fopen(requests, "r")); fclose(fifo)) {
		while (fgets(path, sizeof(path), fifo)) {
			path[strcspn(path, "\n")] = '\0';
			answer(path);
		}
	}
	perror(requests);
	return NULL;
}

EXPORTED int qemu_plugin_install(uint64_t plugin, const void *machine, int count, char **options)
{
	static const char option[] = "requests=";
	pthread_t server;

	(void)machine;
	if (count != 1 || strncmp(options[0], option, strlen(option)))
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(plugin, translated);
	return pthread_create(&server, NULL, serve, strdup(options[0] + strlen(option)));
}
