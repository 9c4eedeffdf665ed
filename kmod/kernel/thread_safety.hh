/* SPDX-License-Identifier: GPL-2.0-only */
/* Clang's thread-safety annotations, which `make lint` checks; nothing under other compilers. */
#pragma once

#ifdef __clang__
#define RPCORDMA_ANNOTATION(x) __attribute__((x))
#else
#define RPCORDMA_ANNOTATION(x)
#endif

#define RPCORDMA_CAPABILITY(name) RPCORDMA_ANNOTATION(capability(name))
#define RPCORDMA_SCOPED_CAPABILITY RPCORDMA_ANNOTATION(scoped_lockable)
/* This member may only be touched with that lock held. */
#define RPCORDMA_GUARDED_BY(lock) RPCORDMA_ANNOTATION(guarded_by(lock))
/* Callers hold the lock. */
#define RPCORDMA_REQUIRES(...) RPCORDMA_ANNOTATION(requires_capability(__VA_ARGS__))
/* Callers do not hold the lock. */
#define RPCORDMA_EXCLUDES(...) RPCORDMA_ANNOTATION(locks_excluded(__VA_ARGS__))
#define RPCORDMA_ACQUIRE(...) RPCORDMA_ANNOTATION(acquire_capability(__VA_ARGS__))
#define RPCORDMA_RELEASE(...) RPCORDMA_ANNOTATION(release_capability(__VA_ARGS__))
