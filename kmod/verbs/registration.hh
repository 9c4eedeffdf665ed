/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory that a peer may reach for the time of one RPC (RFC 8166, 3.4.3; fast registration). */
#pragma once

#include "kernel/heap.hh"
#include "kernel/list.hh"
#include "kernel/page.hh"
#include "kernel/reserve.hh"
#include "kernel/sync.hh"
#include "proto/segmenting.hh"
#include "verbs/depths.hh"
#include "verbs/live.hh"
#include "verbs/send_queue.hh"
#include "wire/chunk.hh"

namespace rpcordma::verbs {

/* What the peer may do with a registration. */
enum class Access : std::uint8_t { read, write };

/* What became of memory that a registration was to cover. */
enum class Mapped : std::uint8_t {
	yes,
	/* The device lacks something now. */
	not_now,
	/* A registration of this device's cannot cover this memory, however often that is tried. */
	never,
};

/* Contiguous memory but for page boundaries: an array of pages, or kmalloc()ed bytes. */
struct Run {
	page *const *pages = nullptr;
	const std::byte *bytes = nullptr;
	proto::MemoryRun shape{};

	[[nodiscard]] static Run of_pages(page *const *pages, std::uint32_t offset, std::uint32_t length) noexcept
	{
		return {.pages = pages + offset / kernel::page_size,
			.bytes = nullptr,
			.shape = {.offset = offset % kernel::page_size, .length = length}};
	}
	[[nodiscard]] static Run of_bytes(const void *bytes, std::uint32_t length) noexcept
	{
		const auto address = reinterpret_cast<std::uintptr_t>(bytes);
		return {.pages = nullptr,
			.bytes = static_cast<const std::byte *>(bytes),
			.shape = {.offset = static_cast<std::uint32_t>(address % kernel::page_size), .length = length}};
	}
};

/* Where in local memory bytes are: within a page, or pages that follow one another. */
struct PagePiece {
	page *in;
	std::uint32_t offset;
	std::uint32_t length;
};

/* Goes through runs page by page. */
class PageCursor {
    public:
	explicit PageCursor(std::span<const Run> runs) noexcept
		: runs_(runs)
	{
	}

	/* The next piece, which must exist. */
	[[nodiscard]] PagePiece next() noexcept;

    private:
	std::span<const Run> runs_;
	std::uint32_t done_ = 0;
};

/* One registration of the device's. Belongs to a pool, or to the RPC that took it. */
class Registration final : public kernel::Heap, public kernel::ListNode<Registration> {
    public:
	explicit Registration(SendQueue &queue) noexcept;
	~Registration();

	/* Maps the next `piece.pages` pages of the cursor and prepares the work requests that register and invalidate
	 * them. Holds nothing but where it says yes. */
	[[nodiscard]] Mapped map(PageCursor &cursor, proto::Segmenter::Piece piece, Access access) noexcept;
	/* The memory is the upper layer's again. The registration has been invalidated, or its queue pair is gone. */
	void unmap() noexcept;

	[[nodiscard]] wire::Segment segment() const noexcept;
	[[nodiscard]] wire::Handle handle() const noexcept { return segment().handle; }
	/* The work requests that give the peer access to the memory, and take it back; part of this object. */
	[[nodiscard]] ib_send_wr *register_request() noexcept { return &kernel::field::ib_reg_wr::wr(register_.get()); }
	[[nodiscard]] ib_send_wr *invalidate_request() noexcept;
	/* The peer has invalidated it (RFC 8797, 4.1). */
	bool invalidated = false;

    private:
	friend class RegistrationPool;

	Counted counted_{live_objects.registrations};
	ib_device *device_ = nullptr;
	ib_mr *mr_ = nullptr;
	bool hides_address_ = false;
	kernel::Block list_;
	std::uint32_t mapped_ = 0;
	unsigned int direction_ = 0;
	ib_cqe *const silent_;
	kernel::Opaque<ib_reg_wr> register_;
	kernel::Opaque<ib_send_wr> invalidate_;
};

using Registrations = kernel::List<Registration>;

/* The registrations of one connection. Grows with use, on a thread of its own, up to a limit: an RPC that finds none left
 * waits for that or for another RPC's, and tries again after a while where there is no memory. */
class RegistrationPool : public kernel::Heap {
    public:
	RegistrationPool(ib_device *device, ib_pd *pd, SendQueue &queue, std::uint32_t most, QueueUser &user) noexcept;
	/* All have been given back, and the queue pair is gone. */
	~RegistrationPool();

	/* What one registration of a device covers. */
	[[nodiscard]] static proto::RegistrationLimits limits_of(ib_device *device) noexcept;
	[[nodiscard]] proto::RegistrationLimits limits() const noexcept { return limits_; }
	/* How many there may be. */
	[[nodiscard]] std::uint32_t most() const noexcept { return most_; }
	/* Makes the first `count`; false where they cannot be had. */
	[[nodiscard]] bool prepare(std::uint32_t count) noexcept RPCORDMA_EXCLUDES(lock_);
	/* Moves `count` registrations to `to`, or none at all: then QueueUser::room() says when to try again. */
	[[nodiscard]] bool take(std::uint32_t count, Registrations &to) noexcept RPCORDMA_EXCLUDES(lock_);
	/* Takes back registrations that are not mapped, and tells nobody. */
	void put_back(Registrations &from) noexcept RPCORDMA_EXCLUDES(lock_);
	/* Takes back unmapped registrations. */
	void give_back(Registrations &from) noexcept RPCORDMA_EXCLUDES(lock_);
	/* Frees the registrations that have not been needed since the last call, but for the first ones. Process context.
	 * Return: whether another call may free more. */
	bool trim() noexcept RPCORDMA_EXCLUDES(lock_);
	/* Ends growth, for teardown. Process context: may wait for it. */
	void stop() noexcept RPCORDMA_EXCLUDES(lock_);
	/* How many have been made, those included that were freed again. */
	[[nodiscard]] std::uint32_t made() noexcept RPCORDMA_EXCLUDES(lock_);
	/* Bytes of the lists of pages of all that there are. */
	[[nodiscard]] std::uint64_t memory() noexcept RPCORDMA_EXCLUDES(lock_);

    private:
	Registration *make() noexcept;
	/* Of one registration's list of pages, in bytes. */
	[[nodiscard]] std::size_t list_size() const noexcept
	{
		return limits_.pages * kernel::Layout<scatterlist>::size;
	}
	bool add() noexcept RPCORDMA_EXCLUDES(lock_);
	bool is_stopped() noexcept RPCORDMA_EXCLUDES(lock_);
	void grow() noexcept RPCORDMA_EXCLUDES(lock_);

	ib_device *const device_;
	ib_pd *const pd_;
	SendQueue &queue_;
	QueueUser &user_;
	const proto::RegistrationLimits limits_;
	const std::uint32_t most_;
	kernel::Opaque<work_struct> growth_;
	kernel::Opaque<delayed_work> retry_;
	kernel::SpinLock lock_{RPCORDMA_LOCK_REGISTRATION_POOL};
	kernel::Reserve<Registration> free_ RPCORDMA_GUARDED_BY(lock_);
	/* Those that are kept however long nothing is registered. */
	std::uint32_t first_ RPCORDMA_GUARDED_BY(lock_) = 0;
	/* How many there are, and how many have been made. */
	std::uint32_t size_ RPCORDMA_GUARDED_BY(lock_) = 0;
	std::uint32_t made_ RPCORDMA_GUARDED_BY(lock_) = 0;
	std::uint32_t wanted_ RPCORDMA_GUARDED_BY(lock_) = 0;
	bool stopped_ RPCORDMA_GUARDED_BY(lock_) = false;
};

} // namespace rpcordma::verbs
