/* SPDX-License-Identifier: GPL-2.0-only */
/* The responder's operations, which sunrpc calls through kmod/entry/responder.c: those of struct svc_xprt_ops. */
#ifndef RPCORDMA_SERVER_OPERATIONS_H
#define RPCORDMA_SERVER_OPERATIONS_H

#include "kernel/glue.h"

/* The most data in one RPC, whatever sunrpc's limit is. */
#define RPCORDMA_SERVER_MAX_PAYLOAD 0x100000u

#ifdef __cplusplus
extern "C" {
#endif

/* A listener; an error pointer where it cannot listen. Process context. */
struct svc_xprt *rpcordma_server_create(struct svc_xprt_class *xprt_class, struct svc_serv *server, struct net *network,
					struct sockaddr *address);
struct svc_xprt *rpcordma_server_accept(struct svc_xprt *xprt);
void rpcordma_server_detach_listener(struct svc_xprt *xprt);
void rpcordma_server_free_listener(struct svc_xprt *xprt);
int rpcordma_server_recvfrom(struct svc_rqst *rqst);
void rpcordma_server_judge_port(struct svc_rqst *rqst);
int rpcordma_server_sendto(struct svc_rqst *rqst);
int rpcordma_server_result_payload(struct svc_rqst *rqst, unsigned int offset, unsigned int length);
void rpcordma_server_release_context(struct svc_xprt *xprt, void *context);
void rpcordma_server_detach(struct svc_xprt *xprt);
void rpcordma_server_free(struct svc_xprt *xprt);
int rpcordma_server_has_room(struct svc_xprt *xprt);

/* As a requester in the reverse direction, through kmod/entry/reverse_requester.c: those of struct rpc_xprt_ops. */
struct rpc_xprt *rpcordma_server_reverse_setup(struct xprt_create *args, const struct rpcordma_xprt_kind *kind);
int rpcordma_server_reverse_buf_alloc(struct rpc_task *task);
void rpcordma_server_reverse_buf_free(struct rpc_task *task);
int rpcordma_server_reverse_send(struct rpc_rqst *request);

#ifdef __cplusplus
}
#endif

#endif
