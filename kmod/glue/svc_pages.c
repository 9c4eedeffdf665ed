// SPDX-License-Identifier: GPL-2.0-only
/* The pages of a service's thread, for C++: the one place that knows which kind of arrays they are in. */
#include <linux/sunrpc/svc.h>

#include "glue/svc_pages.h"
#include "kernel/glue.h"

#if RPCORDMA_REPLY_PAGES_APART
void rpcordma_svc_pages_reset(struct svc_rqst *rqst)
{
	rqst->rq_next_page = rqst->rq_respages;
}

struct page **rpcordma_svc_call_pages_to_take(struct svc_rqst *rqst, u32 count)
{
	rqst->rq_pages_nfree = count;
	return rqst->rq_pages;
}

struct page **rpcordma_svc_call_pages_to_fill(struct svc_rqst *rqst, u32 count)
{
	return rqst->rq_pages;
}

/* That rq_next_page stays is what has them filled again; sunrpc frees none of them where NULL is. */
struct page **rpcordma_svc_reply_pages_to_take(struct svc_rqst *rqst)
{
	return rqst->rq_respages;
}
#else
void rpcordma_svc_pages_reset(struct svc_rqst *rqst)
{
	rpcordma_svc_call_pages_to_fill(rqst, 0);
}

struct page **rpcordma_svc_call_pages_to_take(struct svc_rqst *rqst, u32 count)
{
	return rqst->rq_pages;
}

struct page **rpcordma_svc_call_pages_to_fill(struct svc_rqst *rqst, u32 count)
{
	rqst->rq_respages = rqst->rq_pages + count;
	rqst->rq_next_page = rqst->rq_respages;
	return rqst->rq_pages;
}

/* sunrpc would free those before rq_next_page, and does not look whether they are there. */
struct page **rpcordma_svc_reply_pages_to_take(struct svc_rqst *rqst)
{
	rqst->rq_next_page = rqst->rq_respages;
	return rqst->rq_respages;
}
#endif

u32 rpcordma_svc_reply_pages(const struct svc_rqst *rqst)
{
	return rqst->rq_next_page - rqst->rq_respages;
}
