/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * The constants of RPC-over-RDMA version 2, for the module and for user space
 * alike. This is revision 01 of draft-cel-nfsv4-rpcrdma-version-two; later
 * revisions use the same version number with another header. Fixed fields and
 * segments have the sizes of version 1: rpcrdma_v1.h.
 */
#ifndef RPCORDMA_UAPI_RPCRDMA_V2_H
#define RPCORDMA_UAPI_RPCRDMA_V2_H

/* The protocol version in rdma_vers. */
#define RPCRDMA_V2 2u

/* rdma_proc: the header types (section 4.2). 2 and 3 do not exist. */
#define RPCRDMA_V2_MSG 0u
#define RPCRDMA_V2_NOMSG 1u
#define RPCRDMA_V2_ERROR 4u
#define RPCRDMA_V2_OPTIONAL 5u

/* rdma_direction and rdma_optdir: the msg_type of RPC (section 4.2). */
#define RPCRDMA_V2_CALL 0u
#define RPCRDMA_V2_REPLY 1u

/* rdma_err (section 4.2). */
#define RPCRDMA_V2_ERR_VERS 1u
#define RPCRDMA_V2_ERR_BAD_HEADER 2u
#define RPCRDMA_V2_ERR_INVAL_OPTION 3u

/* The inline threshold that every peer supports (section 2.3), in bytes. */
#define RPCRDMA_V2_DEFAULT_INLINE 4096u

#endif
