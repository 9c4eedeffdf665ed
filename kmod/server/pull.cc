// SPDX-License-Identifier: GPL-2.0-only
/* The way of a Call with Read chunks: the pages of the thread that found it are filled by RDMA Read, while that thread goes
 * on, and handed to the thread that finds the Call complete (RFC 8166, 3.4.5). */
#include "server/call.hh"

#include <algorithm>

#include "kernel/page.hh"
#include "kernel/trace.hh"
#include "server/connection.hh"

namespace rpcordma::server {

namespace {

std::uint32_t pages_for(std::uint32_t size) noexcept
{
	return (size + kernel::page_size - 1) / kernel::page_size;
}

std::byte *bytes_of(page *in) noexcept
{
	return static_cast<std::byte *>(rpcordma_page_address(in));
}

/* Copies bytes of the message to their place in the stream. */
void copy(const Pages &pages, std::uint32_t offset, wire::Bytes bytes) noexcept
{
	while (!bytes.empty()) {
		const std::uint32_t in_page = offset % kernel::page_size;
		const std::size_t length = std::min<std::size_t>(bytes.size(), kernel::page_size - in_page);
		__builtin_memcpy(bytes_of(pages[offset / kernel::page_size]) + in_page, bytes.data(), length);
		bytes = bytes.subspan(length);
		offset += static_cast<std::uint32_t>(length);
	}
}

/* Roundup padding: there is nothing to read for it, and the page held something else before. */
void clear(const Pages &pages, std::uint32_t from, std::uint32_t to) noexcept
{
	for (; from < to; from++)
		bytes_of(pages[from / kernel::page_size])[from % kernel::page_size] = {};
}

} // namespace

int Calls::pull(ServedCall &call, svc_rqst *rqst) noexcept
{
	Pull *const pull = backlog_.make_pull(call);
	if (!pull) {
		backlog_.release(call);
		connection_.endpoint().lose("memory", "for RDMA Reads");
		return 0;
	}
	if (!backlog_.begin_read(*pull))
		return 0;
	const std::uint32_t count = pages_for(call.assembly.filled());
	const bool has_room = pull->pages.make_room(count);
	if (has_room)
		pull->pages.take(rpcordma_svc_call_pages_to_take(rqst, pull->pages.missing(count)), count);
	if (has_room && fill(*pull))
		connection_.postings().put(*pull);
	else
		connection_.endpoint().lose("memory", "for RDMA Reads");
	return 0;
}

/* Copies what is in the message, and makes the RDMA Reads of the rest. False where there is no memory. */
bool Calls::fill(Pull &pull) noexcept
{
	const proto::Assembly &assembly = pull.call->assembly;
	std::uint32_t filled = 0;
	pull.moved = {};
	proto::Pieces pieces = assembly.pieces();
	while (const auto piece = pieces.next()) {
		clear(pull.pages, filled, piece->offset);
		filled = piece->offset + piece->length;
		if (const auto *const bytes = std::get_if<wire::Bytes>(&piece->source)) {
			copy(pull.pages, piece->offset, *bytes);
			continue;
		}
		const auto &segment = std::get<wire::Segment>(piece->source);
		const auto next = [&pull, at = piece->offset](std::uint32_t left) mutable {
			const std::uint32_t in_page = at % kernel::page_size;
			const verbs::PagePiece part{pull.pages[at / kernel::page_size], in_page,
						    std::min(left, kernel::page_size - in_page)};
			at += part.length;
			return part;
		};
		if (!connection_.postings().append(segment, verbs::Direction::read,
						   pages_for(piece->offset + segment.length) -
							   piece->offset / kernel::page_size,
						   next, pull.transfers))
			return false;
		rpcordma_svc_count(RPCORDMA_SVC_READS);
		pull.moved.add(segment.length);
	}
	clear(pull.pages, filled, assembly.filled());
	rpcordma_trace_call_pulled(connection_.peer(), static_cast<u32>(pull.xid), assembly.filled(),
				   pull.transfers.size());
	return true;
}

void Calls::pulled(Pull &pull) noexcept
{
	connection_.postings().done(pull);
	connection_.postings().room();
	/* The connection ends, and everything with it. */
	if (connection_.endpoint().is_lost())
		return;
	backlog_.pulled(pull);
	svc_xprt_enqueue(connection_.xprt());
}

/* Hands over what was read. */
int Calls::deliver(Pull &pull, svc_rqst *rqst) noexcept
{
	ServedCall &call = *pull.call;
	const proto::Assembly &assembly = call.assembly;
	page **const pages = rpcordma_svc_call_pages_to_fill(rqst, pull.pages.count());

	pull.pages.exchange(pages);

	Arguments stream;
	if (assembly.shape() == proto::CallShape::one_item) {
		const auto in_message = static_cast<u32>(call.call.payload.size());
		stream = {.head = call.payload(),
			  .head_length = assembly.position(),
			  .pages = pages,
			  .page_length = assembly.filled(),
			  .tail = call.payload() + assembly.position(),
			  .tail_length = in_message - assembly.position()};
	} else {
		const std::uint32_t head = std::min(assembly.size(), kernel::page_size);
		stream = {.head = bytes_of(pages[0]),
			  .head_length = head,
			  .pages = pages + 1,
			  .page_length = assembly.size() - head};
	}
	backlog_.keep(pull);
	if (!proto::payload_is_call(stream.front(), call.call.xid))
		return refuse(call, "no call with the XID of the header");
	if (const auto error = assembly.error_in(stream.front()))
		return refuse(call, name_of(*error));
	return present(call, stream, rqst);
}

} // namespace rpcordma::server
