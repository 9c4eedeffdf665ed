// SPDX-License-Identifier: GPL-2.0-only
#include "server/pages.hh"

#include <utility>

#include "verbs/live.hh"

namespace rpcordma::server {

bool Pages::make_room(std::uint32_t count) noexcept
{
	if (count <= usual) [[likely]]
		return true;
	release();
	more_ = kernel::Block(count * sizeof(page *), kernel::GFP_KERNEL);
	if (!more_)
		return false;
	at_ = reinterpret_cast<page **>(more_.data());
	return true;
}

/* From here on so many are held, of so many. */
void Pages::set(std::uint32_t count, std::uint32_t owned) noexcept
{
	live_objects.held_pages.add(static_cast<long>(count) - count_);
	/* Those of a Push never are. */
	if (const long kept = static_cast<long>(owned - count) - (owned_ - count_))
		live_objects.kept_pages.add(kept);
	count_ = count;
	owned_ = owned;
}

void Pages::take(page **from, std::uint32_t count) noexcept
{
	const std::uint32_t wanted = missing(count);
	for (std::uint32_t i = 0; i < wanted; i++)
		at_[owned_ + i] = std::exchange(from[i], nullptr);
	set(count, owned_ + wanted);
}

void Pages::exchange(page **with) noexcept
{
	for (std::uint32_t i = 0; i < count_; i++)
		std::swap(at_[i], with[i]);
	if (more_) [[unlikely]]
		return release();
	set(0, owned_);
}

void Pages::release() noexcept
{
	if (owned_ == 0)
		return;
	rpcordma_release_pages(at_, owned_);
	set(0, 0);
	if (more_) [[unlikely]] {
		more_ = kernel::Block();
		at_ = usual_.data();
	}
}

} // namespace rpcordma::server
