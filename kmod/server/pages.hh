/* SPDX-License-Identifier: GPL-2.0-only */
/* The pages of an RPC that a device works on. */
#pragma once

#include <array>

#include "kernel/heap.hh"
#include "kernel/kernel.hh"
#include "kernel/page.hh"

namespace rpcordma::server {

/* Owns pages: those that it holds for the device, and those that it keeps for the next RPC. Not synchronised: it belongs to one
 * RPC. */
class Pages {
    public:
	Pages() = default;
	~Pages() { release(); }
	Pages(const Pages &) = delete;
	Pages &operator=(const Pages &) = delete;

	/* Makes room for `count` pages.
	 * Return: false if there is no memory.
	 * Context: may sleep. */
	[[nodiscard]] bool make_room(std::uint32_t count) noexcept;
	/* How many there are too few of, to hold `count`. */
	[[nodiscard]] std::uint32_t missing(std::uint32_t count) const noexcept
	{
		return count > owned_ ? count - owned_ : 0;
	}
	/* Holds `count` pages, for which there is room, and takes those that are missing() out of an array of the upper layer's. */
	void take(page **from, std::uint32_t count) noexcept;
	/* Puts the pages that it holds into such an array, and keeps those that were there; none where the RPC is larger than usual. */
	void exchange(page **with) noexcept;
	/* Frees all pages. */
	void release() noexcept;

	/* How many it holds. */
	[[nodiscard]] std::uint32_t count() const noexcept { return count_; }
	[[nodiscard]] page *operator[](std::uint32_t n) const noexcept { return at_[n]; }

    private:
	/* What an RPC of 1 MiB has: its data, and the rest of its Payload stream. */
	static constexpr std::uint32_t usual = 0x100000u / kernel::page_size + 4;

	void set(std::uint32_t count, std::uint32_t owned) noexcept;

	std::array<page *, usual> usual_;
	kernel::Block more_;
	/* Where they are: in one of these. */
	page **at_ = usual_.data();
	/* So many are held, the first of all that are owned. */
	std::uint32_t count_ = 0;
	std::uint32_t owned_ = 0;
};

} // namespace rpcordma::server
