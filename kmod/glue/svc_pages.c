// SPDX-License-Identifier: GPL-2.0-only
/* The pages of a service's thread, for C++: the one place that knows which kind of arrays they are in. */
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sunrpc/svc.h>

#include "glue/svc_pages.h"
#include "kernel/glue.h"

/* Where a splice puts pages aside. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
#define PUT_ASIDE(rqst) (&(rqst)->rq_fbatch)
#define page_put_aside(batch, index) folio_page((batch)->folios[index], 0)
#else
#define PUT_ASIDE(rqst) (&(rqst)->rq_pvec)
#define page_put_aside(batch, index) ((batch)->pages[index])
#endif

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0)
#define page_flags(page) ((page)->flags.f)
#else
#define page_flags(page) ((page)->flags)
#endif

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

/* sunrpc frees what is before rq_next_page, and fills it again: those that are missing go there. */
static void leave_pages(struct svc_rqst *rqst, struct page **end)
{
	struct page **missing = rqst->rq_respages;

	for (struct page **at = rqst->rq_respages; at != end; at++) {
		if (*at)
			continue;
		swap(*at, *missing);
		missing++;
	}
	rqst->rq_next_page = missing;
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
static void leave_pages(struct svc_rqst *rqst, struct page **end)
{
	rqst->rq_next_page = rqst->rq_respages;
}
#endif

/* Not all encoders have counted what they filled: those of GSS may put a checksum behind the last page. */
u32 rpcordma_svc_reply_pages(struct svc_rqst *rqst)
{
	const struct xdr_buf *reply = &rqst->rq_res;
	struct page **const end = reply->pages + DIV_ROUND_UP(reply->page_base + reply->page_len, PAGE_SIZE);

	if (reply->page_len != 0 && end > rqst->rq_next_page && end <= rqst->rq_page_end)
		rqst->rq_next_page = end;
	return rqst->rq_next_page - rqst->rq_respages;
}

struct page **rpcordma_svc_reply_pages_to_take(struct svc_rqst *rqst)
{
	return rqst->rq_respages;
}

/* As the page allocator has handed it out, and nobody else's: neither a file's, nor one that has been. */
static bool is_plain(struct page *page)
{
	/* One that is no part of a larger one is a folio by itself. */
	return !PageCompound(page) && page_ref_count(page) == 1 && !((struct folio *)page)->mapping &&
	       !(page_flags(page) & (PAGE_FLAGS_CHECK_AT_PREP | __PG_HWPOISON));
}

/* The page that a splice has put aside last, to put one of a file's in its place; or NULL. */
static struct page *take_put_aside(struct svc_rqst *rqst)
{
	struct page *page;

	if (PUT_ASIDE(rqst)->nr == 0)
		return NULL;
	page = page_put_aside(PUT_ASIDE(rqst), PUT_ASIDE(rqst)->nr - 1);
	if (!is_plain(page))
		return NULL;
	PUT_ASIDE(rqst)->nr--;
	return page;
}

/* A splice may reach the end of the array, where sunrpc writes NULL: a page that stayed there would be lost. */
void rpcordma_svc_keep_reply_pages(struct svc_rqst *rqst)
{
	struct page **const end = min(rqst->rq_next_page, rqst->rq_page_end);

	for (struct page **at = rqst->rq_respages; at != rqst->rq_next_page; at++) {
		if (*at && (at >= end || !is_plain(*at))) {
			put_page(*at);
			*at = NULL;
		}
		if (!*at && at < end)
			*at = take_put_aside(rqst);
	}
	leave_pages(rqst, end);
}
