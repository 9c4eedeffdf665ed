/* SPDX-License-Identifier: GPL-2.0-only */
/* A block of memory that a device can reach for as long as the object lives. */
#pragma once

#include "kernel/heap.hh"

namespace rpcordma::verbs {

/* Constructed in two steps, because each can fail: memory, then mapping. Process context. */
class MappedBlock {
    public:
	~MappedBlock() { unmap(); }

	/* False where there is no memory, or no mapping to be had. */
	[[nodiscard]] bool map(ib_device *device, std::size_t size, unsigned int direction, gfp_t gfp) noexcept
	{
		block_ = kernel::Block(size, gfp, device);
		if (!block_)
			return false;
		bool mapped = false;
		address_ = rpcordma_map(device, block_.data(), size, direction, &mapped);
		if (!mapped)
			return false;
		device_ = device;
		direction_ = direction;
		needs_sync_ = rpcordma_needs_sync(device, address_);
		return true;
	}

	/* Takes the memory from the device; its bytes stay what they are. */
	void unmap() noexcept
	{
		if (ib_device *const device = std::exchange(device_, nullptr))
			rpcordma_unmap(device, address_, block_.size(), direction_);
	}

	[[nodiscard]] std::span<std::byte> bytes() const noexcept { return block_.span(); }
	[[nodiscard]] u64 address() const noexcept { return address_; }
	void sync_for_cpu(std::size_t size) const noexcept
	{
		if (needs_sync_) [[unlikely]]
			rpcordma_sync_for_cpu(device_, address_, size, direction_);
	}
	void sync_for_device(std::size_t size) const noexcept
	{
		if (needs_sync_) [[unlikely]]
			rpcordma_sync_for_device(device_, address_, size, direction_);
	}

    private:
	kernel::Block block_;
	ib_device *device_ = nullptr;
	u64 address_ = 0;
	unsigned int direction_ = 0;
	bool needs_sync_ = false;
};

} // namespace rpcordma::verbs
