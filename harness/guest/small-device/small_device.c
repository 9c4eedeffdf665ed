// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes an RDMA device say that it can do less than it can, for as long as the module is loaded: connections made
 * meanwhile have to do with that. Who asks for longer queues is refused. Parameters left at 0 change nothing.
 */
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
LIMIT(max_sge_rd);
LIMIT(max_mr);
LIMIT(max_fast_reg_page_list_len);
LIMIT(max_qp_init_rd_atom);

static struct ib_device *limited;
static struct ib_device_attr before;
static struct ib_device_ops ops_before;

/* The last argument's type differs between kernels. */
typedef int (*create_cq_function)(struct ib_cq *cq, const struct ib_cq_init_attr *attr, void *user);

static int create_cq(struct ib_cq *cq, const struct ib_cq_init_attr *attr, void *user)
{
	if (attr->cqe > limited->attrs.max_cqe)
		return -EINVAL;
	return ((create_cq_function)ops_before.create_cq)(cq, attr, user);
}

static int create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr, struct ib_udata *user)
{
	if (attr->cap.max_send_wr > limited->attrs.max_qp_wr || attr->cap.max_recv_wr > limited->attrs.max_qp_wr)
		return -EINVAL;
	return ops_before.create_qp(qp, attr, user);
}

static int __init small_device_init(void)
{
	limited = ib_device_get_by_name(device, RDMA_DRIVER_UNKNOWN);
	if (!limited)
		return -ENODEV;
	before = limited->attrs;
	ops_before = limited->ops;
	limited->ops.create_cq = (void *)create_cq;
	limited->ops.create_qp = create_qp;
#define APPLY(name)                                   \
	do {                                          \
		if (name)                             \
			limited->attrs.name = (name); \
	} while (0)
	APPLY(max_qp_wr);
	APPLY(max_cqe);
	APPLY(max_send_sge);
	APPLY(max_sge_rd);
	APPLY(max_mr);
	APPLY(max_fast_reg_page_list_len);
	APPLY(max_qp_init_rd_atom);
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
