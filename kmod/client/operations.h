/* SPDX-License-Identifier: GPL-2.0-only */
/* The requester's operations, which sunrpc calls through kmod/entry/requester.c: those of struct rpc_xprt_ops. */
#ifndef RPCORDMA_CLIENT_OPERATIONS_H
#define RPCORDMA_CLIENT_OPERATIONS_H

#include "kernel/glue.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What all transports share. Return: 0 or -ENOMEM. Process context. */
__visible int rpcordma_client_start(void);
__visible void rpcordma_client_stop(void);
/* Servers are asked anew which version of the protocol they speak. Process context. */
__visible void rpcordma_client_forget_versions(void);
/* An error pointer where it cannot be had. Process context. */
__visible struct rpc_xprt *rpcordma_client_setup(struct xprt_create *args, const struct rpcordma_xprt_kind *kind);
__visible void rpcordma_client_connect(struct rpc_xprt *xprt, struct rpc_task *task);
__visible void rpcordma_client_alloc_slot(struct rpc_xprt *xprt, struct rpc_task *task);
__visible void rpcordma_client_free_slot(struct rpc_xprt *xprt, struct rpc_rqst *request);
__visible int rpcordma_client_buf_alloc(struct rpc_task *task);
__visible void rpcordma_client_buf_free(struct rpc_task *task);
__visible int rpcordma_client_send_request(struct rpc_rqst *request);
/* It has waited for a reply in vain. From its task's callback, which may have the task sleep for longer. */
__visible void rpcordma_client_unanswered(struct rpc_rqst *request, bool timed_out);
__visible void rpcordma_client_close(struct rpc_xprt *xprt);
__visible void rpcordma_client_destroy(struct rpc_xprt *xprt);
__visible void rpcordma_client_set_connect_timeout(struct rpc_xprt *xprt, unsigned long connect,
						   unsigned long reconnect);
__visible void rpcordma_client_print_stats(struct rpc_xprt *xprt, struct seq_file *file);
__visible void rpcordma_client_inject_disconnect(struct rpc_xprt *xprt);
__visible int rpcordma_client_source_address(struct rpc_xprt *xprt, char *buffer, size_t size);
__visible unsigned short rpcordma_client_source_port(struct rpc_xprt *xprt);
__visible struct rpc_wait_queue *rpcordma_client_reverse_replies(struct rpc_xprt *xprt);
__visible int rpcordma_client_bc_setup(struct rpc_xprt *xprt, unsigned int requests);
__visible size_t rpcordma_client_bc_maxpayload(struct rpc_xprt *xprt);
__visible unsigned int rpcordma_client_bc_num_slots(struct rpc_xprt *xprt);
__visible void rpcordma_client_bc_free_rqst(struct rpc_rqst *request);
__visible void rpcordma_client_bc_destroy(struct rpc_xprt *xprt, unsigned int requests);

#ifdef __cplusplus
}
#endif

#endif
