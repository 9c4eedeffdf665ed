// SPDX-License-Identifier: GPL-2.0-only
/* The way of a Reply: decoded in wire/, judged in proto/ by what its Call offered, its RPC's memory taken back, and
 * delivered. All in the process context of the connection's completion queue. */
#include "client/delivery.hh"
#include "client/transport.hh"
#include "kernel/trace.hh"

namespace rpcordma::client {

namespace field = kernel::field;

namespace {

[[gnu::noinline]] void drop(Transport &transport, const verbs::ReceiveBuffer &buffer, proto::Dropped reason)
{
	const auto size = static_cast<u32>(buffer.message().size());

	if (reason == proto::Dropped::option_error)
		proto::tell_of_refusal(buffer.message());
	transport.tallies().received(proto::refusal_in(buffer.message()));
	transport.statistics().bad_replies++;
	rpcordma_trace_message_dropped(transport.peer(), size, name_of(reason));
	transport.refused(name_of(reason));
	rpcordma_log_peer("%pISpc: dropped a message of %u bytes: %s", transport.peer(), size, name_of(reason));
}

/* Which RPC has lost memory is unknown. A responder may invalidate only where both peers set the R field (RFC 8797, 4.1);
 * Linux's does where we alone set it, and all our handles may be invalidated, so that is let pass. */
[[gnu::noinline]] void invalidation_not_offered(Transport &transport, wire::Xid xid, u32 handle)
{
	rpcordma_trace_invalidation_not_offered(transport.peer(), static_cast<u32>(xid), handle);
	transport.give_up("invalidation not offered");
}

/* A message that is no reply to a waiting call has nothing to invalidate, unless the call was killed, or its memory is being
 * taken back: then the handle is nobody's (RFC 8797, 4.1). Where it is another call's, that has lost memory. */
void check_stray_invalidation(Transport &transport, const verbs::ReceiveBuffer &buffer)
{
	u32 handle;
	if (!buffer.invalidated(handle) || !transport.outstanding().offers(wire::Handle{handle}))
		return;
	rpcordma_log_peer("%pISpc: a message that answers no call invalidates a handle: 0x%08x", transport.peer(),
			  handle);
	invalidation_not_offered(transport, wire::Xid{}, handle);
}

void trace_accepted(const Transport &transport, const proto::ForCall &message, const proto::Accepted &accepted,
		    wire::Version highest)
{
	const sockaddr *const peer = transport.peer();
	const auto xid = static_cast<u32>(message.xid);
	if (const auto *const in_message = std::get_if<proto::ShortReply>(&accepted)) {
		rpcordma_trace_reply_received(peer, xid, "RDMA_MSG", message.credits,
					      static_cast<u32>(in_message->payload.size()), in_message->written);
	} else if (const auto *const in_chunk = std::get_if<proto::LongReply>(&accepted)) {
		rpcordma_trace_reply_received(peer, xid, "RDMA_NOMSG", message.credits, 0, in_chunk->length);
	} else if (const auto *const range = std::get_if<proto::VersionRefused>(&accepted)) {
		rpcordma_trace_error_received(peer, xid, "ERR_VERS", range->low, range->high);
		rpcordma_log_peer("%pISpc: ERR_VERS for the call 0x%08x: the server takes versions %u to %u, this "
				  "client "
				  "1 to %u; use proto=tcp",
				  peer, xid, range->low, range->high, std::to_underlying(highest));
	} else {
		rpcordma_trace_error_received(peer, xid, "ERR_CHUNK", 0, 0);
		rpcordma_log_peer("%pISpc: ERR_CHUNK for the call 0x%08x: is the server out of memory, or its largest "
				  "payload below rsize or wsize?",
				  peer, xid);
	}
}

/* No RPC waits for it. */
[[gnu::noinline]] void no_call(Transport &transport, wire::Xid xid, verbs::ReceiveBuffer &buffer)
{
	rpcordma_trace_reply_unmatched(transport.peer(), static_cast<u32>(xid), "unknown XID");
	check_stray_invalidation(transport, buffer);
	transport.outstanding().unclaimed();
	transport.endpoint().receives().give_back(buffer);
	transport.room();
}

/* The RPC has its Reply, or is not to have one. */
[[gnu::noinline]] void not_awaited(Transport &transport, wire::Xid xid, Outstanding::Match match,
				   const verbs::ReceiveBuffer &buffer)
{
	check_stray_invalidation(transport, buffer);
	rpcordma_trace_reply_unmatched(transport.peer(), static_cast<u32>(xid), "no reply awaited");
	if (match == Outstanding::Match::is_withdrawn)
		return;
	transport.statistics().bad_replies++;
	transport.refused("no reply awaited");
	rpcordma_log_peer("%pISpc: a second reply to the call 0x%08x", transport.peer(), static_cast<u32>(xid));
}

[[gnu::noinline]] void unusual_grant(Transport &transport, const proto::ForCall &message, proto::Grant grant)
{
	if (grant == proto::Grant::zero)
		transport.statistics().bad_replies++;
	rpcordma_trace_unusual_grant(transport.peer(), static_cast<u32>(message.xid), message.credits,
				     transport.endpoint().capacity().credits, name_of(grant));
}

/* The responder does not speak the version of the first Call: it is sent in the one that both do. sunrpc notices nothing. */
[[gnu::noinline]] void send_again(Transport &transport, rpc_rqst *rqst, verbs::ReceiveBuffer &buffer)
{
	verbs::SendQueue &sends = transport.endpoint().sends();
	u32 handle;
	/* Where its memory is out of reach, or room is short, another connection does as well: the version is known. */
	verbs::SendBuffer *const message = buffer.invalidated(handle) ? nullptr : sends.begin(1, kernel::GFP_ATTEMPT);
	if (message)
		transport.outstanding().post_again(Request::of(rqst), *message,
						   transport.negotiator().fill_again(message->bytes()));
	else
		transport.give_up("first call cannot be sent again");
	let_go(transport, rqst, buffer);
}

/* Returns whether it is what a Call has waited for: then that needs no other Receive. */
bool take_reply(Transport &transport, const proto::ForCall &message, verbs::ReceiveBuffer &buffer)
{
	const Negotiator::Verdict negotiated = transport.negotiator().take(message);
	/* It is said once, and may be said to a Call that was killed. */
	if (negotiated == Negotiator::Verdict::outdated)
		transport.give_up("version not spoken any more");
	rpc_xprt *const xprt = transport.xprt();
	rpc_rqst *rqst;
	{
		kernel::KernelGuard guard(field::rpc_xprt::queue_lock(xprt));
		rqst = xprt_lookup_rqst(xprt, __builtin_bswap32(static_cast<u32>(message.xid)));
		if (rqst)
			xprt_pin_rqst(rqst);
	}
	if (!rqst) {
		no_call(transport, message.xid, buffer);
		return false;
	}
	if (negotiated == Negotiator::Verdict::again) {
		send_again(transport, rqst, buffer);
		return false;
	}
	if (negotiated == Negotiator::Verdict::outdated) {
		let_go(transport, rqst, buffer);
		return false;
	}

	Request &request = Request::of(rqst);
	const Outstanding::Judgement judgement = transport.outstanding().judge(request, message, buffer);
	if (judgement.match != Outstanding::Match::awaits_it) {
		not_awaited(transport, message.xid, judgement.match, buffer);
		let_go(transport, rqst, buffer);
		return false;
	}
	if (!judgement.invalidation_allowed) [[unlikely]] {
		u32 handle = 0;
		(void)buffer.invalidated(handle);
		transport.statistics().bad_replies++;
		rpcordma_log_peer("%pISpc: the reply to the call 0x%08x invalidates a handle that it did not offer: "
				  "0x%08x",
				  transport.peer(), static_cast<u32>(message.xid), handle);
		invalidation_not_offered(transport, message.xid, handle);
	}
	/* The call goes on waiting: a good Reply may follow, and where none does, the call is sent again when its time is
	 * over, on a new connection (RFC 8166, 4.5). */
	if (!request.verdict) [[unlikely]] {
		transport.statistics().bad_replies++;
		refused(transport, message.xid, name_of(request.verdict.error()));
		let_go(transport, rqst, buffer);
		return false;
	}
	if (judgement.grant != proto::Grant::usual) [[unlikely]]
		unusual_grant(transport, message, judgement.grant);
	/* An error may leave open which version the responder speaks. */
	if (!is_error(*request.verdict)) [[likely]]
		transport.connector().replied();
	trace_accepted(transport, message, *request.verdict, transport.negotiator().highest());
	if (request.advertised.count() == 0)
		deliver(transport, request);
	else
		transport.outstanding().take_back(request);
	return true;
}

void take_option(Transport &transport, const proto::Option &option, wire::Bytes message)
{
	if (option.message.direction == wire::Direction::call)
		transport.reverse().take_option(option.xid, message);
	else
		option.feature->take(option.xid, option.message);
}

/* What is for no Call of ours. */
[[gnu::noinline]] void take_other(Transport &transport, const proto::Received &received, verbs::ReceiveBuffer &buffer)
{
	check_stray_invalidation(transport, buffer);
	if (const auto *const call = std::get_if<proto::Call>(&received))
		transport.reverse().take(*call, buffer.message());
	else if (const auto *const refused_call = std::get_if<proto::Refused>(&received))
		transport.reverse().take(*refused_call, buffer.message());
	else if (const auto *const option = std::get_if<proto::Option>(&received))
		take_option(transport, *option, buffer.message());
	else
		drop(transport, buffer, std::get<proto::Dropped>(received));
	transport.endpoint().receives().give_back(buffer);
}

/* What cannot be decoded may be the refusal of a version that is being negotiated. What can be, and is dropped, is none. */
[[gnu::noinline]] std::optional<proto::ForCall>
refusal_of_version(Transport &transport, const proto::Received &received, const verbs::ReceiveBuffer &buffer)
{
	const auto *const dropped = std::get_if<proto::Dropped>(&received);
	const bool is_undecodable = dropped && (*dropped == proto::Dropped::undecodable_header ||
						*dropped == proto::Dropped::undecodable_error);
	if (transport.negotiator().is_settled() || !is_undecodable)
		return std::nullopt;
	return transport.negotiator().undecodable(buffer.message());
}

} // namespace

void Transport::received(verbs::ReceiveBuffer &buffer) noexcept
{
	RPCORDMA_NOT_ZEROED const proto::Received received =
		proto::classify_received(buffer.message(), negotiator_.highest());
	bool is_awaited = false;
	if (const auto *const message = std::get_if<proto::ForCall>(&received)) [[likely]] {
		tallies_.received(proto::refusal_of(message->body));
		is_awaited = take_reply(*this, *message, buffer);
	} else if (const std::optional<proto::ForCall> refusal = refusal_of_version(*this, received, buffer)) {
		is_awaited = take_reply(*this, *refusal, buffer);
	} else {
		take_other(*this, received, buffer);
	}
	if (!is_awaited) [[unlikely]]
		keep_receives();
}

void Transport::keep_receives() noexcept
{
	(void)endpoint().receives().provide(outstanding_.count() + reverse_.receives(), 0, kernel::GFP_ATTEMPT);
}

} // namespace rpcordma::client
