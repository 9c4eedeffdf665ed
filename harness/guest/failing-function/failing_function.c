// SPDX-License-Identifier: GPL-2.0-only
/*
 * Has some calls of a function of the kernel or of a module do nothing and return an error: what fault injection does, in
 * kernels that are built without it.
 */
#include <linux/kprobes.h>
#include <linux/module.h>

static char *function;
module_param(function, charp, 0444);
MODULE_PARM_DESC(function, "its name");

static long result = -ENOMEM;
module_param(result, long, 0444);
MODULE_PARM_DESC(result, "what it returns then");

static unsigned int every = 1;
module_param(every, uint, 0444);
MODULE_PARM_DESC(every, "each call of this number fails: 1 for all of them");

static unsigned int times = 1;
module_param(times, uint, 0444);
MODULE_PARM_DESC(times, "so many calls fail, and no more");

static atomic_t calls;
static atomic_t failures;

static int failed(char *text, const struct kernel_param *parameter)
{
	return sysfs_emit(text, "%d\n", min_t(int, atomic_read(&failures), times));
}

static const struct kernel_param_ops failed_ops = {.get = failed};

module_param_cb(failed, &failed_ops, NULL, 0444);
MODULE_PARM_DESC(failed, "how many calls have failed");

/* Stands for the function. */
static noinline notrace void do_nothing(void)
{
	barrier();
}

static int fail_call(struct kprobe *probe, struct pt_regs *regs)
{
	if (atomic_inc_return(&calls) % every || atomic_inc_return(&failures) > times)
		return 0;
	regs_set_return_value(regs, result);
	instruction_pointer_set(regs, (unsigned long)do_nothing);
	return 1;
}
NOKPROBE_SYMBOL(fail_call);

/* A probe that has one is not made a jump, after which the call would go on whatever became of it. */
static void nothing_behind(struct kprobe *probe, struct pt_regs *regs, unsigned long flags) {}
NOKPROBE_SYMBOL(nothing_behind);

static struct kprobe entry = {.pre_handler = fail_call, .post_handler = nothing_behind};

static int __init failing_function_init(void)
{
	if (!function || !every)
		return -EINVAL;
	entry.symbol_name = function;
	return register_kprobe(&entry);
}

static void __exit failing_function_exit(void)
{
	unregister_kprobe(&entry);
}

module_init(failing_function_init);
module_exit(failing_function_exit);

MODULE_DESCRIPTION("Test: a function that fails");
MODULE_LICENSE("GPL");
