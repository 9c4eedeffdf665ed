/* SPDX-License-Identifier: GPL-2.0-only */
/* What /proc/self/mountstats shows of a mount. */
#pragma once

#include "kernel/observed.h"

namespace rpcordma::client {

/* The columns after sunrpc's own numbers. Each is written in one context, or under one lock; read without. */
struct Statistics {
	/* Written with the send lock held. Of chunks, the segments are counted. */
	unsigned long read_chunks = 0;
	unsigned long write_chunks = 0;
	unsigned long reply_chunks = 0;
	/* In bytes: the room that is offered for Replies, and what is copied of Calls. */
	unsigned long long request_bytes = 0;
	unsigned long long pulled_up = 0;
	unsigned long failed_marshal = 0;
	unsigned long nomsg_calls = 0;
	unsigned long no_send_room = 0;
	/* Written by completions. In bytes: what came by chunks, and what was copied of Replies. */
	unsigned long long reply_bytes = 0;
	unsigned long long fixed_up = 0;
	unsigned long bad_replies = 0;
	/* Written under the lock of `Outstanding`. */
	unsigned long local_invalidations = 0;
	/* Written while a connection is closed. */
	unsigned long registrations_lost = 0;

	/* Writes the line of mountstats. `registrations` is the number that have been made. Context: process. */
	void print(seq_file *file, rpc_xprt *xprt, unsigned long registrations) const noexcept;
	/* The same numbers, as the netlink family has them: observe.cc. */
	void observe(rpcordma_connection &to) const noexcept;
};

} // namespace rpcordma::client
