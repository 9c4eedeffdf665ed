// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lets a guest survive a fault of QEMU 7.2's, when it emulates more than one processor.
 *
 * The kernel changes its code in place by putting a breakpoint over the first byte for as long as the other bytes are
 * written. QEMU may be translating that code for another processor at that moment; it then misses that the breakpoint
 * is taken away, and the translation runs into it from then on: "Oops: int3" where no breakpoint is. (QEMU 8.1 locks the
 * page first.) What is done here for such a breakpoint is what the kernel itself does while it changes code: the
 * instruction that is there is carried out by hand.
 */
#include <linux/kdebug.h>
#include <linux/module.h>

#include <asm/nops.h>
#include <asm/text-patching.h>

static unsigned int survived;
module_param(survived, uint, 0444);
MODULE_PARM_DESC(survived, "so many breakpoints were met that are not there");

static const u8 nop2[] = {BYTES_NOP2};
static const u8 nop5[] = {BYTES_NOP5};

/* What the kernel writes over other instructions; false for anything else. */
static bool carry_out(struct pt_regs *regs, const u8 *code)
{
	unsigned long here = (unsigned long)code;
	int distance;

	memcpy(&distance, code + 1, sizeof(distance));
	if (code[0] == JMP8_INSN_OPCODE)
		int3_emulate_jmp(regs, here + JMP8_INSN_SIZE + (s8)code[1]);
	else if (code[0] == JMP32_INSN_OPCODE)
		int3_emulate_jmp(regs, here + JMP32_INSN_SIZE + distance);
	else if (code[0] == CALL_INSN_OPCODE)
		int3_emulate_call(regs, here + CALL_INSN_SIZE + distance);
	else if (code[0] == RET_INSN_OPCODE)
		int3_emulate_ret(regs);
	else if (!memcmp(code, nop2, sizeof(nop2)))
		int3_emulate_jmp(regs, here + sizeof(nop2));
	else if (!memcmp(code, nop5, sizeof(nop5)))
		int3_emulate_jmp(regs, here + sizeof(nop5));
	else
		return false;
	return true;
}

static int meet_breakpoint(struct notifier_block *block, unsigned long event, void *data)
{
	struct pt_regs *regs = ((struct die_args *)data)->regs;

	if (event != DIE_INT3 || user_mode(regs) || !carry_out(regs, (u8 *)regs->ip - INT3_INSN_SIZE))
		return NOTIFY_DONE;
	survived++;
	return NOTIFY_STOP;
}

static struct notifier_block breakpoints = {.notifier_call = meet_breakpoint, .priority = INT_MAX};

static int __init stale_breakpoint_init(void)
{
	return register_die_notifier(&breakpoints);
}

static void __exit stale_breakpoint_exit(void)
{
	unregister_die_notifier(&breakpoints);
}

module_init(stale_breakpoint_init);
module_exit(stale_breakpoint_exit);
MODULE_DESCRIPTION("breakpoints that are only in QEMU's translation");
MODULE_LICENSE("GPL");
