// SPDX-License-Identifier: GPL-2.0-only
/*
 * What can happen to an NFS client's connection over RDMA, whichever module makes it, and what a test cannot wait for:
 * an idle time-out sooner than after five minutes; a disconnect at the moment when a Call of the reverse direction has
 * arrived and its Reply has not been sent, or when one of the forward direction has just been sent; Replies whose
 * verifier is said to be wrong; and a fabric in which no path is found for a while.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sunrpc/gss_err.h>
#include <linux/sunrpc/xprt.h>
#include <rdma/rdma_cm.h>

static unsigned int idle_seconds;
module_param(idle_seconds, uint, 0444);
MODULE_PARM_DESC(idle_seconds, "idle time-out of transports made while this is loaded; 0 leaves it as it is");

static unsigned int reverse_calls_to_lose;
module_param(reverse_calls_to_lose, uint, 0644);
MODULE_PARM_DESC(reverse_calls_to_lose, "so many Calls are yet to find that the connection breaks when they arrive");

static unsigned int calls_to_part;
module_param(calls_to_part, uint, 0644);
MODULE_PARM_DESC(calls_to_part, "so many Calls are yet to find that their connection is closed when they wait for the "
				"Reply");

static unsigned int replies_to_distrust;
module_param(replies_to_distrust, uint, 0644);
MODULE_PARM_DESC(replies_to_distrust, "so many Replies with Kerberos are yet to fail the check of their verifier; only "
				      "where a mount with Kerberos was there before this");

static unsigned int paths_to_lose;
module_param(paths_to_lose, uint, 0644);
MODULE_PARM_DESC(paths_to_lose, "so many attempts to connect are yet to find no path, as nobody answers who knows "
				"them");

static int shorten_idle_timeout(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	struct rpc_xprt *xprt = (struct rpc_xprt *)regs_return_value(regs);

	if (idle_seconds && !IS_ERR(xprt) && xprt->xprt_class->ident == XPRT_TRANSPORT_RDMA)
		xprt->idle_timeout = idle_seconds * HZ;
	return 0;
}

/* From here on nobody sends on the connection: the Reply comes too late for it. */
static int lose_connection(struct rpc_rqst *call)
{
	if (reverse_calls_to_lose) {
		reverse_calls_to_lose--;
		xprt_force_disconnect(call->rq_xprt);
	}
	return 0;
}

static int before_svc_process_bc(struct kprobe *probe, struct pt_regs *regs)
{
	return lose_connection((struct rpc_rqst *)regs_get_kernel_argument(regs, 0));
}

static int before_bc_svc_process(struct kprobe *probe, struct pt_regs *regs)
{
	return lose_connection((struct rpc_rqst *)regs_get_kernel_argument(regs, 1));
}

static int distrust(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	if (replies_to_distrust) {
		replies_to_distrust--;
		regs_set_return_value(regs, GSS_S_BAD_SIG);
	}
	return 0;
}

static struct kretprobe verifier_checked = {
	.kp.symbol_name = "gss_verify_mic",
	.handler = distrust,
};

static bool checks_verifiers;

/* The Call that was parted last, until it has its Reply, and how often it had been sent. */
static struct rpc_task *parted;
static int transmissions;

/* One at a time, and none that has its Reply already. That comes under the same lock. */
static bool may_part(struct rpc_xprt *xprt, struct rpc_task *call)
{
	bool may;

	spin_lock(&xprt->queue_lock);
	may = !parted && test_bit(RPC_TASK_NEED_RECV, &call->tk_runstate);
	if (may) {
		parted = call;
		transmissions = call->tk_rqstp->rq_ntrans;
	}
	spin_unlock(&xprt->queue_lock);
	return may;
}

/* The work that closes a connection counts up the cookie, then has it closed: this is in between. */
static int part(struct kprobe *probe, struct pt_regs *regs)
{
	struct rpc_task *call = (struct rpc_task *)regs_get_kernel_argument(regs, 0);
	struct rpc_xprt *xprt = call->tk_xprt;

	if (calls_to_part && xprt->xprt_class->ident == XPRT_TRANSPORT_RDMA && call->tk_rqstp->rq_snd_buf.page_len &&
	    may_part(xprt, call)) {
		calls_to_part--;
		xprt->connect_cookie++;
		xprt_force_disconnect(xprt);
	}
	return 0;
}

/* A Reply that was faster than the closing: another Call is parted instead. */
static int before_completion(struct kprobe *probe, struct pt_regs *regs)
{
	struct rpc_task *call = (struct rpc_task *)regs_get_kernel_argument(regs, 0);

	if (call == parted) {
		if (call->tk_rqstp->rq_ntrans == transmissions)
			calls_to_part++;
		parted = NULL;
	}
	return 0;
}

static struct kprobe call_completes = {
	.symbol_name = "xprt_complete_rqst",
	.pre_handler = before_completion,
};

static struct kprobe call_waits = {
	.symbol_name = "xprt_request_wait_receive",
	.pre_handler = part,
};

/* What the connection manager is about to tell: on InfiniBand it is a timeout where no subnet manager answers. */
static int lose_path(struct kprobe *probe, struct pt_regs *regs)
{
	struct rdma_cm_event *event = (struct rdma_cm_event *)regs_get_kernel_argument(regs, 1);

	if (paths_to_lose && event->event == RDMA_CM_EVENT_ROUTE_RESOLVED) {
		paths_to_lose--;
		event->event = RDMA_CM_EVENT_ROUTE_ERROR;
		event->status = -ETIMEDOUT;
	}
	return 0;
}

static struct kprobe event_told = {
	.symbol_name = "cma_cm_event_handler",
	.pre_handler = lose_path,
};

/* Where a Call enters the service: newer kernels have the one, older ones the other. */
static struct kprobe reverse_call_arrived[] = {
	{.symbol_name = "svc_process_bc", .pre_handler = before_svc_process_bc},
	{.symbol_name = "bc_svc_process", .pre_handler = before_bc_svc_process},
};

static struct kprobe *registered;

static struct kretprobe transport_made = {
	.kp.symbol_name = "xprt_create_transport",
	.handler = shorten_idle_timeout,
};

static int register_arrival(void)
{
	int error = register_kprobe(&reverse_call_arrived[0]);

	registered = &reverse_call_arrived[0];
	if (error == -ENOENT) {
		error = register_kprobe(&reverse_call_arrived[1]);
		registered = &reverse_call_arrived[1];
	}
	return error;
}

static int __init connection_faults_init(void)
{
	int error = register_kretprobe(&transport_made);

	if (error)
		return error;
	error = register_arrival();
	if (error)
		goto transport;
	error = register_kprobe(&call_completes);
	if (error)
		goto arrival;
	error = register_kprobe(&call_waits);
	if (error)
		goto completion;
	error = register_kprobe(&event_told);
	if (error)
		goto waiting;
	checks_verifiers = register_kretprobe(&verifier_checked) == 0;
	return 0;
waiting:
	unregister_kprobe(&call_waits);
completion:
	unregister_kprobe(&call_completes);
arrival:
	unregister_kprobe(registered);
transport:
	unregister_kretprobe(&transport_made);
	return error;
}

static void __exit connection_faults_exit(void)
{
	if (checks_verifiers)
		unregister_kretprobe(&verifier_checked);
	unregister_kprobe(&event_told);
	unregister_kprobe(&call_waits);
	unregister_kprobe(&call_completes);
	unregister_kprobe(registered);
	unregister_kretprobe(&transport_made);
}

module_init(connection_faults_init);
module_exit(connection_faults_exit);

MODULE_DESCRIPTION("Test: what happens to connections");
MODULE_LICENSE("GPL");
