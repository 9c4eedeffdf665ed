// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's macros and inline functions, each as a function: kmod/kernel/inlines.def. */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>
#include <linux/sunrpc/clnt.h>
#include <linux/sunrpc/svc_xprt.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <rdma/rw.h>

#include "kernel/glue.h"

#define INLINE(ret, name, parameters, body) \
	ret name parameters                 \
	{                                   \
		body;                       \
	}
#include "kernel/inlines.def"
