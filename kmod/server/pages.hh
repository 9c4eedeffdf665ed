/* SPDX-License-Identifier: GPL-2.0-only */
/* The pages of an RPC that a device works on. */
#pragma once

#include <array>

#include "kernel/heap.hh"
#include "kernel/kernel.hh"
#include "kernel/page.hh"

namespace rpcordma::server {

/* Owns the pages that it holds. Not synchronised: it belongs to one RPC. */
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
	/* Takes `count` pages, for which there is room, out of an array of the upper layer's. */
	void take(page **from, std::uint32_t count) noexcept;
	/* Puts the pages into such an array. Frees those that were there, and the room for more than a usual RPC has. */
	void give(page **to) noexcept;
	/* Frees the pages, and the same room. */
	void release() noexcept;

	[[nodiscard]] std::uint32_t count() const noexcept { return count_; }
	[[nodiscard]] page *operator[](std::uint32_t n) const noexcept { return at_[n]; }

    private:
	/* What an RPC of 1 MiB has: its data, and the rest of its Payload stream. */
	static constexpr std::uint32_t usual = 0x100000u / kernel::page_size + 4;

	std::array<page *, usual> usual_;
	kernel::Block more_;
	/* Where they are: in one of these. */
	page **at_ = usual_.data();
	std::uint32_t count_ = 0;
};

} // namespace rpcordma::server
