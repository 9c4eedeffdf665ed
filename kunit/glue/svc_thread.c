// SPDX-License-Identifier: GPL-2.0-only
/* The pages of a service's thread, and what sunrpc does with them. */
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/page-flags.h>
#include <linux/slab.h>
#include <linux/sunrpc/svc.h>

#include "glue/svc_pages.h"
#include "kunit/glue/svc_thread.h"

/* In each array: with large pages, the one that is for both has no more. */
#if RPCORDMA_REPLY_PAGES_APART
#define PAGES 80
#else
#define PAGES min_t(u32, 80, RPCSVC_MAXPAGES)
#endif

/* Returns how many were missing. */
static u32 fill(struct page **pages, u32 count)
{
	u32 filled = 0;

	for (u32 i = 0; i < count; i++) {
		if (pages[i])
			continue;
		pages[i] = alloc_page(GFP_KERNEL | __GFP_NOFAIL);
		filled++;
	}
	return filled;
}

static void put_all(struct page **pages)
{
	for (u32 i = 0; i < PAGES; i++) {
		if (pages[i])
			put_page(pages[i]);
	}
}

#if RPCORDMA_REPLY_PAGES_APART
static bool make_arrays(struct svc_rqst *rqst)
{
	rqst->rq_maxpages = PAGES;
	rqst->rq_pages = kcalloc(PAGES + 1, sizeof(struct page *), GFP_KERNEL);
	rqst->rq_respages = kcalloc(PAGES + 1, sizeof(struct page *), GFP_KERNEL);
	rqst->rq_page_end = rqst->rq_respages + PAGES;
	return rqst->rq_pages && rqst->rq_respages;
}

static void free_arrays(struct svc_rqst *rqst)
{
	if (rqst->rq_respages)
		put_all(rqst->rq_respages);
	if (rqst->rq_pages)
		put_all(rqst->rq_pages);
	kfree(rqst->rq_respages);
	kfree(rqst->rq_pages);
}

static u32 fill_all(struct svc_rqst *rqst)
{
	return fill(rqst->rq_pages, PAGES) + fill(rqst->rq_respages, PAGES);
}

u32 rpcordma_fake_thread_refill(struct svc_rqst *rqst)
{
	const u32 of_reply = rqst->rq_next_page - rqst->rq_respages;

	for (u32 i = 0; i < of_reply; i++) {
		if (rqst->rq_respages[i])
			put_page(rqst->rq_respages[i]);
		rqst->rq_respages[i] = NULL;
	}
	folio_batch_release(&rqst->rq_fbatch);
	rqst->rq_next_page = rqst->rq_respages;
	return fill(rqst->rq_respages, of_reply) + fill(rqst->rq_pages, rqst->rq_pages_nfree);
}
#else
static bool make_arrays(struct svc_rqst *rqst)
{
	rqst->rq_respages = rqst->rq_pages;
	rqst->rq_page_end = rqst->rq_pages + PAGES;
	return true;
}

static void free_arrays(struct svc_rqst *rqst)
{
	put_all(rqst->rq_pages);
}

static u32 fill_all(struct svc_rqst *rqst)
{
	return fill(rqst->rq_pages, PAGES);
}

u32 rpcordma_fake_thread_refill(struct svc_rqst *rqst)
{
	/* No NULL is put up with here. */
	for (; rqst->rq_next_page != rqst->rq_respages; *rqst->rq_next_page = NULL)
		put_page(*--rqst->rq_next_page);
	return fill_all(rqst);
}
#endif

struct svc_rqst *rpcordma_fake_thread_create(void)
{
	struct svc_rqst *rqst = kzalloc(sizeof(*rqst), GFP_KERNEL);

	if (rqst && make_arrays(rqst)) {
		fill_all(rqst);
		rqst->rq_next_page = rqst->rq_respages;
		return rqst;
	}
	if (rqst)
		free_arrays(rqst);
	kfree(rqst);
	return NULL;
}

void rpcordma_fake_thread_destroy(struct svc_rqst *rqst)
{
	folio_batch_release(&rqst->rq_fbatch);
	free_arrays(rqst);
	kfree(rqst);
}

u32 rpcordma_fake_thread_pages(void)
{
	return PAGES;
}

void rpcordma_fake_thread_fill(struct svc_rqst *rqst, u32 bytes)
{
	rqst->rq_res.pages = rqst->rq_respages + 1;
	rqst->rq_res.page_len = bytes;
}

void rpcordma_fake_thread_encode(struct svc_rqst *rqst, u32 count)
{
	rqst->rq_next_page += count;
}

bool rpcordma_fake_thread_splice(struct svc_rqst *rqst, struct page *page)
{
	return svc_rqst_replace_page(rqst, page);
}

struct page *rpcordma_fake_file_page(bool is_marked)
{
	struct page *page = alloc_page(GFP_KERNEL);

	if (page && is_marked)
		SetPageUptodate(page);
	return page;
}

bool rpcordma_fake_file_alone_has(const struct page *page)
{
	return page_count(page) == 1;
}

void rpcordma_fake_file_drop(struct page *page)
{
	put_page(page);
}

struct page *rpcordma_fake_thread_page(struct svc_rqst *rqst, u32 index)
{
	return rqst->rq_respages[index];
}
