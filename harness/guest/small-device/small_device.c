// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes an RDMA device say that it can do less than it can, for as long as the module is loaded: connections made
 * meanwhile have to do with that. Parameters left at 0 change nothing.
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

static int __init small_device_init(void)
{
	limited = ib_device_get_by_name(device, RDMA_DRIVER_UNKNOWN);
	if (!limited)
		return -ENODEV;
	before = limited->attrs;
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
	limited->attrs = before;
	ib_device_put(limited);
}

module_init(small_device_init);
module_exit(small_device_exit);

MODULE_DESCRIPTION("Test: a small RDMA device");
MODULE_LICENSE("GPL");
