// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lets a guest survive a fault of QEMU 7.2's, when it emulates more than one processor.
 *
 * The kernel changes its code in place by putting a breakpoint over the first byte for as long as the other bytes are
 * written. QEMU may be translating that code for another processor at that moment; it then misses that the breakpoint
 * is taken away, and the translation runs into it from then on: "Oops: int3" where no breakpoint is. (QEMU 8.1 locks the
 * page first.) What is done here for such a breakpoint is what the kernel itself does while it changes code: the
 * instruction that is there is carried out by hand. Then its first byte is written once more, which has QEMU throw the
 * translation away.
 */
#include <linux/irq_work.h>
#include <linux/kdebug.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/vmalloc.h>

#include <asm/nops.h>
#include <asm/text-patching.h>

static unsigned int survived;
module_param(survived, uint, 0444);
MODULE_PARM_DESC(survived, "so many breakpoints were met that are not there");

static const u8 nop2[] = {BYTES_NOP2};
static const u8 nop5[] = {BYTES_NOP5};

/* int3_emulate_call() takes other arguments in other kernels. */
static void carry_out_call(struct pt_regs *regs, unsigned long next, int distance)
{
	int3_emulate_push(regs, next);
	int3_emulate_jmp(regs, next + distance);
}

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
		carry_out_call(regs, here + CALL_INSN_SIZE, distance);
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

static const u8 *stale;

/* The kernel may be about to change the byte: what is written is what is there. */
static void renew(struct work_struct *unused)
{
	const u8 *code = READ_ONCE(stale);
	struct page *page = pfn_to_page(slow_virt_to_phys((void *)code) >> PAGE_SHIFT);
	u8 *mapped = vmap(&page, 1, VM_MAP, PAGE_KERNEL);

	if (mapped) {
		u8 *byte = mapped + offset_in_page(code);
		const u8 value = READ_ONCE(*byte);

		cmpxchg(byte, value, value);
		vunmap(mapped);
	}
	WRITE_ONCE(stale, NULL);
}

static DECLARE_WORK(renewal, renew);

static void ask_for_renewal(struct irq_work *unused)
{
	schedule_work(&renewal);
}

static struct irq_work asking = IRQ_WORK_INIT(ask_for_renewal);

static int meet_breakpoint(struct notifier_block *block, unsigned long event, void *data)
{
	struct pt_regs *regs = ((struct die_args *)data)->regs;
	const u8 *code = (u8 *)regs->ip - INT3_INSN_SIZE;

	if (event != DIE_INT3 || user_mode(regs) || !carry_out(regs, code))
		return NOTIFY_DONE;
	survived++;
	/* One at a time: the next is met again. */
	if (!cmpxchg(&stale, NULL, code))
		irq_work_queue(&asking);
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
	irq_work_sync(&asking);
	cancel_work_sync(&renewal);
}

module_init(stale_breakpoint_init);
module_exit(stale_breakpoint_exit);
MODULE_DESCRIPTION("breakpoints that are only in QEMU's translation");
MODULE_LICENSE("GPL");
