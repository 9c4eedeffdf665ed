// SPDX-License-Identifier: GPL-2.0-only
/* What a requester tells of itself to whoever looks. */
#include <algorithm>
#include <utility>

#include "client/transport.hh"

namespace rpcordma::client {

namespace field = kernel::field;

u32 Connector::state() const noexcept
{
	if (established_at_)
		return ending_.reason ? RPCORDMA_STATE_ENDING : RPCORDMA_STATE_CONNECTED;
	return rpcordma_xprt_connecting(xprt_) ? RPCORDMA_STATE_CONNECTING : RPCORDMA_STATE_DISCONNECTED;
}

void Connector::observe(rpcordma_connection &to, wire::Version version) noexcept
{
	kernel::Guard guard(lock_);
	to.state = state();
	to.registrations = registrations_of_past_connections_ + (endpoint_ ? endpoint_->registrations().made() : 0);
	/* While it is being made, its agreement changes. */
	if (!established_at_)
		return;
	to.valid |= RPCORDMA_OBSERVED_CONNECTED;
	to.age = verbs::seconds_now() - *established_at_;
	to.remote = destination_;
	verbs::observe(*endpoint_, version, to);
}

void Transport::observe(rpcordma_connection &to) noexcept
{
	const wire::Version version = negotiator_.version();
	to.valid = RPCORDMA_OBSERVED | RPCORDMA_OBSERVED_REQUESTER;
	to.role = role();
	to.xprt_id = field::rpc_xprt::id(xprt_);
	to.remote = verbs::address_of(peer());
	connector_.observe(to, version);
	to.version = negotiator_.is_settled() ? std::to_underlying(version) : 0;

	const proto::Credits credits = outstanding_.credits();
	to.credits_in_use = credits.outstanding();
	to.credits_granted = credits.limit();
	to.credits_asked = credits.requested();
	const ReverseResponder::Account reverse = reverse_.account();
	to.reverse_credits = reverse_.credits();
	to.reverse_credits_in_use = reverse.unanswered;
	to.reverse_calls = reverse.calls;
	to.reverse_replies = reverse.answers;

	to.receives = field::rpc_xprt::recvs(xprt_);
	to.sends = field::rpc_xprt::sends(xprt_);
	to.connects = field::rpc_xprt::connect_count(xprt_);
	to.bad_xids = field::rpc_xprt::bad_xids(xprt_);
	statistics_.observe(to);
	tallies_.observe(to);
	std::ranges::copy(latencies_.counts(), to.latency);
	to.latency_sum = latencies_.sum();
}

void Statistics::observe(rpcordma_connection &to) const noexcept
{
	to.read_chunks = read_chunks.read();
	to.write_chunks = write_chunks.read();
	to.reply_chunks = reply_chunks.read();
	to.request_bytes = request_bytes.read();
	to.reply_bytes = reply_bytes();
	to.bytes_copied_out = pulled_up.read();
	to.bytes_copied_in = fixed_up.read();
	to.failed_marshals = failed_marshal.read();
	to.bad_replies = bad_replies.read();
	to.nomsg_calls = nomsg_calls.read();
	to.registrations_lost = registrations_lost.read();
	to.local_invalidations = local_invalidations.read();
	to.waits_for_room = no_send_room.read();
	/* What is not in chunks is copied, and nothing else. */
	to.inline_sent = to.bytes_copied_out;
	to.inline_received = to.bytes_copied_in;
	to.read_chunk_bytes = read_chunk_bytes.read();
	to.write_chunk_bytes = write_chunk_bytes.read();
	to.reply_chunk_bytes = reply_chunk_bytes.read();
	to.remote_invalidations = remote_invalidations.read();
	to.retransmissions = retransmissions.read();
}

} // namespace rpcordma::client
