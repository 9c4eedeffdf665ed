/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread of a service with nothing but its pages. What sunrpc and nfsd do with them is done when the test says so.
 */
#ifndef RPCORDMA_KUNIT_GLUE_SVC_THREAD_H
#define RPCORDMA_KUNIT_GLUE_SVC_THREAD_H

#ifdef __cplusplus
#include "kernel/types.hh"
struct page;
struct svc_rqst;
extern "C" {
#else
#include <linux/types.h>
#endif

/* With all its pages. Null where it cannot be had. */
struct svc_rqst *rpcordma_fake_thread_create(void);
void rpcordma_fake_thread_destroy(struct svc_rqst *rqst);

/* A Reply has `count` pages of the thread's own more. */
void rpcordma_fake_thread_encode(struct svc_rqst *rqst, u32 count);
/* How many pages the arrays have each. */
u32 rpcordma_fake_thread_pages(void);
/* The pages of a Reply's Payload stream, behind the first, have so many bytes; none is counted. */
void rpcordma_fake_thread_fill(struct svc_rqst *rqst, u32 bytes);
/* A Reply has a page more that is a file's: the file keeps it, or it has gone out of the file meanwhile. */
bool rpcordma_fake_thread_splice(struct svc_rqst *rqst, struct page *page);
/* Marked as one, or like any other page but for who has it. */
struct page *rpcordma_fake_file_page(bool is_marked);
/* Whether nobody but the file has it. */
bool rpcordma_fake_file_alone_has(const struct page *page);
void rpcordma_fake_file_drop(struct page *page);
/* The Reply has been sent: sunrpc frees pages, and allocates others. Returns how many. */
u32 rpcordma_fake_thread_refill(struct svc_rqst *rqst);
/* The page that the next Call, or Reply, finds there. */
struct page *rpcordma_fake_thread_page(struct svc_rqst *rqst, u32 index);

#ifdef __cplusplus
}
#endif

#endif
