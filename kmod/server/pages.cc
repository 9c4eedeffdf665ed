// SPDX-License-Identifier: GPL-2.0-only
#include "server/call.hh"

#include <utility>

namespace rpcordma::server {

void Pages::take(page **from, std::uint32_t count) noexcept
{
	for (count_ = 0; count_ < count; count_++)
		pages_[count_] = std::exchange(from[count_], nullptr);
	live_objects.held_pages.add(count);
}

void Pages::give(page **to) noexcept
{
	for (std::uint32_t i = 0; i < count_; i++)
		std::swap(pages_[i], to[i]);
	release();
}

void Pages::release() noexcept
{
	if (count_ == 0)
		return;
	rpcordma_release_pages(pages_.data(), count_);
	live_objects.held_pages.sub(count_);
	count_ = 0;
}

} // namespace rpcordma::server
