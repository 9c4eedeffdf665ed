// SPDX-License-Identifier: GPL-2.0-only
/* What a responder's connection tells of itself to whoever looks. */
#include <algorithm>
#include <utility>

#include "server/connection.hh"

namespace rpcordma::server {

namespace {

void observe(const Traffic &traffic, rpcordma_connection &to) noexcept
{
	const Written &written = traffic.written;
	to.inline_received = traffic.inline_received;
	to.inline_sent = traffic.inline_sent;
	to.read_chunks = traffic.read_chunks.segments;
	to.read_chunk_bytes = traffic.read_chunks.bytes;
	to.write_chunks = written.write_chunks.segments;
	to.write_chunk_bytes = written.write_chunks.bytes;
	to.reply_chunks = written.reply_chunk.segments;
	to.reply_chunk_bytes = written.reply_chunk.bytes;
	to.remote_invalidations = written.invalidations;
}

} // namespace

/* From the time that all is made until the end begins: see start() and end(). */
void Connection::observe(rpcordma_connection &to) noexcept
{
	const std::uint64_t since = established_at_.read();
	to.valid = RPCORDMA_OBSERVED | RPCORDMA_OBSERVED_CONNECTED;
	to.role = role();
	to.state = is_ending() || endpoint_->is_lost() ? RPCORDMA_STATE_ENDING :
		   since != 0			       ? RPCORDMA_STATE_CONNECTED :
							 RPCORDMA_STATE_CONNECTING;
	to.remote = remote_;
	to.age = since != 0 ? verbs::seconds_now() - since : 0;
	verbs::observe(*endpoint_, version(), to);

	const Backlog::Account account = calls_.backlog().account();
	to.version = account.received != 0 ? std::to_underlying(version()) : 0;
	to.credits_in_use = account.grants.outstanding();
	to.credits_granted = account.grants.in_force();
	to.credits_asked = account.grants.wanted();
	reverse_.observe(to);
	to.receives = account.received;
	to.sends = account.sent;
	std::ranges::copy(account.latencies.counts(), to.latency);
	to.latency_sum = account.latencies.sum();
	server::observe(account.traffic, to);
	to.registrations = endpoint_->registrations().made();
	tallies_.observe(to);
}

} // namespace rpcordma::server
