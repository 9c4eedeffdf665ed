/* SPDX-License-Identifier: GPL-2.0-only */
/* The responder's operations, which sunrpc calls through kmod/entry/responder.c: those of struct svc_xprt_ops. */
#ifndef RPCORDMA_SERVER_OPERATIONS_H
#define RPCORDMA_SERVER_OPERATIONS_H

#include "kernel/glue.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A listener; an error pointer where it cannot listen. Process context. */
__visible struct svc_xprt *rpcordma_server_create(struct svc_xprt_class *xprt_class, struct svc_serv *server,
						  struct net *network, struct sockaddr *address);
__visible struct svc_xprt *rpcordma_server_accept(struct svc_xprt *xprt);
__visible void rpcordma_server_detach_listener(struct svc_xprt *xprt);
__visible void rpcordma_server_free_listener(struct svc_xprt *xprt);
__visible int rpcordma_server_recvfrom(struct svc_rqst *rqst);
__visible void rpcordma_server_judge_port(struct svc_rqst *rqst);
__visible int rpcordma_server_sendto(struct svc_rqst *rqst);
__visible int rpcordma_server_result_payload(struct svc_rqst *rqst, unsigned int offset, unsigned int length);
__visible void rpcordma_server_release_context(struct svc_xprt *xprt, void *context);
__visible void rpcordma_server_detach(struct svc_xprt *xprt);
__visible void rpcordma_server_free(struct svc_xprt *xprt);
__visible int rpcordma_server_has_room(struct svc_xprt *xprt);

/* As a requester in the reverse direction, through kmod/entry/reverse_requester.c: those of struct rpc_xprt_ops. */
__visible struct rpc_xprt *rpcordma_server_reverse_setup(struct xprt_create *args,
							 const struct rpcordma_xprt_kind *kind);
__visible int rpcordma_server_reverse_buf_alloc(struct rpc_task *task);
__visible void rpcordma_server_reverse_buf_free(struct rpc_task *task);
__visible int rpcordma_server_reverse_send(struct rpc_rqst *request);

#ifdef __cplusplus
}
#endif

#endif
