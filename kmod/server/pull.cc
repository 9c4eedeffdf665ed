// SPDX-License-Identifier: GPL-2.0-only
/* The way of a Call with Read chunks: the pages of the thread that found it are filled by RDMA Read, while that thread goes
 * on, and handed to the thread that finds the Call complete (RFC 8166, 3.4.5). */
#include <algorithm>

#include "kernel/trace.hh"
#include "server/connection.hh"

namespace rpcordma::server {

namespace field = kernel::field;

namespace {

std::uint32_t pages_for(std::uint32_t size) noexcept
{
	return (size + proto::page_size - 1) / proto::page_size;
}

std::byte *bytes_of(page *in) noexcept
{
	return static_cast<std::byte *>(rpcordma_page_address(in));
}

/* Copies bytes of the message to their place in the stream. */
void copy(const Pages &pages, std::uint32_t offset, wire::Bytes bytes) noexcept
{
	while (!bytes.empty()) {
		const std::uint32_t in_page = offset % proto::page_size;
		const std::size_t length = std::min<std::size_t>(bytes.size(), proto::page_size - in_page);
		__builtin_memcpy(bytes_of(pages[offset / proto::page_size]) + in_page, bytes.data(), length);
		bytes = bytes.subspan(length);
		offset += static_cast<std::uint32_t>(length);
	}
}

/* Roundup padding: there is nothing to read for it, and the page held something else before. */
void clear(const Pages &pages, std::uint32_t from, std::uint32_t to) noexcept
{
	for (; from < to; from++)
		bytes_of(pages[from / proto::page_size])[from % proto::page_size] = {};
}

} // namespace

int Connection::pull(ServedCall &call, svc_rqst *rqst) noexcept
{
	Pull *const pull = make_pull();
	if (!pull) {
		release(call);
		endpoint_->lose("memory", "for RDMA Reads");
		return 0;
	}
	pull->call = &call;
	pull->xid = call.call.xid;
	pull->transaction = call.transaction;
	bool has_to_wait;
	{
		kernel::Guard guard(lock_);
		has_to_wait = reading_.size() >= most_reading_;
		if (has_to_wait) {
			waiting_.push_back(call);
			free_pulls_.push_front(*pull);
		} else {
			reading_.push_back(*pull);
			watch();
		}
	}
	if (has_to_wait)
		return 0;
	pull->pages.take(field::svc_rqst::rq_pages(rqst), pages_for(call.assembly.filled()));
	if (fill(*pull))
		outbox_.put(*pull);
	else
		endpoint_->lose("memory", "for RDMA Reads");
	return 0;
}

Pull *Connection::make_pull() noexcept
{
	{
		kernel::Guard guard(lock_);
		if (Pull *const pull = free_pulls_.pop_front())
			return pull;
	}
	return new (kernel::GFP_KERNEL) Pull([](verbs::Signal &signal) noexcept {
		Pull &pull = static_cast<Pull &>(signal);
		pull.call->owner.pulled(pull);
	});
}

/* Copies what is in the message, and makes the RDMA Reads of the rest. False where there is no memory. */
bool Connection::fill(Pull &pull) noexcept
{
	const proto::Assembly &assembly = pull.call->assembly;
	std::uint32_t filled = 0;
	proto::Pieces pieces = assembly.pieces();
	while (const auto piece = pieces.next()) {
		clear(pull.pages, filled, piece->offset);
		filled = piece->offset + piece->length;
		if (const auto *const bytes = std::get_if<wire::Bytes>(&piece->source)) {
			copy(pull.pages, piece->offset, *bytes);
			continue;
		}
		if (!read_segment(pull, std::get<wire::Segment>(piece->source), piece->offset))
			return false;
		rpcordma_svc_count(RPCORDMA_SVC_READS);
	}
	clear(pull.pages, filled, assembly.filled());
	rpcordma_trace_call_pulled(peer(), static_cast<u32>(pull.xid), assembly.filled(), pull.transfers.size());
	return true;
}

bool Connection::read_segment(Pull &pull, const wire::Segment &segment, std::uint32_t offset) noexcept
{
	const auto next = [&pull, at = offset](std::uint32_t left) mutable {
		const std::uint32_t in_page = at % proto::page_size;
		const verbs::PagePiece piece{pull.pages[at / proto::page_size], in_page,
					     std::min(left, proto::page_size - in_page)};
		at += piece.length;
		return piece;
	};
	const verbs::Remote remote{endpoint_->queue_pair(), endpoint_->port(), segment, verbs::Direction::read};
	return transfers_.append(remote, pages_for(offset + segment.length) - offset / proto::page_size,
				 kernel::GFP_KERNEL, next, pull.transfers);
}

/* In the context of the completion queue. */
void Connection::pulled(Pull &pull) noexcept
{
	remember_failure(pull);
	transfers_.finish(pull.transfers);
	outbox_.room();
	/* The connection ends, and everything with it. */
	if (endpoint_->is_lost())
		return;
	{
		kernel::Guard guard(lock_);
		reading_.remove(pull);
		pulled_.push_back(pull);
		rpcordma_svc_set_data(xprt(), wants_thread());
	}
	svc_xprt_enqueue(xprt());
}

/* Hands over what was read. */
int Connection::deliver(Pull &pull, svc_rqst *rqst) noexcept
{
	ServedCall &call = *pull.call;
	const proto::Assembly &assembly = call.assembly;
	page **const pages = field::svc_rqst::rq_pages(rqst);
	const std::uint32_t count = pull.pages.count();

	pull.pages.give(pages);
	field::svc_rqst::rq_respages(rqst) = pages + count;
	field::svc_rqst::rq_next_page(rqst) = pages + count;

	const auto payload_size = static_cast<std::uint32_t>(call.call.payload.size());
	xdr_buf &arguments = field::svc_rqst::rq_arg(rqst);
	field::xdr_buf::page_base(&arguments) = 0;
	field::xdr_buf::buflen(&arguments) = assembly.size();
	field::xdr_buf::len(&arguments) = assembly.size();
	if (assembly.shape() == proto::CallShape::one_item) {
		field::xdr_buf::head(&arguments) = call.payload();
		field::xdr_buf::head_length(&arguments) = assembly.position();
		field::xdr_buf::pages(&arguments) = pages;
		field::xdr_buf::page_len(&arguments) = assembly.filled();
		field::xdr_buf::tail(&arguments) = call.payload() + assembly.position();
		field::xdr_buf::tail_length(&arguments) = payload_size - assembly.position();
	} else {
		const std::uint32_t head = std::min(assembly.size(), proto::page_size);
		field::xdr_buf::head(&arguments) = bytes_of(pages[0]);
		field::xdr_buf::head_length(&arguments) = head;
		field::xdr_buf::pages(&arguments) = pages + 1;
		field::xdr_buf::page_len(&arguments) = assembly.size() - head;
		field::xdr_buf::tail(&arguments) = nullptr;
		field::xdr_buf::tail_length(&arguments) = 0;
	}
	const wire::Bytes head(static_cast<const std::byte *>(field::xdr_buf::head(&arguments)),
			       field::xdr_buf::head_length(&arguments));
	{
		kernel::Guard guard(lock_);
		free_pulls_.push_front(pull);
	}
	if (!proto::payload_is_call(head, call.call.xid))
		return refuse(call, "no call with the XID of the header");
	if (!assembly.is_eligible_by(head))
		return refuse(call, name_of(proto::CallError::not_eligible));
	return present(call, head, rqst);
}

} // namespace rpcordma::server
