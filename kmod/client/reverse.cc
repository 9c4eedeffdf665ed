// SPDX-License-Identifier: GPL-2.0-only
/* The reverse direction: Calls of the responder's on our connection (RFC 8167), such as NFSv4.1's callbacks. Their chunks are
 * read and written, within bounds that the forward direction does not feel. */
#include "client/reverse.hh"

#include <algorithm>

#include "client/transport.hh"
#include "kernel/trace.hh"
#include "proto/response.hh"
#include "proto/reverse.hh"
#include "wire/header.hh"

namespace rpcordma::client {

namespace field = kernel::field;

namespace {

/* How long a service may take to be done with what it was given. */
constexpr unsigned long service_patience = 30 * kernel::HZ;
/* The largest Payload stream of a Call, in bytes: callbacks take a few hundred. */
constexpr std::uint32_t largest_stream = 16 * proto::page_size;
/* Why a connection is closed on which a Call cannot be answered. */
constexpr const char *no_memory = "no memory for the reverse direction";

/* Goes through memory that is in one piece, page by page. */
class BlockReader {
    public:
	explicit BlockReader(const std::byte *at) noexcept
		: at_(at)
	{
	}
	verbs::PagePiece operator()(std::uint32_t most) noexcept
	{
		const auto in_page =
			static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(at_) % proto::page_size);
		const verbs::PagePiece piece{rpcordma_page_of(at_), in_page,
					     std::min(most, proto::page_size - in_page)};
		at_ += piece.length;
		return piece;
	}

    private:
	const std::byte *at_;
};

} // namespace

ReverseResponder::ReverseResponder(Transport &owner) noexcept
	: owner_(owner)
{
	rpc_init_wait_queue(replies_.get(), "reverse replies");
}

ReverseResponder::~ReverseResponder()
{
	rpc_destroy_wait_queue(replies_.get());
	free_.delete_all();
}

std::uint32_t ReverseResponder::wanted_receives() noexcept
{
	kernel::Guard guard(lock_);
	awaited_ = sessions_ != 0;
	return receives();
}

void ReverseResponder::connected() noexcept
{
	kernel::Guard guard(lock_);
	unanswered_ = 0;
	connection_++;
}

void ReverseResponder::room() noexcept
{
	if (waits_.load()) [[unlikely]]
		post();
}

/* A Call beyond the credits that were granted is dropped. Any other is answered, or the connection is closed, which tells the
 * responder that no answer comes (rfc5666bis-04, 5.5.4). */
void ReverseResponder::take(const proto::Call &call, wire::Bytes message) noexcept
{
	if (!take_credit())
		return rpcordma_trace_reverse_call_dropped(owner_.peer(), static_cast<u32>(call.xid),
							   "credits or memory");
	ReverseRequest *const request = make_request(message.size());
	if (!request) {
		rpcordma_trace_reverse_call_dropped(owner_.peer(), static_cast<u32>(call.xid), "credits or memory");
		return owner_.give_up(no_memory);
	}
	request->hold(message);
	const wire::Chunks &chunks = request->call().chunks;
	if (chunks.any() && !has_session())
		return refuse(*request, ReverseRequest::Refusal::chunks, "chunks for nobody");
	if (!chunks.reads.empty() && owner_.endpoint_->reads() == 0)
		return refuse(*request, ReverseRequest::Refusal::chunks, "no RDMA Reads are offered");
	const auto assembly = proto::Assembly::of(
		request->call(), {.stream = largest_stream,
				  .segments = most_reverse_segments,
				  .room_segments = most_reverse_segments,
				  .reply_threshold = owner_.endpoint_->agreement().inline_thresholds.call,
				  .eligible_only = true});
	if (!assembly)
		return refuse(*request, ReverseRequest::Refusal::chunks, name_of(assembly.error()));
	rpcordma_trace_reverse_call_received(owner_.peer(), static_cast<u32>(call.xid), name_of(assembly->shape()),
					     call.credits, static_cast<u32>(call.payload.size()), chunks.reads.count(),
					     assembly->size());
	if (assembly->shape() == proto::CallShape::in_message)
		return serve(*request);
	pull(*request, *assembly);
}

bool ReverseResponder::take_credit() noexcept
{
	kernel::Guard guard(lock_);
	if (unanswered_ == reverse_credits)
		return false;
	unanswered_++;
	return true;
}

/* One for a message of that size, whose credit is taken; null, with the credit given back, where there is none. */
ReverseRequest *ReverseResponder::make_request(std::size_t size) noexcept
{
	ReverseRequest *request = nullptr;
	bool may_have_one;
	{
		kernel::Guard guard(lock_);
		may_have_one = in_use_ < most_reverse_requests;
		if (may_have_one) {
			in_use_++;
			request = free_.pop_front();
		}
	}
	if (request && request->size() < size) {
		delete request;
		request = nullptr;
	}
	if (!request && may_have_one)
		request = ReverseRequest::make(*this, size, kernel::GFP_ATTEMPT);
	kernel::Guard guard(lock_);
	if (request) {
		request->holds_credit_ = true;
		request->connection_ = connection_;
		return request;
	}
	unanswered_--;
	if (may_have_one)
		in_use_--;
	return nullptr;
}

/* Before its answer is sent: the responder may make use of the credit as soon as it has that. */
void ReverseResponder::give_credit_back(ReverseRequest &request) noexcept
{
	if (std::exchange(request.holds_credit_, false) && request.connection_ == connection_)
		unanswered_--;
}

bool ReverseResponder::has_session() noexcept
{
	kernel::Guard guard(lock_);
	return sessions_ != 0;
}

void ReverseResponder::pull(ReverseRequest &request, const proto::Assembly &assembly) noexcept
{
	if (!request.make_room(assembly.size(), kernel::GFP_ATTEMPT))
		return lose(request);
	std::byte *const stream = request.moved_.data();
	proto::Pieces pieces = assembly.pieces();
	while (const auto piece = pieces.next()) {
		std::byte *const to = stream + piece->offset;
		if (const auto *const bytes = std::get_if<wire::Bytes>(&piece->source)) {
			__builtin_memcpy(to, bytes->data(), bytes->size());
		} else if (!move(request, std::get<wire::Segment>(piece->source), BlockReader(to),
				 verbs::Direction::read)) {
			return lose(request);
		}
	}
	if (!prepare(request))
		return lose(request);
	if (verbs::requests_of(request.transfers_) > owner_.endpoint_->sends().longest_chain())
		return refuse(request, ReverseRequest::Refusal::chunks, "too many segments");
	verbs::Chain chain = verbs::chain_of(request.transfers_);
	request.watch(owner_.endpoint_->sends(), chain);
	request.reads_ = chain;
	wait_for_room(request, ReverseRequest::State::pulling);
}

void ReverseResponder::wait_for_room(ReverseRequest &request, ReverseRequest::State state) noexcept
{
	{
		kernel::Guard guard(lock_);
		request.state_ = state;
		waiting_.push_back(request);
		waits_.store(true);
	}
	post();
}

/* Makes an RDMA Read or Write. There is one of the connection's for each segment of each request. */
template <typename Next>
bool ReverseResponder::move(ReverseRequest &request, const wire::Segment &segment, Next next,
			    verbs::Direction direction) noexcept
{
	const verbs::Remote remote{owner_.endpoint_->queue_pair(), owner_.endpoint_->port(), segment, direction};
	return transfers_.append(remote, segment.length / proto::page_size + 2, kernel::GFP_ATTEMPT, next,
				 request.transfers_);
}

/* Maps the memory of all of them. */
bool ReverseResponder::prepare(ReverseRequest &request) noexcept
{
	/* The kernel's helper allocates as if it might wait for memory, which may take a Reply that comes by this context. */
	const unsigned int scope = rpcordma_reclaim_scope_enter(owner_.carries_swap());
	const int error = verbs::prepare(request.transfers_);
	rpcordma_reclaim_scope_leave(scope);
	return error == 0;
}

/* Posts what the send queue has room for now. The rest has its turn when there is more. */
void ReverseResponder::post() noexcept
{
	for (;;) {
		ReverseRequest *request;
		{
			kernel::Guard guard(lock_);
			request = waiting_.front();
			if (!request)
				return waits_.store(false);
			const bool is_refused = request->state_ == ReverseRequest::State::refused;
			if (!owner_.endpoint_->sends().reserve(is_refused ? 1 : request->reads_.count))
				return;
			waiting_.remove(*request);
			if (!is_refused) {
				moving_.push_back(*request);
				/* Where it fails, the connection is being closed: sweep() will come by. */
				(void)owner_.endpoint_->sends().post(request->reads_, *request);
				continue;
			}
		}
		send_refusal(*request);
		keep(*request);
	}
}

/* In the context of the completion queue. */
void ReverseResponder::moved(ReverseRequest &request) noexcept
{
	transfers_.finish(request.transfers_);
	bool is_pulled;
	{
		kernel::Guard guard(lock_);
		moving_.remove(request);
		is_pulled = request.state_ == ReverseRequest::State::pulling;
		if (request.state_ == ReverseRequest::State::released)
			recycle(request);
		else
			request.state_ = ReverseRequest::State::served;
	}
	if (!is_pulled)
		return;
	if (owner_.endpoint_->is_lost())
		return drop(request, "connection lost");
	serve(request);
}

void ReverseResponder::serve(ReverseRequest &request) noexcept
{
	if (!proto::payload_is_call(request.stream(), request.call().xid))
		return refuse(request, ReverseRequest::Refusal::chunks, "no call with the XID of the header");
	rpc_rqst *const rqst = request.give(owner_.xprt_);
	bool served;
	{
		/* The service does not end while there is a session: see close(). */
		kernel::Guard guard(lock_);
		served = sessions_ != 0 && rpcordma_reverse_enqueue(owner_.xprt_, rqst);
	}
	if (!served)
		refuse(request, ReverseRequest::Refusal::unserved, "nobody serves it");
}

/* Answers it when there is room for that: it keeps its credit until then, so that few wait. */
void ReverseResponder::refuse(ReverseRequest &request, ReverseRequest::Refusal refusal, const char *reason) noexcept
{
	rpcordma_trace_reverse_call_dropped(owner_.peer(), static_cast<u32>(request.call().xid), reason);
	transfers_.finish(request.transfers_);
	request.refusal_ = refusal;
	wait_for_room(request, ReverseRequest::State::refused);
}

/* There is no memory to carry it out, and waiting for some is not for this context. */
void ReverseResponder::lose(ReverseRequest &request) noexcept
{
	drop(request, "credits or memory");
	owner_.give_up(no_memory);
}

void ReverseResponder::drop(ReverseRequest &request, const char *reason) noexcept
{
	rpcordma_trace_reverse_call_dropped(owner_.peer(), static_cast<u32>(request.call().xid), reason);
	transfers_.finish(request.transfers_);
	keep(request);
}

/* A responder cannot make a connection: this one stays while it may have something to say (RFC 8167, 5.4). */
void ReverseResponder::open(unsigned int sessions) noexcept
{
	kernel::Guard guard(lock_);
	if (sessions_ == 0)
		idle_timeout_ = std::exchange(field::rpc_xprt::idle_timeout(owner_.xprt_), 0);
	sessions_ += sessions;
	awaited_ = true;
}

void ReverseResponder::close(unsigned int sessions) noexcept
{
	kernel::Completion idle;
	{
		kernel::Guard guard(lock_);
		if (sessions_ == 0)
			return;
		sessions_ -= std::min(sessions, sessions_);
		if (sessions_ != 0)
			return;
		field::rpc_xprt::idle_timeout(owner_.xprt_) = idle_timeout_;
		if (in_use_ == 0)
			return;
		idle_ = &idle;
	}
	/* The service still runs, and answers what it was given: at worst when the connection is gone. */
	if (idle.wait(service_patience))
		return;
	kernel::Guard guard(lock_);
	idle_ = nullptr;
}

/* In room that is reserved for it. */
void ReverseResponder::send_refusal(ReverseRequest &request) noexcept
{
	verbs::SendBuffer *const buffer = owner_.endpoint_->sends().take(kernel::GFP_ATTEMPT);
	if (!buffer) {
		owner_.endpoint_->sends().release(1);
		return owner_.give_up(no_memory);
	}
	std::uint32_t credits;
	{
		kernel::Guard guard(lock_);
		credits = grant();
		give_credit_back(request);
	}
	/* Where it fails, the connection is being closed. */
	(void)owner_.endpoint_->sends().post(*buffer, fill_refusal(request, credits, buffer->bytes()), {}, {});
}

/* Returns its size. */
std::uint32_t ReverseResponder::fill_refusal(const ReverseRequest &request, std::uint32_t credits,
					     std::span<std::byte> message) noexcept
{
	const wire::Xid xid = request.call().xid;
	const bool is_unserved = request.refusal_ == ReverseRequest::Refusal::unserved;
	const auto header = is_unserved ? wire::encode_returned_msg(message, xid, credits, wire::ReturnedChunks{}) :
					  wire::encode_error(message, xid, RPCRDMA_V1, credits, wire::ChunkError{});
	/* Both are shorter than any threshold. */
	if (!header)
		bug("a refusal's header is too long");
	const auto size = static_cast<std::uint32_t>(*header);
	if (!is_unserved)
		return size;
	const proto::UnservedReply reply = proto::unserved_reply(xid);
	__builtin_memcpy(message.subspan(size, reply.size()).data(), reply.data(), reply.size());
	return size + static_cast<std::uint32_t>(reply.size());
}

/* sunrpc is done with it. */
void ReverseResponder::keep(ReverseRequest &request) noexcept
{
	kernel::Guard guard(lock_);
	if (request.state_ == ReverseRequest::State::pushing)
		request.state_ = ReverseRequest::State::released;
	else
		recycle(request);
}

void ReverseResponder::recycle(ReverseRequest &request) noexcept
{
	request.moved_ = {};
	give_credit_back(request);
	in_use_--;
	free_.push_front(request);
	if (in_use_ == 0 && idle_)
		std::exchange(idle_, nullptr)->complete();
}

int ReverseResponder::send(rpc_rqst *rqst) noexcept
{
	ReverseRequest &request = ReverseRequest::of(rqst);
	switch (transmit(request, field::rpc_rqst::rq_snd_buf(rqst))) {
	case Sent::yes:
		break;
	case Sent::no_room:
	case Sent::no_memory:
		/* It has no part in what Calls wait for: sunrpc tries again soon. */
		return -kernel::ENOBUFS;
	case Sent::too_large:
		/* An errno would be taken for that of whichever task sends at the moment. */
		if (!owner_.endpoint_->sends().reserve(1))
			return -kernel::ENOBUFS;
		request.refusal_ = ReverseRequest::Refusal::chunks;
		send_refusal(request);
		break;
	case Sent::not_connected:
		owner_.close();
		return -kernel::ENOTCONN;
	}
	return 0;
}

Sent ReverseResponder::transmit(ReverseRequest &request, const xdr_buf &reply) noexcept
{
	const wire::Xid xid = request.call().xid;
	const wire::Chunks &chunks = request.call().chunks;
	const auto fail = [&](const char *reason, Sent as) {
		rpcordma_trace_reverse_call_dropped(owner_.peer(), static_cast<u32>(xid), reason);
		return as;
	};
	{
		/* Memory that was offered on another connection is no longer, and nobody waits there. */
		kernel::Guard guard(lock_);
		if (request.connection_ != connection_)
			return fail("connection lost", Sent::yes);
	}
	const std::uint32_t size = field::xdr_buf::len(&reply);
	const auto plan = proto::plan_reply(size, std::span<const proto::Item>(), chunks,
					    owner_.endpoint_->agreement().inline_thresholds.call);
	if (!plan)
		return fail("reply too large", Sent::too_large);
	const bool is_long = plan->transfer == proto::ReplyTransfer::long_reply;
	if (is_long && (!chunks.reply || !write(request, *chunks.reply, reply))) {
		transfers_.finish(request.transfers_);
		return fail("credits or memory", Sent::too_large);
	}
	verbs::SendBuffer *const buffer =
		owner_.endpoint_->sends().begin(verbs::requests_of(request.transfers_) + 1, kernel::GFP_ATTEMPT);
	if (!buffer) {
		transfers_.finish(request.transfers_);
		return Sent::no_room;
	}
	const wire::ReturnedChunks returned{chunks.writes, {}, chunks.reply, is_long ? size : 0};
	const auto header = is_long ? wire::encode_returned_nomsg(buffer->bytes(), xid, reverse_credits, returned) :
				      wire::encode_returned_msg(buffer->bytes(), xid, reverse_credits, returned);
	/* The plan has made sure of it. */
	if (!header)
		bug("a reply's header is too long");
	auto message_size = static_cast<std::uint32_t>(*header);
	if (!is_long) {
		read_bytes_from_xdr_buf(&reply, 0, buffer->bytes().data() + message_size, size);
		message_size += size;
	}
	rpcordma_trace_reverse_reply_sent(owner_.peer(), static_cast<u32>(xid), name_of(plan->transfer), size);
	verbs::Chain chain = verbs::chain_of(request.transfers_);
	if (is_long)
		request.watch(owner_.endpoint_->sends(), chain);
	kernel::Guard guard(lock_);
	give_credit_back(request);
	if (!is_long)
		return owner_.endpoint_->sends().post(*buffer, message_size, {}, {}) ? Sent::yes : Sent::not_connected;
	request.state_ = ReverseRequest::State::pushing;
	moving_.push_back(request);
	return owner_.endpoint_->sends().post(*buffer, message_size, chain, {.watcher = &request, .invalidate = {}}) ?
		       Sent::yes :
		       Sent::not_connected;
}

/* Prepares the RDMA Writes of a Reply that goes to its Reply chunk. */
bool ReverseResponder::write(ReverseRequest &request, const wire::WriteChunk &room, const xdr_buf &reply) noexcept
{
	const std::uint32_t size = field::xdr_buf::len(&reply);
	if (!request.make_room(size, kernel::GFP_ATTEMPT) ||
	    read_bytes_from_xdr_buf(&reply, 0, request.moved_.data(), size) != 0)
		return false;
	BlockReader reader(request.moved_.data());
	const auto next = [&reader](std::uint32_t most) { return reader(most); };
	const bool is_made = proto::for_each_written(room, size, [&](const wire::Segment &segment) {
		return move(request, segment, next, verbs::Direction::write);
	});
	return is_made && prepare(request);
}

/* The queue pair is drained: nothing is read or written any more. */
void ReverseResponder::sweep() noexcept
{
	for (;;) {
		ReverseRequest *request;
		{
			kernel::Guard guard(lock_);
			request = waiting_.pop_front();
			if (!request)
				request = moving_.pop_front();
		}
		if (!request)
			return;
		transfers_.finish(request->transfers_);
		kernel::Guard guard(lock_);
		if (request->state_ == ReverseRequest::State::pushing)
			request->state_ = ReverseRequest::State::served;
		else
			recycle(*request);
	}
}

} // namespace rpcordma::client
