/* SPDX-License-Identifier: GPL-2.0-only */
/* The requester's operations, which sunrpc calls through kmod/entry/requester.c: those of struct rpc_xprt_ops. */
#ifndef RPCORDMA_CLIENT_OPERATIONS_H
#define RPCORDMA_CLIENT_OPERATIONS_H

#include "kernel/glue.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What all transports share. Return: 0 or -ENOMEM. Process context. */
int rpcordma_client_start(void);
void rpcordma_client_stop(void);
/* Servers are asked anew which version of the protocol they speak. Process context. */
void rpcordma_client_forget_versions(void);
/* An error pointer where it cannot be had. Process context. */
struct rpc_xprt *rpcordma_client_setup(struct xprt_create *args, const struct rpcordma_xprt_kind *kind);
void rpcordma_client_connect(struct rpc_xprt *xprt, struct rpc_task *task);
int rpcordma_client_buf_alloc(struct rpc_task *task);
void rpcordma_client_buf_free(struct rpc_task *task);
int rpcordma_client_send_request(struct rpc_rqst *request);
/* It has waited for a reply in vain. From its task's callback, which may have the task sleep for longer. */
void rpcordma_client_unanswered(struct rpc_rqst *request, bool timed_out);
void rpcordma_client_close(struct rpc_xprt *xprt);
void rpcordma_client_destroy(struct rpc_xprt *xprt);
void rpcordma_client_set_connect_timeout(struct rpc_xprt *xprt, unsigned long connect, unsigned long reconnect);
void rpcordma_client_print_stats(struct rpc_xprt *xprt, struct seq_file *file);
void rpcordma_client_inject_disconnect(struct rpc_xprt *xprt);
int rpcordma_client_source_address(struct rpc_xprt *xprt, char *buffer, size_t size);
unsigned short rpcordma_client_source_port(struct rpc_xprt *xprt);
struct rpc_wait_queue *rpcordma_client_reverse_replies(struct rpc_xprt *xprt);
int rpcordma_client_bc_setup(struct rpc_xprt *xprt, unsigned int requests);
size_t rpcordma_client_bc_maxpayload(struct rpc_xprt *xprt);
unsigned int rpcordma_client_bc_num_slots(struct rpc_xprt *xprt);
void rpcordma_client_bc_free_rqst(struct rpc_rqst *request);
void rpcordma_client_bc_destroy(struct rpc_xprt *xprt, unsigned int requests);

#ifdef __cplusplus
}
#endif

#endif
