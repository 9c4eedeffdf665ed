/* SPDX-License-Identifier: GPL-2.0-only */
/* What a transport counts, for /proc/self/mountstats and for the netlink family. */
#pragma once

#include "kernel/counter.hh"
#include "kernel/observed.h"

namespace rpcordma::client {

/* Each is written in one context, or under one lock; read without. */
struct Statistics {
	using Counter = kernel::Counter;

	/* Written with the send lock held. Of chunks, the segments are counted. */
	Counter read_chunks;
	Counter write_chunks;
	Counter reply_chunks;
	/* In bytes: what is offered for reading, the room that is offered for Replies, and what is copied of Calls. */
	Counter read_chunk_bytes;
	Counter request_bytes;
	Counter pulled_up;
	Counter failed_marshal;
	Counter nomsg_calls;
	Counter no_send_room;
	Counter retransmissions;
	/* Written by completions. In bytes: what came by chunks, and what was copied of Replies. */
	Counter write_chunk_bytes;
	Counter reply_chunk_bytes;
	Counter fixed_up;
	Counter bad_replies;
	/* Written under the lock of `Outstanding`. */
	Counter local_invalidations;
	Counter remote_invalidations;
	/* Written while a connection is closed. */
	Counter registrations_lost;

	/* What came by chunks of either kind. */
	[[nodiscard]] std::uint64_t reply_bytes() const noexcept
	{
		return write_chunk_bytes.read() + reply_chunk_bytes.read();
	}
	/* Writes the line of mountstats. `registrations` is the number that have been made. Context: process. */
	void print(seq_file *file, rpc_xprt *xprt, unsigned long registrations) const noexcept;
	/* The same numbers, as the netlink family has them: observe.cc. */
	void observe(rpcordma_connection &to) const noexcept;
};

} // namespace rpcordma::client
