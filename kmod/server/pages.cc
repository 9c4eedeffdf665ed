// SPDX-License-Identifier: GPL-2.0-only
#include "server/call.hh"

#include <utility>

namespace rpcordma::server {

bool Pages::make_room(std::uint32_t count) noexcept
{
	if (count <= usual) [[likely]]
		return true;
	more_ = kernel::Block(count * sizeof(page *), kernel::GFP_KERNEL);
	if (!more_)
		return false;
	at_ = reinterpret_cast<page **>(more_.data());
	return true;
}

void Pages::take(page **from, std::uint32_t count) noexcept
{
	for (count_ = 0; count_ < count; count_++)
		at_[count_] = std::exchange(from[count_], nullptr);
	live_objects.held_pages.add(count);
}

void Pages::give(page **to) noexcept
{
	for (std::uint32_t i = 0; i < count_; i++)
		std::swap(at_[i], to[i]);
	release();
}

void Pages::release() noexcept
{
	if (count_ == 0)
		return;
	rpcordma_release_pages(at_, count_);
	live_objects.held_pages.sub(count_);
	count_ = 0;
	if (more_) [[unlikely]] {
		more_ = kernel::Block();
		at_ = usual_.data();
	}
}

} // namespace rpcordma::server
