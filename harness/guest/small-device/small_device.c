// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes an RDMA device say that it can do less than it can, for as long as the module is loaded: connections made
 * meanwhile have to do with that. Who asks for more is refused, and counted. Parameters left at 0 change nothing. It can
 * also find memory that a registration cannot cover, lose RDMA Reads, RDMA Writes and invalidations, and be slow to stop
 * a queue pair.
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/module.h>
#include <rdma/ib_verbs.h>

static char *device = "rxe0";
module_param(device, charp, 0444);

#define LIMIT(name)      \
	static int name; \
	module_param(name, int, 0444)

LIMIT(max_qp_wr);
LIMIT(max_cqe);
LIMIT(max_send_sge);
LIMIT(max_recv_sge);
LIMIT(max_sge_rd);
LIMIT(max_mr);
LIMIT(max_fast_reg_page_list_len);
LIMIT(max_qp_init_rd_atom);
LIMIT(page_size_cap);

static bool no_registrations;
module_param(no_registrations, bool, 0444);
MODULE_PARM_DESC(no_registrations, "memory cannot be registered by work requests");

static bool no_invalidations;
module_param(no_invalidations, bool, 0444);
MODULE_PARM_DESC(no_invalidations, "the device passes for one of a driver that cannot invalidate memory by work "
				   "requests; soft-RoCE gives it no packets then");

/* How long a queue pair can be may depend on more than a device says. */
static unsigned int longest_send_queue;
module_param(longest_send_queue, uint, 0444);
MODULE_PARM_DESC(longest_send_queue, "queue pairs with a longer one are not made, though the device says that they can "
				     "be");

static int too_long;
module_param(too_long, int, 0444);
MODULE_PARM_DESC(too_long, "how often that was so");

static int refused;
module_param(refused, int, 0444);
MODULE_PARM_DESC(refused, "how often more was asked for");

static unsigned int maps_cut_short;
module_param(maps_cut_short, uint, 0644);
MODULE_PARM_DESC(maps_cut_short, "so many registrations are yet to cover less than they were asked to");

static unsigned int reads_lost;
module_param(reads_lost, uint, 0644);
MODULE_PARM_DESC(reads_lost, "so many chains of RDMA Reads, and what is posted behind them, are yet not to complete");

static unsigned int writes_lost;
module_param(writes_lost, uint, 0644);
MODULE_PARM_DESC(writes_lost, "the same for RDMA Writes");

static bool invalidations_lost;
module_param(invalidations_lost, bool, 0644);
MODULE_PARM_DESC(invalidations_lost, "local invalidations never complete");

static unsigned int stop_seconds;
module_param(stop_seconds, uint, 0644);
MODULE_PARM_DESC(stop_seconds, "how long a queue pair takes to enter the error state");

static struct ib_device *limited;
static struct ib_device_attr before;
static struct ib_device_ops ops_before;
/* The queue pair that has lost an RDMA Read or Write last, until it is in error: work requests complete in their order. */
static struct ib_qp *stuck;
/* Made since the module was loaded; who has some from before must not let go of them meanwhile. */
static atomic_t registrations;

static int refuse(int error)
{
	refused++;
	return error;
}

/* The last argument's type differs between kernels. */
typedef int (*create_cq_function)(struct ib_cq *cq, const struct ib_cq_init_attr *attr, void *user);

static int create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr, void *user)
{
	if (attr->cqe > limited->attrs.max_cqe)
		return refuse(-EINVAL);
	return ((create_cq_function)ops_before.create_cq)(cq, attr, user);
}

static int create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr, struct ib_udata *user)
{
	const struct ib_device_attr *device_can = &limited->attrs;

	if (attr->cap.max_send_wr > device_can->max_qp_wr || attr->cap.max_recv_wr > device_can->max_qp_wr ||
	    attr->cap.max_send_sge > device_can->max_send_sge || attr->cap.max_recv_sge > device_can->max_recv_sge)
		return refuse(-EINVAL);
	if (longest_send_queue && attr->cap.max_send_wr > longest_send_queue) {
		too_long++;
		return -ENOMEM;
	}
	return ops_before.create_qp(qp, attr, user);
}

static int modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask, struct ib_udata *user)
{
	if ((mask & IB_QP_STATE) && attr->qp_state == IB_QPS_ERR) {
		if (stop_seconds)
			ssleep(stop_seconds);
		cmpxchg(&stuck, qp, NULL);
	}
	return ops_before.modify_qp(qp, attr, mask, user);
}

static struct ib_mr *alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 max_num_sg)
{
	struct ib_mr *mr;

	if (no_registrations)
		return ERR_PTR(refuse(-EOPNOTSUPP));
	if (max_num_sg > limited->attrs.max_fast_reg_page_list_len)
		return ERR_PTR(refuse(-EINVAL));
	if (atomic_inc_return(&registrations) > limited->attrs.max_mr) {
		atomic_dec(&registrations);
		return ERR_PTR(refuse(-ENOMEM));
	}
	mr = ops_before.alloc_mr(pd, type, max_num_sg);
	if (IS_ERR(mr))
		atomic_dec(&registrations);
	return mr;
}

static int dereg_mr(struct ib_mr *mr, struct ib_udata *user)
{
	/* A protection domain may have one of its own, which alloc_mr() has not seen. */
	bool is_counted = mr->type != IB_MR_TYPE_DMA;
	int error = ops_before.dereg_mr(mr, user);

	if (!error && is_counted)
		atomic_dec(&registrations);
	return error;
}

static int map_mr_sg(struct ib_mr *mr, struct scatterlist *list, int entries, unsigned int *offset)
{
	int covered = ops_before.map_mr_sg(mr, list, entries, offset);

	if (!maps_cut_short || covered != entries)
		return covered;
	maps_cut_short--;
	return covered - 1;
}

static void lose(struct ib_qp *qp, const struct ib_send_wr *request, enum ib_wr_opcode opcode, unsigned int *left)
{
	if (*left && request->opcode == opcode) {
		(*left)--;
		WRITE_ONCE(stuck, qp);
	}
}

static int post_send(struct ib_qp *qp, const struct ib_send_wr *request, const struct ib_send_wr **bad)
{
	if (no_registrations && request->opcode == IB_WR_SEND_WITH_INV)
		return refuse(-EINVAL);
	if (invalidations_lost && request->opcode == IB_WR_LOCAL_INV)
		return 0;
	lose(qp, request, IB_WR_RDMA_READ, &reads_lost);
	lose(qp, request, IB_WR_RDMA_WRITE, &writes_lost);
	return READ_ONCE(stuck) == qp ? 0 : ops_before.post_send(qp, request, bad);
}

/* Is told of each device that there is. */
static int consider(struct ib_device *candidate)
{
	if (!strcmp(candidate->name, device) && ib_device_try_get(candidate))
		limited = candidate;
	return 0;
}

static struct ib_client finder = { .name = KBUILD_MODNAME, .add = consider };

/* Not all kernels have ib_device_get_by_name() for modules. */
static int find_device(void)
{
	int error = ib_register_client(&finder);

	if (error)
		return error;
	ib_unregister_client(&finder);
	return limited ? 0 : -ENODEV;
}

static int __init small_device_init(void)
{
	int error = find_device();

	if (error)
		return error;
	before = limited->attrs;
	ops_before = limited->ops;
	limited->ops.create_cq = (void *)create_cq;
	limited->ops.create_qp = create_qp;
	limited->ops.modify_qp = modify_qp;
	limited->ops.alloc_mr = alloc_mr;
	limited->ops.dereg_mr = dereg_mr;
	limited->ops.map_mr_sg = map_mr_sg;
	limited->ops.post_send = post_send;
#define APPLY(name)                                   \
	do {                                          \
		if (name)                             \
			limited->attrs.name = (name); \
	} while (0)
	APPLY(max_qp_wr);
	APPLY(max_cqe);
	APPLY(max_send_sge);
	APPLY(max_recv_sge);
	APPLY(max_sge_rd);
	APPLY(max_mr);
	APPLY(max_fast_reg_page_list_len);
	APPLY(max_qp_init_rd_atom);
	APPLY(page_size_cap);
	if (no_registrations)
		limited->attrs.device_cap_flags &= ~IB_DEVICE_MEM_MGT_EXTENSIONS;
	if (no_invalidations)
		limited->ops.driver_id = RDMA_DRIVER_HNS;
	return 0;
}

static void __exit small_device_exit(void)
{
	limited->ops = ops_before;
	limited->attrs = before;
	ib_device_put(limited);
}

module_init(small_device_init);
module_exit(small_device_exit);

MODULE_DESCRIPTION("Test: a small RDMA device");
MODULE_LICENSE("GPL");
