/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What C++ calls of kmod/glue: the kernel's macros and inline functions (inlines.def), and what only C can hold.
 * Any context, unless said otherwise.
 */
#ifndef RPCORDMA_KERNEL_GLUE_H
#define RPCORDMA_KERNEL_GLUE_H

#ifdef __cplusplus
#include "kernel/kernel.hh"
struct net;
struct rpc_xprt;
struct page;
struct seq_file;
struct svc_rqst;
struct svc_serv;
struct svc_xprt;
struct svc_xprt_class;
struct xprt_class;
extern "C" {
#else
/* Included after a kernel header, which has the integer types. */
struct completion;
struct delayed_work;
struct ib_device;
struct ib_mr;
struct ib_qp;
struct ib_rdma_wr;
struct ib_recv_wr;
struct ib_send_wr;
struct net;
struct page;
struct rdma_cm_id;
struct rdma_conn_param;
struct rpc_rqst;
struct rpc_task;
struct rpc_wait_queue;
struct rpc_xprt;
struct rpc_xprt_ops;
struct scatterlist;
struct seq_file;
struct sockaddr;
struct sockaddr_storage;
struct spinlock;
struct svc_rqst;
struct svc_serv;
struct svc_xprt;
struct svc_xprt_class;
struct work_struct;
struct xdr_buf;
struct xprt_class;
struct xprt_create;
#endif

#include "kernel/inlines.h"

/* memory.c. What this task allocates until the scope ends waits neither for file systems nor for swap. With `reserves`
 * it waits for nothing: it comes from the reserves, as swapping itself needs it, or not at all. */
unsigned int rpcordma_reclaim_scope_enter(bool reserves);
void rpcordma_reclaim_scope_leave(unsigned int flags);
/* Gives a page array that its owner left sparse (XDRBUF_SPARSE_PAGES) the pages that it lacks: 0 or -ENOMEM. */
int rpcordma_fill_sparse_pages(struct xdr_buf *buffer);

/* sync.c. Lockdep tells these kinds of locks from each other. */
enum rpcordma_lock {
	RPCORDMA_LOCK_OBSERVATORY,
	RPCORDMA_LOCK_BACKLOG,
	RPCORDMA_LOCK_REPLIES,
	RPCORDMA_LOCK_REVERSE_REQUESTER,
	RPCORDMA_LOCK_OUTBOX,
	RPCORDMA_LOCK_LISTENER,
	RPCORDMA_LOCK_TRANSFER_POOL,
	RPCORDMA_LOCK_RECEIVE_QUEUE,
	RPCORDMA_LOCK_SEND_QUEUE,
	RPCORDMA_LOCK_REGISTRATION_POOL,
	RPCORDMA_LOCK_DISCONNECTIONS,
	RPCORDMA_LOCK_CONNECTION,
	RPCORDMA_LOCK_CONNECTOR,
	RPCORDMA_LOCK_NEGOTIATOR,
	RPCORDMA_LOCK_KNOWN_VERSIONS,
	RPCORDMA_LOCK_OUTSTANDING,
	RPCORDMA_LOCK_REVERSE_RESPONDER,
	RPCORDMA_LOCKS,
};

void rpcordma_spin_init(struct spinlock *lock, enum rpcordma_lock kind);

/* Lockdep tells these kinds of works from each other: one may wait for one of another kind, and not of its own. */
enum rpcordma_work {
	RPCORDMA_WORK_CONNECTION,
	RPCORDMA_WORK_CONNECTOR,
	RPCORDMA_WORK_ENDPOINT,
	RPCORDMA_WORK_DISCONNECTION,
	RPCORDMA_WORK_LISTENER,
	RPCORDMA_WORK_NEGOTIATOR,
	RPCORDMA_WORK_QUEUES,
	RPCORDMA_WORK_REGISTRATION_POOL,
	RPCORDMA_WORKS,
};

void rpcordma_work_init(struct work_struct *work, enum rpcordma_work kind, void (*function)(struct work_struct *work));
void rpcordma_delayed_work_init(struct delayed_work *work, enum rpcordma_work kind,
				void (*function)(struct work_struct *work));
/* Queues on the module's workqueue, which makes progress under memory pressure. Its works wait for no peer: all
 * connections share it. */
bool rpcordma_queue_work(struct work_struct *work);
bool rpcordma_queue_delayed_work(struct delayed_work *work, unsigned long jiffies);
/* The same, counted from now on where it is pending already. */
void rpcordma_restart_delayed_work(struct delayed_work *work, unsigned long jiffies);
/* Queues on the workqueue of attempts to connect, which wait for peers. It makes progress under memory pressure. */
bool rpcordma_queue_attempt(struct delayed_work *work, unsigned long jiffies);
/* Queues on the workqueue of what ends, whose works wait for devices and peers. */
void rpcordma_queue_end(struct work_struct *work);
/* Queues it to run after so many jiffies. If it is pending already, its time is changed. */
void rpcordma_restart_delayed_end(struct delayed_work *work, unsigned long jiffies);
/* Waits for all that are on it, except delayed works whose timer still runs. */
void rpcordma_flush_ends(void);
int rpcordma_workqueues_create(void);
void rpcordma_workqueues_destroy(void);

/* verbs.c. The address for the device; `*mapped` is false where there is none. */
u64 rpcordma_map(struct ib_device *device, void *memory, size_t size, unsigned int direction, bool *mapped);
/* Returns when the device is done with all that was posted, and takes no more: also where it lacks the memory for the
 * command to stop, for as long as that takes. Process context. */
void rpcordma_drain(struct ib_qp *qp);
/* rdma_accept(), which retries no more often than `wanted` says, and waits for an answer for no longer than a time-out
 * (4.096 us * 2^n) of `most_timeout`, whatever the requester has asked for. The handler is locked. Process context. */
int rpcordma_accept(struct rdma_cm_id *id, struct rdma_conn_param *wanted, u8 most_timeout);

/* xprt.c */
/* What sunrpc knows a kind of transports by. Lives for as long as the module. */
struct rpcordma_xprt_kind {
	const struct xprt_class *xprt_class;
	const struct rpc_xprt_ops *operations;
};

/* A transport of that kind to the address in `args`, with what sunrpc shows of it, and slots for `least` to `most`
 * RPCs. Has `size` bytes, the first of them struct rpc_xprt; keeps the module loaded until rpcordma_xprt_free(). An
 * error pointer where the address is none of IP's, or there is no memory. Process context. */
struct rpc_xprt *rpcordma_xprt_alloc(struct xprt_create *args, const struct rpcordma_xprt_kind *kind, size_t size,
				     unsigned int least, unsigned int most);
void rpcordma_xprt_free(struct rpc_xprt *xprt);
/* Hands a Call of the reverse direction to the service that awaits such; false where none does. Takes a reference to
 * the transport, which goes back with xprt_put(). */
bool rpcordma_reverse_enqueue(struct rpc_xprt *xprt, struct rpc_rqst *request);

/* address.c: what sunrpc shows of a transport's addresses. Process context. */
int rpcordma_addresses_format(struct rpc_xprt *xprt);
void rpcordma_addresses_free(struct rpc_xprt *xprt);
void rpcordma_address_set_port(struct rpc_xprt *xprt, u16 port);
/* Binds to that port of `source` or, where that is NULL, of the address that leads to `destination`: 0, -EADDRINUSE, or
 * another negative errno. */
int rpcordma_bind_port(struct rdma_cm_id *id, const struct sockaddr *source, const struct sockaddr *destination,
		       u16 port);
/* Fills up with zeroes. */
void rpcordma_address_copy(struct sockaddr_storage *to, const struct sockaddr *from);
/* The same with 0 for the port. */
void rpcordma_address_without_port(struct sockaddr_storage *to, const struct sockaddr *from);

/* svc.c */
void rpcordma_svc_init_listener(struct svc_xprt *xprt, struct svc_xprt_class *xprt_class, struct net *network,
				struct svc_serv *server);
/* For what the listener accepts. */
void rpcordma_svc_init_connection(struct svc_xprt *xprt, struct svc_xprt *listener);
void rpcordma_svc_set_local(struct svc_xprt *xprt, const struct sockaddr *address);
/* Whether the service starts more threads when Calls find none idle: kernels before 7.3 never do. */
bool rpcordma_svc_may_start_threads(const struct svc_serv *server);
/* Without the port. */
void rpcordma_svc_set_remote(struct svc_xprt *xprt, const struct sockaddr *address);

/* svc_pages.c: the pages of a service's thread. Context: that thread, from xpo_recvfrom() on. */
/* Begins a Call: none is part of a Reply. */
void rpcordma_svc_pages_reset(struct svc_rqst *rqst);
/* The pages that may be filled with a Call. The caller takes the first `count` for good, and leaves NULL there. */
struct page **rpcordma_svc_call_pages_to_take(struct svc_rqst *rqst, u32 count);
/* The same pages. The caller puts `count` that are filled in the places of the first. */
struct page **rpcordma_svc_call_pages_to_fill(struct svc_rqst *rqst, u32 count);
/* How many pages are part of the Reply, which are counted from then on. And these: the caller may take some, and leaves
 * NULL in their places. */
u32 rpcordma_svc_reply_pages(struct svc_rqst *rqst);
struct page **rpcordma_svc_reply_pages_to_take(struct svc_rqst *rqst);
/* The Reply is not read any more: the thread keeps those of its pages that nobody else has, for the next Call, so that
 * sunrpc need not allocate and clear others. Pages of files, which a splice has put among them, are let go. */
void rpcordma_svc_keep_reply_pages(struct svc_rqst *rqst);

/* settings.c: what administrators set, and what is counted for them. Set and shown by entry/sysctl.c. */
extern unsigned int rpcordma_slot_table_entries;
extern unsigned int rpcordma_max_inline_read;
extern unsigned int rpcordma_max_inline_write;
extern unsigned int rpcordma_highest_version;
extern unsigned int rpcordma_svc_highest_version;
extern unsigned int rpcordma_svc_max_requests;
extern unsigned int rpcordma_svc_max_req_size;
extern unsigned int rpcordma_svc_max_reads;
extern unsigned int rpcordma_svc_reverse_chunks;
extern unsigned int rpcordma_svc_reserved_ports;
extern unsigned int rpcordma_svc_max_connects;
enum rpcordma_svc_counter {
	RPCORDMA_SVC_READS,
	RPCORDMA_SVC_RECEIVES,
	RPCORDMA_SVC_WRITES,
	RPCORDMA_SVC_SEND_WAITS,
	/* These are no sysctls. */
	RPCORDMA_SVC_CONNECTS,
	RPCORDMA_SVC_DISCONNECTS,
	RPCORDMA_SVC_REFUSED,
	RPCORDMA_SVC_ERRORS_SENT,
	RPCORDMA_SVC_COUNTERS,
};

void rpcordma_svc_count(enum rpcordma_svc_counter counter);
unsigned long rpcordma_svc_counted(enum rpcordma_svc_counter counter);
void rpcordma_svc_count_anew(enum rpcordma_svc_counter counter);

/* log.c: an administrator must act; the second for what a peer can bring about again and again (rate-limited). */
void rpcordma_log_error(const char *format, ...);
void rpcordma_log_peer(const char *format, ...);

/* trace.c, beside the events themselves (kernel/trace.hh): how many of these somebody listens to. */
extern unsigned int rpcordma_traced_events;

#ifdef __cplusplus
}
#endif

#endif
