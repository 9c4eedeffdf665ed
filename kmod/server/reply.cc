// SPDX-License-Identifier: GPL-2.0-only
/* The way of a Reply: planned in proto/, its chunks written, its message sent, all posted as one chain. */
#include <algorithm>

#include "kernel/trace.hh"
#include "server/connection.hh"
#include "wire/header.hh"

namespace rpcordma::server {

namespace field = kernel::field;

namespace {

/* nfsd names the result of NFSv4's READLINK by the offset of its count, and every other by that of its first byte. The
 * text of a link is shorter than a page (PATH_MAX). */
void correct_offsets(std::span<proto::Item> items, const xdr_buf &reply) noexcept
{
	constexpr std::size_t unit = wire::xdr_unit;
	for (proto::Item &item : items) {
		if (item.length == 0 || item.length >= proto::page_size || item.offset < unit)
			continue;
		std::array<std::byte, 2 * unit> words{};
		read_bytes_from_xdr_buf(&reply, item.offset - unit, words.data(), words.size());
		const std::span<const std::byte, 2 * unit> both(words);
		if (proto::begins_at_its_count(item, wire::load_u32(both.first<unit>()),
					       wire::load_u32(both.last<unit>())))
			item.offset += unit;
	}
}

} // namespace

void Connection::add_item(svc_rqst *rqst, proto::Item item) noexcept
{
	auto &call = *static_cast<ServedCall *>(field::svc_rqst::rq_xprt_ctxt(rqst));
	if (call.may_reduce)
		call.items.add(item, call.call.chunks.writes);
}

int Connection::send(svc_rqst *rqst) noexcept
{
	const kernel::Visit visit(gate_);
	if (!visit)
		return -kernel::ENOTCONN;
	auto &call = *static_cast<ServedCall *>(field::svc_rqst::rq_xprt_ctxt(rqst));
	const std::uint32_t reply_size = field::xdr_buf::len(&field::svc_rqst::rq_res(rqst));
	/* The upper layer may have named an item, and given it up for lack of room. */
	call.items.end_at(reply_size);
	correct_offsets(call.items.span(), field::svc_rqst::rq_res(rqst));
	const std::span<const proto::Item> items = call.items.span();

	const auto plan = proto::plan_reply(reply_size, call.items, call.call.chunks,
					    endpoint_->agreement().inline_thresholds.reply);
	if (!plan) {
		rpcordma_trace_call_refused(peer(), static_cast<u32>(call.call.xid), name_of(plan.error()));
		refuse(proto::Refused{call.call.xid, RPCRDMA_V1, proto::Refusal::malformed},
		       std::exchange(call.is_outstanding, false));
		return 0;
	}
	Push *push = nullptr;
	const bool writes =
		plan->transfer == proto::ReplyTransfer::long_reply ||
		std::any_of(items.begin(), items.end(), [](const proto::Item &item) { return item.length != 0; });
	if (writes) {
		push = make_push(call.call.xid);
		if (!push) {
			endpoint_->lose("memory", "for a reply");
			return -kernel::ENOTCONN;
		}
		push->transaction = call.transaction;
	}
	if (transmit(call, rqst, *plan, push))
		return 0;
	endpoint_->lose("memory", "for a reply");
	return -kernel::ENOTCONN;
}

/* False where there is no memory. */
bool Connection::transmit(ServedCall &call, svc_rqst *rqst, const proto::ReplyPlan &plan, Push *push) noexcept
{
	const xdr_buf &reply = field::svc_rqst::rq_res(rqst);
	if (push && !make_writes(*push, call, reply, plan))
		return false;
	verbs::SendBuffer *const message = endpoint_->sends().take(kernel::GFP_KERNEL);
	if (!message)
		return false;
	const std::uint32_t size = fill(call, reply, plan, message->bytes());
	std::optional<u32> invalidate;
	if (endpoint_->agreement().remote_invalidation) {
		if (const auto handle = proto::handle_to_invalidate(call.call.chunks))
			invalidate = std::to_underlying(*handle);
	}
	rpcordma_trace_reply_sent(peer(), static_cast<u32>(call.call.xid), name_of(plan.transfer), size,
				  field::xdr_buf::len(&reply), push ? push->transfers.size() : 0,
				  invalidate.value_or(0));
	if (!push)
		return transmit(*message, size, call.call.xid, invalidate);
	hold_pages(*push, rqst);
	push->message = message;
	push->message_size = size;
	push->invalidate = invalidate;
	outbox_.put(*push);
	return true;
}

/* Sends a message by itself; false where it would have to wait, and there is no memory for that. */
bool Connection::transmit(verbs::SendBuffer &message, std::uint32_t size, wire::Xid xid,
			  std::optional<u32> invalidate) noexcept
{
	if (outbox_.post(message, size, invalidate))
		return true;
	Push *const push = make_push(xid);
	if (!push) {
		endpoint_->sends().abandon(message, 0);
		return false;
	}
	push->message = &message;
	push->message_size = size;
	push->invalidate = invalidate;
	outbox_.put(*push);
	return true;
}

/* Keeps the pages of a Reply from the thread, which would use them for the next. Nothing of them is left to be copied. */
void Connection::hold_pages(Push &push, svc_rqst *rqst) noexcept
{
	page **const pages = field::svc_rqst::rq_respages(rqst);
	page **const end = std::exchange(field::svc_rqst::rq_next_page(rqst), pages);
	if (end != pages)
		push.pages.take(pages, static_cast<std::uint32_t>(end - pages));
}

/* Writes the header, and what follows it in a short Reply. */
std::uint32_t Connection::fill(ServedCall &call, const xdr_buf &reply, const proto::ReplyPlan &plan,
			       std::span<std::byte> message) noexcept
{
	std::array<std::uint32_t, proto::ReducedItems::most> written;
	const std::span<const proto::Item> items = call.items.span();
	std::transform(items.begin(), items.end(), written.begin(),
		       [](const proto::Item &item) { return item.length; });

	const bool is_long = plan.transfer == proto::ReplyTransfer::long_reply;
	const wire::ReturnedChunks chunks{call.call.chunks.writes, std::span(written).first(items.size()),
					  call.call.chunks.reply, is_long ? plan.reduced_size : 0};
	const std::uint32_t credits = settle(std::exchange(call.is_outstanding, false));
	const auto header = is_long ? wire::encode_returned_nomsg(message, call.call.xid, credits, chunks) :
				      wire::encode_returned_msg(message, call.call.xid, credits, chunks);
	/* The plan has made sure of it. */
	if (!header)
		bug("a reply's header is too long");
	auto size = static_cast<std::uint32_t>(*header);
	if (is_long)
		return size;
	proto::Remainder remainder(field::xdr_buf::len(&reply), items);
	while (const auto stretch = remainder.next()) {
		read_bytes_from_xdr_buf(&reply, stretch->offset, message.subspan(size, stretch->length).data(),
					stretch->length);
		size += stretch->length;
	}
	return size;
}

Push *Connection::make_push(wire::Xid xid) noexcept
{
	Push *push;
	{
		kernel::Guard guard(lock_);
		push = free_pushes_.pop_front();
	}
	if (!push)
		push = new (kernel::GFP_KERNEL) Push(*this, [](verbs::Signal &signal) noexcept {
			Push &done = static_cast<Push &>(signal);
			done.owner.pushed(done);
		});
	if (!push)
		return nullptr;
	push->xid = xid;
	push->transaction = {};
	kernel::Guard guard(lock_);
	pushing_.push_back(*push);
	return push;
}

/* The RDMA Writes of a Reply. */
bool Connection::make_writes(Push &push, const ServedCall &call, const xdr_buf &reply,
			     const proto::ReplyPlan &plan) noexcept
{
	const std::span<const proto::Item> items = call.items.span();
	auto chunk = call.call.chunks.writes.begin();
	for (const proto::Item &item : items) {
		if (!write_chunk(push, *chunk, StreamReader(reply, item), item.length))
			return false;
		++chunk;
	}
	const std::optional<wire::WriteChunk> &room = call.call.chunks.reply;
	if (plan.transfer == proto::ReplyTransfer::short_reply || !room)
		return true;
	const proto::Remainder remainder(field::xdr_buf::len(&reply), items);
	return write_chunk(push, *room, StreamReader(reply, remainder), plan.reduced_size);
}

bool Connection::write_chunk(Push &push, const wire::WriteChunk &chunk, StreamReader source,
			     std::uint32_t length) noexcept
{
	/* Each border of head, pages and tail adds a piece to those between pages, and so does each item that was taken out. */
	const std::uint32_t most_borders = 4 + source.most_gaps();

	const auto next = [&source](std::uint32_t left) { return source.next(left); };
	return proto::for_each_written(chunk, length, [&](const wire::Segment &segment) {
		const verbs::Remote remote{endpoint_->queue_pair(), endpoint_->port(), segment,
					   verbs::Direction::write};
		rpcordma_svc_count(RPCORDMA_SVC_WRITES);
		return transfers_.append(remote,
					 std::min(segment.length, segment.length / proto::page_size + most_borders),
					 kernel::GFP_KERNEL, next, push.transfers);
	});
}

/* In the context of the completion queue. */
void Connection::pushed(Push &push) noexcept
{
	remember_failure(push);
	transfers_.finish(push.transfers);
	push.pages.release();
	{
		kernel::Guard guard(lock_);
		pushing_.remove(push);
		free_pushes_.push_front(push);
	}
	outbox_.room();
}

} // namespace rpcordma::server
