/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A plugin of QEMU's: how often each stretch of the guest's code has been executed.
 *
 *	-plugin executions.so,requests=FIFO
 *
 * Each line that comes through the FIFO names a file, which then has the counts up to now: for each stretch five numbers
 * of 64 bits. They are its address, its instructions, how many of them are locked, the address that it ends in a direct
 * call of or jump to, or 0, and its executions. The file is there when all of them are in it. Locked instructions and
 * calls are known on x86-64 only. Stretches of programs, which are somewhere else in each process, have the address 0.
 * Stretches may begin within each other. With one virtual processor the counts are exact, but for those of stretches that
 * an interrupt has cut short.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is needed of qemu-plugin.h, version 1 of the interface, which Debian packages without its header. */
#define EXPORTED __attribute__((visibility("default")))
#define ADD 0
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *stretch, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *instruction);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *instruction);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *stretch);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *stretch);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t plugin,
					   void (*translated)(uint64_t plugin, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *stretch, int operation, void *number,
					      uint64_t operand);
EXPORTED int qemu_plugin_version = 1;

/* Two are the same where all of it is: code changes, and what lies at an address is another module's later. */
struct stretch {
	uint64_t address;
	uint64_t instructions;
	uint64_t locked;
	uint64_t target;
};

struct count {
	struct stretch stretch;
	uint64_t executions;
};

/* QEMU's code refers to them, so they stay where they are. Enough for the kernel and its modules many times over. */
#define MOST (UINT64_C(1) << 22)
static struct count *counts[MOST];
static uint64_t stretches;
static bool is_x86_64;

static struct count *count_of(const struct stretch *stretch)
{
	uint64_t at = (stretch->address * UINT64_C(0x9e3779b97f4a7c15) + stretch->instructions) % MOST;

	for (; counts[at]; at = (at + 1) % MOST)
		if (!memcmp(&counts[at]->stretch, stretch, sizeof(*stretch)))
			return counts[at];
	if (++stretches > MOST / 2)
		abort();
	struct count *count = calloc(1, sizeof(*count));
	if (!count)
		abort();
	count->stretch = *stretch;
	__atomic_store_n(&counts[at], count, __ATOMIC_RELEASE);
	return count;
}

static uint8_t byte_of(const struct qemu_plugin_insn *instruction, size_t index)
{
	return index < qemu_plugin_insn_size(instruction) ?
		       ((const uint8_t *)qemu_plugin_insn_data(instruction))[index] :
		       0;
}

/* Whether the operation is one that LOCK may stand before: those with two bytes begin with 0x0f. */
static bool is_lockable(uint8_t operation, uint8_t following)
{
	enum { TWO_BYTES = 0x0f, GROUP_5 = 0xff, INCREMENT = 0, DECREMENT = 1 };
	static const uint8_t one_byte[] = {0x00, 0x01, 0x08, 0x09, 0x10, 0x11, 0x18, 0x19, 0x20, 0x21,
					   0x28, 0x29, 0x30, 0x31, 0x80, 0x81, 0x83, 0xf6, 0xf7, 0xfe};
	static const uint8_t two_bytes[] = {0xab, 0xb0, 0xb1, 0xb3, 0xba, 0xbb, 0xc0, 0xc1, 0xc7};
	uint8_t kind = following >> 3 & 7;

	if (operation == TWO_BYTES)
		return memchr(two_bytes, following, sizeof(two_bytes));
	if (operation == GROUP_5)
		return kind == INCREMENT || kind == DECREMENT;
	return memchr(one_byte, operation, sizeof(one_byte));
}

/* Whether it has the memory for itself, as one instruction of x86-64. */
static bool is_locked(const struct qemu_plugin_insn *instruction)
{
	enum { LOCK = 0xf0, DATA_SEGMENT = 0x3e, OPERAND_SIZE = 0x66, REX = 0x40, XCHG_BYTE = 0x86, XCHG = 0x87 };
	enum { REGISTER = 3 };
	uint8_t prefix = byte_of(instruction, 0);
	/* With one processor the kernel writes the second in place of the first. It has other uses before jumps. */
	bool is_prefixed = prefix == LOCK || prefix == DATA_SEGMENT;
	size_t at = is_prefixed;

	while (byte_of(instruction, at) == OPERAND_SIZE || (byte_of(instruction, at) & 0xf0) == REX)
		at++;
	uint8_t operation = byte_of(instruction, at), following = byte_of(instruction, at + 1);

	if (operation == XCHG_BYTE || operation == XCHG)
		return following >> 6 != REGISTER;
	return is_prefixed && is_lockable(operation, following);
}

/* What the last instruction calls, or jumps to as a function does in the place of a call at its end. */
static uint64_t target_of(const struct qemu_plugin_insn *instruction)
{
	enum { CALL = 0xe8, JUMP = 0xe9, CALL_SIZE = 5 };
	int32_t distance;

	uint8_t operation = byte_of(instruction, 0);
	if (qemu_plugin_insn_size(instruction) != CALL_SIZE || (operation != CALL && operation != JUMP))
		return 0;
	memcpy(&distance, (const uint8_t *)qemu_plugin_insn_data(instruction) + 1, sizeof(distance));
	return qemu_plugin_insn_vaddr(instruction) + CALL_SIZE + (uint64_t)(int64_t)distance;
}

static struct stretch describe(const struct qemu_plugin_tb *code)
{
	struct stretch stretch = {.address = qemu_plugin_tb_vaddr(code), .instructions = qemu_plugin_tb_n_insns(code)};

	/* That of a program. */
	if (!(stretch.address >> 63))
		stretch.address = 0;
	if (!stretch.address || !is_x86_64)
		return stretch;
	for (uint64_t at = 0; at < stretch.instructions; at++)
		stretch.locked += is_locked(qemu_plugin_tb_get_insn(code, at));
	stretch.target = target_of(qemu_plugin_tb_get_insn(code, stretch.instructions - 1));
	return stretch;
}

static void translated(uint64_t plugin, struct qemu_plugin_tb *code)
{
	(void)plugin;
	struct stretch stretch = describe(code);
	struct count *count = count_of(&stretch);

	qemu_plugin_register_vcpu_tb_exec_inline(code, ADD, &count->executions, 1);
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

	/* A structure whose first member is the name of what is emulated. */
	is_x86_64 = !strcmp(*(const char *const *)machine, "x86_64");
	if (count != 1 || strncmp(options[0], option, strlen(option)))
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(plugin, translated);
	return pthread_create(&server, NULL, serve, strdup(options[0] + strlen(option)));
}
