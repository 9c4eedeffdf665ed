// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/transfer.hh"

#include <algorithm>

#include "kernel/page.hh"
#include "proto/segmenting.hh"
#include "verbs/registration.hh"

namespace rpcordma::verbs {

namespace {

/* Room for the pages of a small RPC. */
constexpr std::uint32_t least_entries = 4;
/* Each may have grown to some 9 KiB. */
constexpr std::uint32_t most_kept = 128;
/* Of an entry: where DMA goes through bounce buffers, none may be larger than 256 KiB less what its offset takes. */
constexpr std::uint32_t most_merged = 128 * 1024;

bool follows(const PagePiece &piece, const PagePiece &last) noexcept
{
	const std::uint32_t end = last.offset + last.length;
	return end % kernel::page_size == 0 && piece.offset == 0 &&
	       kernel::nth(last.in, end / kernel::page_size) == piece.in;
}

unsigned int dma_direction(Direction direction) noexcept
{
	return direction == Direction::read ? kernel::DMA_FROM_DEVICE : kernel::DMA_TO_DEVICE;
}

} // namespace

PagePiece piece_at(const std::byte *at, std::uint32_t most) noexcept
{
	const auto in_page = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(at) % kernel::page_size);
	return {rpcordma_page_of(at), in_page, std::min(most, kernel::page_size - in_page)};
}

bool Transfer::begin(const Remote &remote, std::uint32_t pieces, gfp_t gfp) noexcept
{
	remote_ = remote;
	if (pieces > capacity_) {
		const std::uint32_t capacity = std::max(pieces, least_entries);
		list_ = kernel::Block(capacity * kernel::Layout<scatterlist>::size, gfp);
		capacity_ = list_ ? capacity : 0;
	}
	if (capacity_ == 0)
		return false;
	rpcordma_list_init(entry(0), pieces);
	room_ = pieces;
	entries_ = 0;
	return true;
}

void Transfer::add(const PagePiece &piece) noexcept
{
	/* Reads may go through a registration, which counts pages. */
	if (remote_.direction == Direction::write && entries_ != 0 && last_.length + piece.length <= most_merged &&
	    follows(piece, last_)) {
		last_.length += piece.length;
		rpcordma_list_set(entry(entries_ - 1), last_.in, last_.length, last_.offset);
		return;
	}
	last_ = piece;
	room_--;
	rpcordma_list_set(entry(entries_++), piece.in, piece.length, piece.offset);
}

int Transfer::prepare() noexcept
{
	rpcordma_list_end(entry(entries_ - 1));
	const int requests = rdma_rw_ctx_init(context_.get(), remote_.qp, remote_.port, entry(0), entries_, 0,
					      remote_.segment.offset, std::to_underlying(remote_.segment.handle),
					      dma_direction(remote_.direction));
	requests_ = static_cast<std::uint32_t>(std::max(requests, 0));
	return std::min(requests, 0);
}

void Transfer::append_to(Chain &chain) noexcept
{
	chain.append_all(rdma_rw_ctx_wrs(context_.get(), remote_.qp, remote_.port, nullptr, nullptr));
}

void Transfer::finish() noexcept
{
	if (std::exchange(requests_, 0) != 0)
		rdma_rw_ctx_destroy(context_.get(), remote_.qp, remote_.port, entry(0), entries_,
				    dma_direction(remote_.direction));
}

int prepare(Transfers &all) noexcept
{
	int error = 0;
	all.for_each([&](Transfer &transfer) {
		if (error == 0)
			error = transfer.prepare();
	});
	if (error != 0)
		unprepare(all);
	return error;
}

void unprepare(Transfers &all) noexcept
{
	all.for_each([](Transfer &transfer) { transfer.finish(); });
}

std::uint32_t requests_of(Transfers &all) noexcept
{
	std::uint32_t requests = 0;
	all.for_each([&](const Transfer &transfer) { requests += transfer.requests(); });
	return requests;
}

Chain chain_of(Transfers &all) noexcept
{
	Chain chain;
	all.for_each([&](Transfer &transfer) { transfer.append_to(chain); });
	return chain;
}

std::uint32_t most_pieces_of_reads(ib_device *device, u32 port) noexcept
{
	/* Most devices cover as many, and need not be asked more for each segment. */
	const std::uint32_t covered = RegistrationPool::limits_of(device).pages;
	return covered < most_pieces && rpcordma_transfers_take_registrations(device, port) ? covered : most_pieces;
}

std::uint32_t TransferPool::most_pieces_for(const Remote &remote) noexcept
{
	return remote.direction == Direction::read ?
		       most_pieces_of_reads(kernel::field::ib_qp::device(remote.qp), remote.port) :
		       most_pieces;
}

Transfer *TransferPool::begin(const Remote &remote, std::uint32_t pieces, gfp_t gfp) noexcept
{
	Transfer *const transfer = take(gfp);
	if (transfer && transfer->begin(remote, pieces, gfp))
		return transfer;
	delete transfer;
	return nullptr;
}

Transfer *TransferPool::take(gfp_t gfp) noexcept
{
	{
		kernel::Guard guard(lock_);
		if (Transfer *const transfer = free_.take())
			return transfer;
	}
	return new (gfp) Transfer;
}

void TransferPool::finish(Transfers &all) noexcept
{
	unprepare(all);
	give_back(all);
}

void TransferPool::give_back(Transfers &from) noexcept
{
	kernel::Guard guard(lock_);
	while (Transfer *const transfer = from.pop_front()) {
		if (free_.size() == most_kept)
			delete transfer;
		else
			free_.put(*transfer);
	}
}

bool TransferPool::trim() noexcept
{
	Transfers unneeded;
	bool is_more;
	{
		kernel::Guard guard(lock_);
		is_more = free_.give_up(unneeded);
	}
	unneeded.delete_all();
	return is_more;
}

} // namespace rpcordma::verbs
