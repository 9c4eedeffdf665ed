/* SPDX-License-Identifier: GPL-2.0-only */
/* The pages of an RPC that a device works on. */
#pragma once

#include <array>

#include "kernel/kernel.hh"
#include "server/operations.h"

namespace rpcordma::server {

/* Owns the pages that it holds. Not synchronised: it belongs to one RPC. */
class Pages {
    public:
	/* The most that an RPC can have: its data, and the rest of its Payload stream. */
	static constexpr std::uint32_t most = RPCORDMA_SERVER_MAX_PAYLOAD / kernel::PAGE_SIZE + 4;

	Pages() = default;
	~Pages() { release(); }
	Pages(const Pages &) = delete;
	Pages &operator=(const Pages &) = delete;

	/* Takes `count` pages, at most `most`, out of an array of the upper layer's. */
	void take(page **from, std::uint32_t count) noexcept;
	/* Puts the pages into such an array. Frees those that were there. */
	void give(page **to) noexcept;
	/* Frees the pages. */
	void release() noexcept;

	[[nodiscard]] std::uint32_t count() const noexcept { return count_; }
	[[nodiscard]] page *operator[](std::uint32_t n) const noexcept { return pages_[n]; }

    private:
	std::array<page *, most> pages_;
	std::uint32_t count_ = 0;
};

} // namespace rpcordma::server
