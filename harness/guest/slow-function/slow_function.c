// SPDX-License-Identifier: GPL-2.0-only
/*
 * Delays each call of a function of the kernel or of a module, so that other processors come first where they can: what
 * goes wrong then by chance goes wrong each time. The delaying processor does nothing else, so this needs two.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>

static char *function;
module_param(function, charp, 0444);
MODULE_PARM_DESC(function, "its name");

static unsigned int milliseconds = 50;
module_param(milliseconds, uint, 0444);
MODULE_PARM_DESC(milliseconds, "how long each call is delayed");

static unsigned int delayed;
module_param(delayed, uint, 0444);
MODULE_PARM_DESC(delayed, "how many calls have been delayed");

static int delay_call(struct kprobe *probe, struct pt_regs *regs)
{
	delayed++;
	mdelay(milliseconds);
	return 0;
}

static struct kprobe entry = {.pre_handler = delay_call};

static int __init slow_function_init(void)
{
	if (!function)
		return -EINVAL;
	entry.symbol_name = function;
	return register_kprobe(&entry);
}

static void __exit slow_function_exit(void)
{
	unregister_kprobe(&entry);
}

module_init(slow_function_init);
module_exit(slow_function_exit);

MODULE_DESCRIPTION("Test: a function that takes long");
MODULE_LICENSE("GPL");
