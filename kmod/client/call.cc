// SPDX-License-Identifier: GPL-2.0-only
/* The way of a Call: planned in proto/, its memory registered, its header encoded, all posted as one chain. With sunrpc's
 * send lock. */
#include <optional>

#include "client/delivery.hh"
#include "client/transport.hh"
#include "kernel/trace.hh"
#include "kernel/xdr_buf.hh"
#include "wire/header.hh"

namespace rpcordma::client {

namespace field = kernel::field;
using proto::CallTransfer;
using proto::ReplyRoom;

namespace {

proto::Reduction reduction_for(const rpc_rqst *rqst)
{
	const rpc_auth *const auth = field::rpc_cred::cr_auth(field::rpc_rqst::rq_cred(rqst));
	return (field::rpc_auth::au_flags(auth) >> kernel::RPCAUTH_AUTH_DATATOUCH & 1) != 0 ?
		       proto::Reduction::forbidden :
		       proto::Reduction::allowed;
}

/* A Call on its way, from sunrpc's buffers to the send queue. */
class OutgoingCall {
    public:
	OutgoingCall(Transport &transport, rpc_rqst *rqst)
		: transport_(transport)
		, endpoint_(transport.endpoint())
		, rqst_(rqst)
		, request_(Request::of(rqst))
	{
	}

	[[nodiscard]] Sent send()
	{
		if (const auto obstacle = prepare())
			return *obstacle;
		if (const auto obstacle = plan())
			return *obstacle;

		const std::uint32_t segments = plan_.read_segments + plan_.room_segments;
		/* A registration, an invalidation for each, and the Send. */
		const std::uint32_t requests = 2 * segments + 1;
		if (segments != 0 && !request_.advertised.take(endpoint_.registrations(), segments))
			return held("registrations", Sent::no_room);
		/* What a Call holds here until its Reply comes must not be in the way of what the responder wants before. */
		verbs::SendBuffer *const buffer =
			endpoint_.sends().begin(requests, kernel::GFP_ATTEMPT, reverse_credits);
		if (!buffer) {
			request_.advertised.put_back(endpoint_.registrations());
			return held("send queue", Sent::no_room);
		}
		verbs::Chain chain;
		request_.withdraw_offer();
		const verbs::Mapped mapped = segments != 0 ? advertise(chain) : verbs::Mapped::yes;
		if (mapped != verbs::Mapped::yes) {
			endpoint_.sends().abandon(*buffer, requests);
			request_.advertised.put_back(endpoint_.registrations());
			/* A Call of the responder's may wait for the room that this gives back. */
			transport_.room();
			return mapped == verbs::Mapped::not_now ? held("mapping", Sent::no_memory) :
								  impossible("mapping");
		}
		if (rpcordma_traces())
			trace_advertised();
		const std::uint32_t size = fill(buffer->bytes());
		transport_.negotiator().sent(xid_of(rqst_), buffer->bytes().first(size));

		count();
		field::rpc_rqst::rq_xtime(rqst_) = ktime_get();
		rpcordma_trace_call_sent(transport_.peer(), xid(), size, segments,
					 static_cast<u32>(field::rpc_rqst::rq_ntrans(rqst_)));
		return transport_.outstanding().post(request_, *buffer, size, chain) ? Sent::yes : Sent::not_connected;
	}

    private:
	[[nodiscard]] u32 xid() const { return static_cast<u32>(xid_of(rqst_)); }

	/* For now: the Call is tried again. */
	[[nodiscard, gnu::noinline]] Sent held(const char *reason, Sent result) const
	{
		transport_.tallies().waits.count(reason);
		rpcordma_trace_call_held(transport_.peer(), xid(), reason);
		return result;
	}

	/* For good. */
	[[nodiscard, gnu::noinline]] Sent impossible(const char *reason) const
	{
		rpcordma_trace_call_impossible(transport_.peer(), xid(), reason);
		return Sent::too_large;
	}

	/* A credit, a Receive for the Reply, and pages for what it brings. Returns what the Call has to wait for. */
	[[nodiscard]] std::optional<Sent> prepare() const
	{
		const auto calls = transport_.outstanding().with_another();
		if (!calls)
			return held("credits", Sent::no_room);
		const std::uint32_t receives = *calls + transport_.reverse().receives();
		if (endpoint_.receives().provide(receives, verbs::receive_batch, kernel::GFP_ATTEMPT) < receives)
			return held("receives", Sent::no_memory);
		xdr_buf &reply = field::rpc_rqst::rq_rcv_buf(rqst_);
		if ((field::xdr_buf::flags(&reply) & kernel::XDRBUF_SPARSE_PAGES) != 0 &&
		    rpcordma_fill_sparse_pages(&reply) != 0)
			return held("pages", Sent::no_memory);
		return std::nullopt;
	}

	/* Returns why it can never be sent. */
	[[nodiscard]] std::optional<Sent> plan()
	{
		/* Not before the Call has its credit: the version may be settled by the Reply that gave that back. */
		terms_ = transport_.negotiator().terms(endpoint_.agreement());
		const xdr_buf &call = field::rpc_rqst::rq_snd_buf(rqst_);
		const xdr_buf &reply = field::rpc_rqst::rq_rcv_buf(rqst_);
		const auto segments_in = [this](const xdr_buf &buffer) {
			return [this, &buffer](proto::Extent extent) {
				return segments_of(buffer, extent, endpoint_.registrations().limits());
			};
		};
		const auto plan = proto::plan_transfer(stream_of(call, kernel::XDRBUF_WRITE), segments_in(call),
						       stream_of(reply, kernel::XDRBUF_READ), segments_in(reply),
						       terms_, reduction_for(rqst_));
		if (!plan)
			return impossible(name_of(plan.error()));
		plan_ = *plan;
		const std::uint32_t reads = plan->read_segments;
		const std::uint32_t room = plan->room_segments;
		if (reads > verbs::most_segments || room > verbs::most_segments ||
		    reads + room > endpoint_.capacity().segments)
			return impossible("too many segments");
		rpcordma_trace_call_planned(transport_.peer(), xid(), name_of(plan->call), name_of(plan->reply),
					    plan->header_size, plan->inline_size, reads, room);
		return std::nullopt;
	}

	[[nodiscard]] verbs::Mapped advertise(verbs::Chain &chain) const
	{
		return request_.advertise(field::rpc_rqst::rq_snd_buf(rqst_), field::rpc_rqst::rq_rcv_buf(rqst_), plan_,
					  endpoint_.registrations().limits(), chain);
	}

	/* Writes the header and what of the Payload stream follows it; returns the size of both. */
	[[nodiscard]] std::uint32_t fill(std::span<std::byte> message) const
	{
		const xdr_buf &call = field::rpc_rqst::rq_snd_buf(rqst_);
		const wire::ChunksToSend chunks = request_.chunks();
		const auto size = wire::encode(message,
					       {xid_of(rqst_), terms_.version, endpoint_.capacity().credits,
						wire::Direction::call, plan_.call == CallTransfer::position_zero},
					       chunks);
		if (!size || *size != plan_.header_size)
			bug("the plan's header size");

		std::byte *const payload = message.data() + plan_.header_size;
		switch (plan_.call) {
		case CallTransfer::inline_message:
			kernel::copy_out(call, 0, {payload, plan_.inline_size});
			break;
		case CallTransfer::read_chunk: {
			const auto head = static_cast<std::uint32_t>(field::xdr_buf::head_length(&call));
			const auto *const tail = static_cast<const std::byte *>(field::xdr_buf::tail(&call));
			__builtin_memcpy(payload, field::xdr_buf::head(&call), head);
			/* Mostly there is nothing behind the pages. */
			if (plan_.inline_size != head)
				__builtin_memcpy(payload + head, tail + plan_.tail_skip, plan_.inline_size - head);
			break;
		}
		case CallTransfer::position_zero:
			break;
		}
		return plan_.header_size + plan_.inline_size;
	}

	void trace_advertised() const
	{
		const auto trace = [&](const char *chunk, u32 position, const wire::Segment &segment) {
			rpcordma_trace_segment_advertised(transport_.peer(), xid(), chunk, position, segment.length,
							  segment.offset, static_cast<u32>(segment.handle));
		};
		for (const wire::ReadSegment &segment : request_.reads())
			trace(name_of(plan_.call), static_cast<u32>(segment.position), segment.target);
		for (const wire::Segment &segment : request_.room())
			trace(name_of(plan_.reply), 0, segment);
	}

	void count() const
	{
		Statistics &statistics = transport_.statistics();
		if (field::rpc_rqst::rq_ntrans(rqst_) > 1)
			statistics.retransmissions++;
		statistics.pulled_up += plan_.inline_size;
		if (plan_.read_segments + plan_.room_segments != 0)
			count_chunks(statistics);
	}

	void count_chunks(Statistics &statistics) const
	{
		statistics.read_chunks += plan_.read_segments;
		for (const wire::ReadSegment &segment : request_.reads())
			statistics.read_chunk_bytes += segment.target.length;
		/* As the in-tree module counts: the room that is offered, not what Read chunks hold. */
		for (const wire::Segment &segment : request_.room())
			statistics.request_bytes += segment.length;
		(plan_.reply == ReplyRoom::write_chunk ? statistics.write_chunks : statistics.reply_chunks) +=
			plan_.room_segments;
		if (plan_.call == CallTransfer::position_zero)
			statistics.nomsg_calls++;
	}

	Transport &transport_;
	verbs::Endpoint &endpoint_;
	rpc_rqst *const rqst_;
	Request &request_;
	proto::Terms terms_{};
	proto::Plan plan_{};
};

} // namespace

int Transport::send(rpc_rqst *rqst) noexcept
{
	if (!rpcordma_xprt_connected(xprt_))
		return -kernel::ENOTCONN;
	/* What has no buffer of ours is a Reply of the reverse direction. */
	if (!field::rpc_rqst::rq_buffer(rqst))
		return reverse_.send(rqst);
	/* A Call that is sent again on the same connection would take a second credit for one reply. */
	if (field::rpc_rqst::rq_connect_cookie(rqst) == field::rpc_xprt::connect_cookie(xprt_)) {
		rpcordma_trace_disconnect(peer(), "retransmission", "");
		connector_.close("retransmission");
		return -kernel::ENOTCONN;
	}

	const std::uint32_t seen = room_events_.load_acquire();
	switch (OutgoingCall(*this, rqst).send()) {
	case Sent::yes:
		break;
	case Sent::no_room:
		statistics_.no_send_room++;
		xprt_wait_for_buffer_space(xprt_);
		/* One since the attempt may have been what it waits for. room() counts before it looks for who waits. */
		kernel::smp_mb_after_atomic();
		if (room_events_.read() != seen)
			xprt_write_space(xprt_);
		return -kernel::EAGAIN;
	case Sent::no_memory:
		return -kernel::ENOBUFS;
	case Sent::too_large:
		return fail_unsent(*this, rqst);
	case Sent::not_connected:
		connector_.close("not sent");
		return -kernel::ENOTCONN;
	}
	field::rpc_rqst::rq_xmit_bytes_sent(rqst) += field::xdr_buf::len(&field::rpc_rqst::rq_snd_buf(rqst));
	/* No reply, no credit back: only a new connection makes up for that. */
	if (!rpcordma_reply_expected(field::rpc_rqst::rq_task(rqst)))
		give_up("call without a reply");
	return 0;
}

} // namespace rpcordma::client
