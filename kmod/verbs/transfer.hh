/* SPDX-License-Identifier: GPL-2.0-only */
/* RDMA Reads and Writes of a responder's, by the kernel's rdma_rw contexts. */
#pragma once

#include <algorithm>

#include "kernel/heap.hh"
#include "kernel/list.hh"
#include "kernel/reserve.hh"
#include "kernel/sync.hh"
#include "verbs/live.hh"
#include "verbs/registration.hh"
#include "wire/chunk.hh"

namespace rpcordma::verbs {

enum class Direction : std::uint8_t { read, write };

/* The piece that begins with a byte of kmalloc()ed memory: what of `most` bytes is in the same page. */
[[nodiscard]] PagePiece piece_at(const std::byte *at, std::uint32_t most) noexcept;

/* A segment of the requester's memory, what it is for, and the way to it. */
struct Remote {
	ib_qp *qp;
	u32 port;
	wire::Segment segment;
	Direction direction;
};

/* One segment of the requester's memory, and the local memory that it is read to or written from. Belongs to a pool, or to
 * the RPC that took it. Used in the order: begin(), add() for each piece, prepare(), append_to(), finish(). */
class Transfer final : public kernel::Heap, public kernel::ListNode<Transfer> {
    public:
	/* finish() has been called if prepare() succeeded. */
	~Transfer() = default;

	/* Makes room for `pieces` pieces; false where there is no memory. */
	[[nodiscard]] bool begin(const Remote &remote, std::uint32_t pieces, gfp_t gfp) noexcept;
	/* Whether there is room for another piece. */
	[[nodiscard]] bool has_room() const noexcept { return room_ != 0; }
	/* Adds local memory, no more pieces than there is room for. What is written from memory that follows the last
	 * piece becomes part of that. */
	void add(const PagePiece &piece) noexcept;
	/* Maps the memory. 0, -EAGAIN where the device has no registration left now, another negative errno for good. May
	 * sleep for memory. */
	[[nodiscard]] int prepare() noexcept;
	/* How many work requests it takes; none unless it is prepared. */
	[[nodiscard]] std::uint32_t requests() const noexcept { return requests_; }
	/* The work requests, none of them signalled. They are posted, or the connection ends: a registration of the device
	 * counts as used from here on. */
	void append_to(Chain &chain) noexcept;
	/* Unmaps the memory, where it is mapped. The work requests are done with, or were never posted. */
	void finish() noexcept;

    private:
	[[nodiscard]] scatterlist *entry(std::uint32_t n) const noexcept
	{
		return kernel::nth(reinterpret_cast<scatterlist *>(list_.data()), n);
	}

	Counted counted_{live_objects.transfers};
	kernel::Opaque<rdma_rw_ctx> context_;
	kernel::Block list_;
	std::uint32_t capacity_ = 0;
	std::uint32_t room_ = 0;
	std::uint32_t entries_ = 0;
	std::uint32_t requests_ = 0;
	PagePiece last_{};
	Remote remote_{};
};

/* The transfers of one RPC, or some of them. */
using Transfers = kernel::List<Transfer>;

/* Prepares all of them, or none: RPCs that had some of their registrations each would wait for one another. As
 * Transfer::prepare(). */
[[nodiscard]] int prepare(Transfers &all) noexcept;
/* Undoes it. The work requests are done with, or were never posted. */
void unprepare(Transfers &all) noexcept;
/* How many work requests all of them take. */
[[nodiscard]] std::uint32_t requests_of(Transfers &all) noexcept;
/* The work requests of all of them: see Transfer::append_to(). */
[[nodiscard]] Chain chain_of(Transfers &all) noexcept;

/* The most pieces that TransferPool::append() puts into a Transfer, so that its memory is bounded: a payload of 1 MiB in pages. */
inline constexpr std::uint32_t most_pieces = 256;
/* The same of a device, where RDMA Reads may take registrations: as many as one covers. An IOMMU may join pages, and the kernel
 * takes registrations for what is left, of which each may have more pages than one covers. Any context. */
[[nodiscard]] std::uint32_t most_pieces_of_reads(ib_device *device, u32 port) noexcept;

/* Keeps some transfers for the next RPCs. */
class TransferPool {
    public:
	/* Null where there is no memory. */
	[[nodiscard]] Transfer *take(gfp_t gfp) noexcept RPCORDMA_EXCLUDES(lock_);
	/* Makes Transfers between a segment and as many bytes of local memory, which `next(left)` hands out in no more than
	 * `pieces` pieces, and appends them to `to`, not prepared: one, or more where one takes too many pieces. False where
	 * there is no memory; what was appended stays. */
	template <typename Next>
	[[nodiscard]] bool append(const Remote &remote, std::uint32_t pieces, gfp_t gfp, Next next,
				  Transfers &to) noexcept RPCORDMA_EXCLUDES(lock_)
	{
		Remote rest = remote;
		const std::uint32_t most = most_pieces_for(remote);
		while (rest.segment.length != 0) {
			Transfer *const transfer = begin(rest, std::min(pieces, most), gfp);
			if (!transfer)
				return false;
			while (rest.segment.length != 0 && transfer->has_room()) {
				const PagePiece piece = next(rest.segment.length);
				transfer->add(piece);
				rest.segment.length -= piece.length;
				rest.segment.offset += piece.length;
			}
			to.push_back(*transfer);
			pieces = std::max(pieces, most + 1) - most;
		}
		return true;
	}
	/* Finishes what is done with, and takes it back. */
	void finish(Transfers &all) noexcept RPCORDMA_EXCLUDES(lock_);
	/* Takes back what has been finished. */
	void give_back(Transfers &from) noexcept RPCORDMA_EXCLUDES(lock_);
	/* Frees those that have not been needed since the last call. Return: whether another call may free more. */
	bool trim() noexcept RPCORDMA_EXCLUDES(lock_);

    private:
	[[nodiscard]] static std::uint32_t most_pieces_for(const Remote &remote) noexcept;
	/* A Transfer for so many pieces. Null where there is no memory. */
	[[nodiscard]] Transfer *begin(const Remote &remote, std::uint32_t pieces, gfp_t gfp) noexcept
		RPCORDMA_EXCLUDES(lock_);

	kernel::SpinLock lock_{RPCORDMA_LOCK_TRANSFER_POOL};
	kernel::Reserve<Transfer> free_ RPCORDMA_GUARDED_BY(lock_);
};

} // namespace rpcordma::verbs
