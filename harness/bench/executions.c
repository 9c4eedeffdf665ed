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

/* What is needed of qemu-plugin.h, which Debian does not package. Debian 12's QEMU has version 1 of the interface. From version 3 on
 * (QEMU 9.1) there is another function that counts, and the one that tells an instruction's bytes is called otherwise. */
#define EXPORTED __attribute__((visibility("default")))
#define OPTIONAL __attribute__((weak))
#define ADD 0
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_scoreboard;
/* One number for each virtual processor. */
struct qemu_plugin_u64 {
	struct qemu_plugin_scoreboard *numbers;
	size_t offset;
};
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *stretch, size_t index);
void qemu_plugin_insn_data(void);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *instruction);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *stretch);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *stretch);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t plugin,
					   void (*translated)(uint64_t plugin, struct qemu_plugin_tb *));
OPTIONAL void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *stretch, int operation, void *number,
						       uint64_t operand);
OPTIONAL void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(struct qemu_plugin_tb *stretch, int operation,
								struct qemu_plugin_u64 number, uint64_t operand);
OPTIONAL struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t size);
OPTIONAL void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *numbers, unsigned int processor);
typedef const void *(*data_function_1)(const struct qemu_plugin_insn *instruction);
typedef size_t (*data_function_3)(const struct qemu_plugin_insn *instruction, void *to, size_t length);
EXPORTED int qemu_plugin_version = 1;

static bool is_newer(void)
{
	return qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu;
}

/* Before QEMU looks at it. */
__attribute__((constructor)) static void choose_version(void)
{
	if (is_newer())
		qemu_plugin_version = 3;
}

/* Two are the same where all of it is: code changes, and what lies at an address is another module's later. */
struct stretch {
	uint64_t address;
	uint64_t instructions;
	uint64_t locked;
	uint64_t target;
};

struct count {
	struct stretch stretch;
	/* Either the number itself, or where QEMU has it. */
	uint64_t executions;
	struct qemu_plugin_u64 number;
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

/* No instruction of x86-64 is longer. */
#define LONGEST 15

struct bytes {
	uint8_t of[LONGEST + 1];
};

/* All zero behind its end. */
static struct bytes bytes_of(const struct qemu_plugin_insn *instruction)
{
	struct bytes bytes = {0};
	size_t size = qemu_plugin_insn_size(instruction);

	if (size > LONGEST)
		size = LONGEST;
	/* One name for two types of functions. */
	void (*data)(void) = qemu_plugin_insn_data;
	if (is_newer())
		((data_function_3)data)(instruction, bytes.of, size);
	else
		memcpy(bytes.of, ((data_function_1)data)(instruction), size);
	return bytes;
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
	const struct bytes bytes = bytes_of(instruction);
	uint8_t prefix = bytes.of[0];
	/* With one processor the kernel writes the second in place of the first. It has other uses before jumps. */
	bool is_prefixed = prefix == LOCK || prefix == DATA_SEGMENT;
	size_t at = is_prefixed;

	while (at < LONGEST - 1 && (bytes.of[at] == OPERAND_SIZE || (bytes.of[at] & 0xf0) == REX))
		at++;
	uint8_t operation = bytes.of[at], following = bytes.of[at + 1];

	if (operation == XCHG_BYTE || operation == XCHG)
		return following >> 6 != REGISTER;
	return is_prefixed && is_lockable(operation, following);
}

/* What the last instruction calls, or jumps to as a function does in the place of a call at its end. */
static uint64_t target_of(const struct qemu_plugin_insn *instruction)
{
	enum { CALL = 0xe8, JUMP = 0xe9, CALL_SIZE = 5 };
	const struct bytes bytes = bytes_of(instruction);
	uint8_t operation = bytes.of[0];
	int32_t distance;

	if (qemu_plugin_insn_size(instruction) != CALL_SIZE || (operation != CALL && operation != JUMP))
		return 0;
	memcpy(&distance, bytes.of + 1, sizeof(distance));
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

/* A place for one more, of which QEMU has some thousands in one. */
static struct qemu_plugin_u64 new_number(void)
{
	enum { TOGETHER = 4096 };
	static struct qemu_plugin_u64 next;

	if (!next.numbers || next.offset == TOGETHER * sizeof(uint64_t))
		next = (struct qemu_plugin_u64){qemu_plugin_scoreboard_new(TOGETHER * sizeof(uint64_t)), 0};
	struct qemu_plugin_u64 number = next;
	next.offset += sizeof(uint64_t);
	return number;
}

static uint64_t executions_of(const struct count *count)
{
	if (!is_newer())
		return count->executions;
	const char *numbers = count->number.numbers ? qemu_plugin_scoreboard_find(count->number.numbers, 0) : NULL;
	return numbers ? *(const uint64_t *)(numbers + count->number.offset) : 0;
}

static void translated(uint64_t plugin, struct qemu_plugin_tb *code)
{
	(void)plugin;
	struct stretch stretch = describe(code);
	struct count *count = count_of(&stretch);

	if (!is_newer())
		return qemu_plugin_register_vcpu_tb_exec_inline(code, ADD, &count->executions, 1);
	if (!count->number.numbers)
		count->number = new_number();
	qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(code, ADD, count->number, 1);
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
		uint64_t executions = count ? executions_of(count) : 0;

		if (executions) {
			fwrite(&count->stretch, sizeof(count->stretch), 1, file);
			fwrite(&executions, sizeof(executions), 1, file);
		}
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
