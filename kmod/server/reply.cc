// SPDX-License-Identifier: GPL-2.0-only
#include "server/reply.hh"

#include <algorithm>

#include "kernel/page.hh"
#include "kernel/trace.hh"
#include "kernel/xdr_buf.hh"
#include "server/connection.hh"
#include "server/stream.hh"
#include "wire/header.hh"

namespace rpcordma::server {

namespace field = kernel::field;

namespace {

/* nfsd names the result of NFSv4's READLINK by the offset of its count, and every other by that of its first byte. The
 * text of a link is shorter than PATH_MAX. */
void correct_offsets(std::span<proto::Item> items, const xdr_buf &reply) noexcept
{
	constexpr std::size_t unit = wire::xdr_unit;
	for (proto::Item &item : items) {
		if (item.length == 0 || item.length >= kernel::PATH_MAX || item.offset < unit)
			continue;
		std::array<std::byte, 2 * unit> words{};
		read_bytes_from_xdr_buf(&reply, item.offset - unit, words.data(), words.size());
		const std::span<const std::byte, 2 * unit> both(words);
		if (proto::begins_at_its_count(item, wire::load_u32(both.first<unit>()),
					       wire::load_u32(both.last<unit>())))
			item.offset += unit;
	}
}

/* Whether RDMA Writes read something that is not in the pages of the Payload stream: head and tail are in the first page of a Reply. */
bool write_first_page(const xdr_buf &reply, const proto::ReplyPlan &plan, std::span<const proto::Item> items) noexcept
{
	const std::size_t head = field::xdr_buf::head_length(&reply);
	const std::size_t end = head + field::xdr_buf::page_len(&reply);
	return plan.transfer == proto::ReplyTransfer::long_reply ||
	       std::any_of(items.begin(), items.end(), [=](const proto::Item &item) {
		       return item.length != 0 && (item.offset < head || item.offset + item.length > end);
	       });
}

/* Keeps the pages that RDMA Writes read from the thread, which would use them for the next Reply. Nothing of them is left to be
 * copied. */
void hold_pages(Push &push, svc_rqst *rqst, std::uint32_t first) noexcept
{
	const std::uint32_t count = rpcordma_svc_reply_pages(rqst);
	if (count > first)
		push.pages.take(rpcordma_svc_reply_pages_to_take(rqst) + first, count - first);
}

} // namespace

Replies::Replies(Connection &connection) noexcept
	: connection_(connection)
{
}

void Replies::add_item(svc_rqst *rqst, proto::Item item) noexcept
{
	auto &call = *static_cast<ServedCall *>(field::svc_rqst::rq_xprt_ctxt(rqst));
	if (call.may_reduce)
		call.items.add(item, call.call.chunks.writes);
}

int Replies::send(svc_rqst *rqst) noexcept
{
	const kernel::Visit visit(connection_.gate());
	if (!visit)
		return -kernel::ENOTCONN;
	auto &call = *static_cast<ServedCall *>(field::svc_rqst::rq_xprt_ctxt(rqst));
	const std::uint32_t reply_size = field::xdr_buf::len(&field::svc_rqst::rq_res(rqst));
	/* The upper layer may have named an item, and given it up for lack of room. */
	call.items.end_at(reply_size);
	correct_offsets(call.items.span(), field::svc_rqst::rq_res(rqst));
	const auto plan =
		proto::plan_reply(reply_size, call.items, call.call.chunks, call.call.version,
				  connection_.endpoint().agreement().terms(call.call.version).thresholds.reply);
	if (!plan) {
		refuse(call, name_of(plan.error()));
		return 0;
	}
	if (transmit(call, rqst, *plan))
		return 0;
	connection_.endpoint().lose("memory", "for a reply");
	return -kernel::ENOTCONN;
}

bool Replies::transmit(ServedCall &call, svc_rqst *rqst, const proto::ReplyPlan &plan) noexcept
{
	verbs::Endpoint &endpoint = connection_.endpoint();
	const xdr_buf &reply = field::svc_rqst::rq_res(rqst);
	const std::span<const proto::Item> items = call.items.span();
	const bool writes =
		plan.transfer == proto::ReplyTransfer::long_reply ||
		std::any_of(items.begin(), items.end(), [](const proto::Item &item) { return item.length != 0; });
	Push *const push = writes ? make_push(call.call.xid) : nullptr;
	if (push)
		push->transaction = call.transaction;
	Written written;
	if (writes && (!push || !push->pages.make_room(rpcordma_svc_reply_pages(rqst)) ||
		       !make_writes(*push, call, reply, plan, written)))
		return false;
	verbs::SendBuffer *const message = endpoint.sends().take(kernel::GFP_KERNEL);
	if (!message)
		return false;
	std::optional<u32> invalidate;
	if (endpoint.agreement().remote_invalidation && call.call.chunks.any()) {
		if (const auto handle = proto::handle_to_invalidate(call.call.chunks))
			invalidate = std::to_underlying(*handle);
	}
	written.invalidations = invalidate ? 1 : 0;
	const std::uint32_t size = fill(call, reply, plan, writes || invalidate ? &written : nullptr, message->bytes());
	rpcordma_trace_reply_sent(connection_.peer(), static_cast<u32>(call.call.xid), name_of(plan.transfer), size,
				  field::xdr_buf::len(&reply), push ? push->transfers.size() : 0,
				  invalidate.value_or(0));
	if (push)
		hold_pages(*push, rqst, write_first_page(reply, plan, items) ? 0 : 1);
	rpcordma_svc_keep_reply_pages(rqst);
	return post(*message, size, call.call.xid, invalidate, push);
}

/* Posts a message, with the RDMA Writes of `push` if there are any. A message alone becomes a Push where it has to wait. */
bool Replies::post(verbs::SendBuffer &message, std::uint32_t size, wire::Xid xid, std::optional<u32> invalidate,
		   Push *push) noexcept
{
	if (!push && connection_.postings().post(message, size, invalidate))
		return true;
	if (!push)
		push = make_push(xid);
	if (!push) {
		connection_.endpoint().sends().abandon(message, 0);
		return false;
	}
	push->message = &message;
	push->message_size = size;
	push->invalidate = invalidate;
	connection_.postings().put(*push);
	return true;
}

/* Writes the header, and what follows it in a short Reply. */
std::uint32_t Replies::fill(ServedCall &call, const xdr_buf &reply, const proto::ReplyPlan &plan, const Written *writes,
			    std::span<std::byte> message) noexcept
{
	RPCORDMA_NOT_ZEROED std::array<std::uint32_t, proto::ReducedItems::most> written;
	const std::span<const proto::Item> items = call.items.span();
	std::transform(items.begin(), items.end(), written.begin(),
		       [](const proto::Item &item) { return item.length; });

	const bool is_long = plan.transfer == proto::ReplyTransfer::long_reply;
	RPCORDMA_NOT_ZEROED const wire::ReturnedChunks chunks{call.call.chunks.writes,
							      std::span(written).first(items.size()),
							      call.call.chunks.reply, is_long ? plan.reduced_size : 0};
	const Backlog::Answer answer{call, is_long ? 0 : plan.reduced_size, writes};
	const std::uint32_t credits =
		connection_.calls().backlog().settle(std::exchange(call.is_outstanding, false), &answer);
	const auto header = wire::encode(
		message, {call.call.xid, call.call.version, credits, wire::Direction::reply, is_long}, chunks);
	/* The plan has made sure of it. */
	if (!header)
		bug("a reply's header is too long");
	auto size = static_cast<std::uint32_t>(*header);
	if (is_long)
		return size;
	proto::Remainder remainder(field::xdr_buf::len(&reply), items);
	while (const auto stretch = remainder.next()) {
		kernel::copy_out(reply, stretch->offset, message.subspan(size, stretch->length));
		size += stretch->length;
	}
	return size;
}

Push *Replies::make_push(wire::Xid xid) noexcept
{
	const auto take = [this](Push *made) noexcept {
		kernel::Guard guard(lock_);
		Push *const push = made ? made : free_.take();
		if (push)
			pushing_.push_back(*push);
		return push;
	};
	Push *push = take(nullptr);
	if (!push) {
		auto *const made = new (kernel::GFP_KERNEL) Push(connection_, [](verbs::Signal &signal) noexcept {
			Push &done = static_cast<Push &>(signal);
			done.owner.replies().pushed(done);
		});
		if (!made)
			return nullptr;
		push = take(made);
	}
	push->xid = xid;
	push->transaction = {};
	return push;
}

/* The RDMA Writes of a Reply. */
bool Replies::make_writes(Push &push, const ServedCall &call, const xdr_buf &reply, const proto::ReplyPlan &plan,
			  Written &written) noexcept
{
	const std::span<const proto::Item> items = call.items.span();
	auto chunk = call.call.chunks.writes.begin();
	for (const proto::Item &item : items) {
		if (!write_chunk(push, *chunk, StreamReader(reply, item), item.length, written.write_chunks))
			return false;
		++chunk;
	}
	const std::optional<wire::WriteChunk> &room = call.call.chunks.reply;
	if (plan.transfer == proto::ReplyTransfer::short_reply || !room)
		return true;
	const proto::Remainder remainder(field::xdr_buf::len(&reply), items);
	return write_chunk(push, *room, StreamReader(reply, remainder), plan.reduced_size, written.reply_chunk);
}

bool Replies::write_chunk(Push &push, const wire::WriteChunk &chunk, StreamReader source, std::uint32_t length,
			  Moved &moved) noexcept
{
	/* Each border of head, pages and tail adds a piece to those between pages, and so does each item that was taken out. */
	const std::uint32_t most_borders = 4 + source.most_gaps();

	const auto next = [&source](std::uint32_t left) { return source.next(left); };
	return proto::for_each_written(chunk, length, [&](const wire::Segment &segment) {
		rpcordma_svc_count(RPCORDMA_SVC_WRITES);
		moved.add(segment.length);
		const std::uint32_t pieces =
			std::min(segment.length, segment.length / kernel::page_size + most_borders);
		return connection_.postings().append(segment, verbs::Direction::write, pieces, next, push.transfers);
	});
}

bool Replies::trim() noexcept
{
	kernel::List<Push> unneeded;
	bool is_more;
	{
		kernel::Guard guard(lock_);
		is_more = free_.give_up(unneeded);
	}
	unneeded.delete_all();
	return is_more;
}

/* In the context of the completion queue. */
void Replies::pushed(Push &push) noexcept
{
	connection_.postings().done(push);
	push.pages.release();
	{
		kernel::Guard guard(lock_);
		pushing_.remove(push);
		free_.put(push);
	}
	connection_.postings().room();
}

void Replies::refuse(ServedCall &call, const char *reason) noexcept
{
	rpcordma_trace_call_refused(connection_.peer(), static_cast<u32>(call.call.xid), reason);
	connection_.refused(reason);
	refuse(proto::Refused{call.call.xid, std::to_underlying(call.call.version), proto::Refusal::malformed},
	       std::exchange(call.is_outstanding, false));
}

void Replies::refuse(const proto::Refused &message, bool is_outstanding) noexcept
{
	connection_.tallies().errors_sent.count(name_of(message.with));
	rpcordma_svc_count(RPCORDMA_SVC_ERRORS_SENT);
	rpcordma_trace_error_sent(connection_.peer(), static_cast<u32>(message.xid), name_of(message.with),
				  message.version);
	answer(message.xid, is_outstanding, [&](std::span<std::byte> room, std::uint32_t credits) {
		return proto::encode_refusal(room, message, credits, connection_.highest_version());
	});
}

void Replies::answer(const proto::Option &option) noexcept
{
	answer(option.xid, true, [&](std::span<std::byte> room, std::uint32_t credits) {
		return proto::answer_option(room, option, credits);
	});
}

template <typename Encode> void Replies::answer(wire::Xid xid, bool is_outstanding, Encode encode) noexcept
{
	verbs::SendBuffer *const buffer = connection_.endpoint().sends().take(kernel::GFP_KERNEL);
	if (!buffer)
		return connection_.endpoint().lose("memory", "for a message");
	const std::uint32_t credits = connection_.calls().backlog().settle(is_outstanding, nullptr);
	const wire::Result<std::size_t> size = encode(buffer->bytes(), credits);
	/* The smallest of messages fits the smallest of buffers. */
	if (!post(*buffer, static_cast<std::uint32_t>(size.value_or(0)), xid, {}, nullptr))
		connection_.endpoint().lose("memory", "for a message");
}

void Replies::clear() noexcept
{
	kernel::Guard guard(lock_);
	while (Push *const push = pushing_.pop_front()) {
		connection_.postings().finish(push->transfers);
		if (push->message)
			connection_.endpoint().sends().abandon(*push->message, 0);
		delete push;
	}
}

} // namespace rpcordma::server
