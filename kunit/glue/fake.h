/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A verbs device of memory alone, for tests: one queue pair, whose peer the test is. Nothing happens by itself. What is
 * posted waits until the test has it executed, and what completes until the test has completions delivered.
 *
 * DMA goes through copies (dma.c), so a missing sync shows in the data, and a mapping that is gone is out of reach.
 * What a device of good character would not put up with is a problem: the first one is kept, in words.
 */
#ifndef RPCORDMA_KUNIT_GLUE_FAKE_H
#define RPCORDMA_KUNIT_GLUE_FAKE_H

#ifdef __cplusplus
#include "kernel/types.hh"
struct ib_device;
struct ib_pd;
struct ib_qp;
struct page;
extern "C" {
#else
#include <linux/types.h>
#endif

struct rpcordma_fake;

struct rpcordma_fake_limits {
	u32 send_depth;
	u32 receive_depth;
	u32 elements;
	u32 registrations;
	u32 pages;
	bool gaps;
};

/* Null where it cannot be had. */
struct rpcordma_fake *rpcordma_fake_create(const struct rpcordma_fake_limits *limits);
/* Whatever was made with the device is gone, but for the queue pair. Looks for what was left behind. */
void rpcordma_fake_destroy(struct rpcordma_fake *fake);
/* Null if there was none. Stays readable until the next device is made. */
const char *rpcordma_fake_problem(struct rpcordma_fake *fake);

struct ib_device *rpcordma_fake_device(struct rpcordma_fake *fake);
struct ib_pd *rpcordma_fake_pd(struct rpcordma_fake *fake);
struct ib_qp *rpcordma_fake_qp(struct rpcordma_fake *fake);
u32 rpcordma_fake_lkey(void);

/* What can fail. */
enum rpcordma_fake_verb {
	RPCORDMA_FAKE_POST_SEND,
	RPCORDMA_FAKE_POST_RECEIVE,
	RPCORDMA_FAKE_ALLOC_MR,
	RPCORDMA_FAKE_MAP_MR,
	/* Mapping memory, in the other way that devices have: of none of it. */
	RPCORDMA_FAKE_MAP_MR_NONE,
	RPCORDMA_FAKE_DMA_MAP,
	RPCORDMA_FAKE_MODIFY_QP,
	RPCORDMA_FAKE_VERBS,
};

/* The nth from now fails, once; work requests count one by one. Zero: none. */
void rpcordma_fake_fail(struct rpcordma_fake *fake, enum rpcordma_fake_verb verb, u32 nth);
/* Is called before each Receive is taken, within the call that posts it; null: nothing is. */
void rpcordma_fake_watch_receives(struct rpcordma_fake *fake, void (*watcher)(void *data), void *data);
/* The nth work request executed from now fails with a status (enum ib_wc_status). */
void rpcordma_fake_fail_request(struct rpcordma_fake *fake, u32 nth, u32 status);

/* Whether RDMA Reads take a registration of the queue pair's, which has none: as over iWARP. */
void rpcordma_fake_register_reads(struct rpcordma_fake *fake, bool on);

/* The device is soft-iWARP from now on, to whoever asks for its driver. Before a queue is made. */
void rpcordma_fake_be_soft_iwarp(struct rpcordma_fake *fake);

/* Executes up to `most` work requests of the send queue. */
void rpcordma_fake_execute(struct rpcordma_fake *fake, u32 most);
/* Delivers what has completed. */
void rpcordma_fake_complete(struct rpcordma_fake *fake);
/* The queue pair is in error: all that is posted completes as flushed, and nothing can be posted. */
void rpcordma_fake_break(struct rpcordma_fake *fake);
/* The queue pair is as good as new. */
void rpcordma_fake_mend(struct rpcordma_fake *fake);
u32 rpcordma_fake_sends_posted(struct rpcordma_fake *fake);
u32 rpcordma_fake_receives_posted(struct rpcordma_fake *fake);
/* Calls of post_send: doorbells. */
u32 rpcordma_fake_doorbells(struct rpcordma_fake *fake);
/* RDMA Writes of no bytes since the device was made. */
u32 rpcordma_fake_empty_writes(struct rpcordma_fake *fake);
/* Completions since the device was made. */
u32 rpcordma_fake_completions(struct rpcordma_fake *fake);
u32 rpcordma_fake_dma_mappings(struct rpcordma_fake *fake);
u32 rpcordma_fake_registrations(struct rpcordma_fake *fake);

/* The peer's side. Handles are those that the other side advertised. */
bool rpcordma_fake_deliver(struct rpcordma_fake *fake, const void *message, u32 size, const u32 *invalidate);
/* The same by an RDMA Write with immediate data, which has written `size` bytes elsewhere. */
bool rpcordma_fake_deliver_immediate(struct rpcordma_fake *fake, u32 size);
/* The message that arrived last, and how many have: true if it carried a handle to invalidate. */
u32 rpcordma_fake_arrived(struct rpcordma_fake *fake, const void **message, u32 *size);
bool rpcordma_fake_invalidated(struct rpcordma_fake *fake, u32 *handle);
bool rpcordma_fake_peer_read(struct rpcordma_fake *fake, u32 handle, u64 offset, void *to, u32 size);
bool rpcordma_fake_peer_write(struct rpcordma_fake *fake, u32 handle, u64 offset, const void *from, u32 size);
/* The peer's memory, for the other side's RDMA: RPCORDMA_FAKE_REMOTE_SIZE bytes at this offset, with this handle. */
void *rpcordma_fake_remote(struct rpcordma_fake *fake);
#define RPCORDMA_FAKE_REMOTE_OFFSET 0x7000000
#define RPCORDMA_FAKE_REMOTE_HANDLE 0x1234
#define RPCORDMA_FAKE_REMOTE_SIZE 0x100000

/* Memory for payloads. */
struct page *rpcordma_fake_page(void);
void *rpcordma_fake_page_address(struct page *page);
void rpcordma_fake_free_page(struct page *page);

/* Whether the registration that was made last could have waited for a file system or for swap, and whether it could
 * have come from the system's reserves. */
bool rpcordma_fake_registration_could_wait(struct rpcordma_fake *fake);
bool rpcordma_fake_registration_had_reserves(struct rpcordma_fake *fake);

/* The nth allocation that this task makes from now on fails; returns what was left of the number before. */
u32 rpcordma_fake_fail_allocation(u32 nth);

#ifdef __cplusplus
}
#endif

#endif
