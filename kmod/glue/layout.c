// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks the tables of kmod/kernel/kernel.hh against the kernel's headers and writes down, for C++, what follows from
 * them. Compiled to assembly only, from which Kbuild makes <kernel/layout.h>; it is no part of the module.
 */
#define COMPILE_OFFSETS

#include <linux/completion.h>
#include <linux/dma-direction.h>
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/in.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/stddef.h>
#include <linux/sunrpc/addr.h>
#include <linux/sunrpc/auth.h>
#include <linux/sunrpc/clnt.h>
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/svc_xprt.h>
#include <linux/sunrpc/xdr.h>
#include <linux/sunrpc/xprt.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <rdma/rw.h>

#include "glue/svc_pages.h"

/* Else svc_pages.c hands out the wrong pages. */
#define IS_MEMBER(type, member) __same_type(type, ((struct svc_rqst *)NULL)->member)
#if RPCORDMA_REPLY_PAGES_APART
static_assert(IS_MEMBER(struct page **, rq_pages) && IS_MEMBER(struct page **, rq_respages) &&
		      IS_MEMBER(unsigned long, rq_pages_nfree),
	      "svc_pages.h: a thread's pages are not in one array for Calls and one for Replies");
#else
static_assert(IS_MEMBER(struct page * [RPCSVC_MAXPAYLOAD / PAGE_SIZE + 4], rq_pages), "svc_pages.h: a thread's pages "
										      "are not in one array for Calls "
										      "and Replies, of the largest "
										      "payload and four");
#endif
#undef IS_MEMBER

#define EMIT(symbol, value) asm volatile("\n.ascii \"->" #symbol " %0 \"" : : "i"((long)(value)))

#define EXPAND(macro, ...) macro(__VA_ARGS__)
#define FIRST(first, ...) first

#define FUNCTION(ret, name, parameters) \
	static_assert(__same_type(&name, (ret(*) parameters)NULL), "functions.def: " #name);
#include "kernel/functions.def"

#define FIELD(tag, type, member, ...) \
	static_assert(__same_type(type, ((struct tag *)NULL)->member), "fields.def: " #tag "." #member);
#include "kernel/fields.def"
#undef FIELD

int main(void);

int main(void)
{
#define EMIT_FIELD(tag, member, name) EMIT(RPCORDMA_OFFSET_##tag##_##name, offsetof(struct tag, member))
#define FIELD(tag, type, member, ...) EXPAND(EMIT_FIELD, tag, member, FIRST(__VA_ARGS__ __VA_OPT__(, ) member, ));
#include "kernel/fields.def"

#define SIZE(tag)                                      \
	EMIT(RPCORDMA_SIZE_##tag, sizeof(struct tag)); \
	EMIT(RPCORDMA_ALIGN_##tag, __alignof__(struct tag));
#include "kernel/sizes.def"

#define CONSTANT(name, ...)                                                    \
	EMIT(RPCORDMA_VALUE_##name, FIRST(__VA_ARGS__ __VA_OPT__(, ) name, )); \
	EMIT(RPCORDMA_KIND_##name,                                             \
	     (int)sizeof(FIRST(__VA_ARGS__ __VA_OPT__(, ) name, )) *           \
		     (is_signed_type(typeof(FIRST(__VA_ARGS__ __VA_OPT__(, ) name, ))) ? -1 : 1));
#include "kernel/constants.def"

	/* For kernel/page.hh. */
	EMIT(RPCORDMA_PAGE_SIZE, PAGE_SIZE);
	return 0;
}
