// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tells who made queue pairs through the connection manager what a device may tell of them and soft-RoCE never does, such
 * as a fatal error. Queue pairs that were made before this was loaded are unknown to it.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

#define MOST 64

static DEFINE_SPINLOCK(lock);
static struct ib_qp *known[MOST];

static int told;
module_param(told, int, 0444);
MODULE_PARM_DESC(told, "how many have been told");

static void replace(struct ib_qp *from, struct ib_qp *to)
{
	unsigned long flags;
	int n;

	spin_lock_irqsave(&lock, flags);
	for (n = 0; n < MOST; n++) {
		if (known[n] == from) {
			known[n] = to;
			break;
		}
	}
	spin_unlock_irqrestore(&lock, flags);
}

static int creating(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	*(struct rdma_cm_id **)instance->data = (struct rdma_cm_id *)regs_get_kernel_argument(regs, 0);
	return 0;
}

static int created(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct rdma_cm_id *id = *(struct rdma_cm_id **)instance->data;

	if (regs_return_value(regs) == 0)
		replace(NULL, id->qp);
	return 0;
}

static struct kretprobe creation = {
	.kp.symbol_name = "rdma_create_qp",
	.entry_handler = creating,
	.handler = created,
	.data_size = sizeof(struct rdma_cm_id *),
};

static int destroying(struct kprobe *probe, struct pt_regs *regs)
{
	replace((struct ib_qp *)regs_get_kernel_argument(regs, 0), NULL);
	return 0;
}

static struct kprobe destruction = {
	.symbol_name = "ib_destroy_qp_user",
	.pre_handler = destroying,
};

/* In the context of a device's interrupt. */
static int tell(const char *value, const struct kernel_param *parameter)
{
	struct ib_event event = {};
	unsigned long flags;
	unsigned int kind;
	int error = kstrtouint(value, 0, &kind);
	int n;

	if (error)
		return error;
	event.event = kind;
	spin_lock_irqsave(&lock, flags);
	for (n = 0; n < MOST; n++) {
		if (known[n] && known[n]->event_handler) {
			event.device = known[n]->device;
			event.element.qp = known[n];
			known[n]->event_handler(&event, known[n]->qp_context);
			told++;
		}
	}
	spin_unlock_irqrestore(&lock, flags);
	return 0;
}

static const struct kernel_param_ops event_ops = {.set = tell};

module_param_cb(event, &event_ops, NULL, 0200);
MODULE_PARM_DESC(event, "an enum ib_event_type: tells it to all queue pairs that are known");

static int __init queue_pair_events_init(void)
{
	int error = register_kretprobe(&creation);

	if (error)
		return error;
	error = register_kprobe(&destruction);
	if (error)
		unregister_kretprobe(&creation);
	return error;
}

static void __exit queue_pair_events_exit(void)
{
	unregister_kprobe(&destruction);
	unregister_kretprobe(&creation);
}

module_init(queue_pair_events_init);
module_exit(queue_pair_events_exit);

MODULE_DESCRIPTION("Test: events of queue pairs");
MODULE_LICENSE("GPL");
