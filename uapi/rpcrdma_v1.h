/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * The constants of RPC-over-RDMA version 1 (RFC 8166) and of its CM private
 * data (RFC 8797), for the module and for user space alike.
 */
#ifndef RPCORDMA_UAPI_RPCRDMA_V1_H
#define RPCORDMA_UAPI_RPCRDMA_V1_H

/* The protocol version in rdma_vers. */
#define RPCRDMA_V1 1u

/* rdma_proc: the header types (rfc5666bis-04, 5.1.2 and 5.1.3). */
#define RPCRDMA_V1_MSG 0u
#define RPCRDMA_V1_NOMSG 1u
#define RPCRDMA_V1_MSGP 2u
#define RPCRDMA_V1_DONE 3u
#define RPCRDMA_V1_ERROR 4u

/* rdma_err: ERR_CHUNK is what rfc5666bis-04 calls RDMA_ERR_BADHEADER. */
#define RPCRDMA_V1_ERR_VERS 1u
#define RPCRDMA_V1_ERR_CHUNK 2u

/* Sizes on the wire, in bytes. */
#define RPCRDMA_V1_FIXED_SIZE 16u
#define RPCRDMA_V1_SEGMENT_SIZE 16u
#define RPCRDMA_V1_READ_SEGMENT_SIZE 20u

/* The inline threshold that every peer supports (RFC 8166, 3.3.3), in bytes. */
#define RPCRDMA_V1_DEFAULT_INLINE 1024u

/* CM private data (RFC 8797, 4). */
#define RPCRDMA_CM_MAGIC 0xf6ab0e18u
#define RPCRDMA_CM_VERSION 1u
#define RPCRDMA_CM_SIZE 8u
#define RPCRDMA_CM_FLAG_REMOTE_INVALIDATION 0x01u

#endif
