/* SPDX-License-Identifier: GPL-2.0-only */
/* How the Payload streams of a responder's Calls and Replies have travelled. */
#pragma once

#include <cstdint>

namespace rpcordma::server {

/* Of the chunks of one kind, the segments that were read or written, and their bytes. */
struct Moved {
	std::uint64_t segments = 0;
	std::uint64_t bytes = 0;

	void add(std::uint32_t length) noexcept
	{
		segments++;
		bytes += length;
	}
	void operator+=(const Moved &more) noexcept
	{
		segments += more.segments;
		bytes += more.bytes;
	}
};

/* What is written for one Reply, or for all. */
struct Written {
	Moved write_chunks;
	Moved reply_chunk;
	/* Sends that ask the requester's device to invalidate a registration. */
	std::uint64_t invalidations = 0;

	void operator+=(const Written &more) noexcept
	{
		write_chunks += more.write_chunks;
		reply_chunk += more.reply_chunk;
		invalidations += more.invalidations;
	}
};

/* Of a connection. What is in a message behind its header is inline. */
struct Traffic {
	std::uint64_t inline_received = 0;
	std::uint64_t inline_sent = 0;
	Moved read_chunks;
	Written written;
};

} // namespace rpcordma::server
