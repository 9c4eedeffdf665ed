/* SPDX-License-Identifier: GPL-2.0-only */
/* Objects that are kept for their next users, and given up when none has needed them for some time. */
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernel/list.hh"

namespace rpcordma::kernel {

/* How many of a kind a connection keeps however long it is idle, where nothing else is said. */
inline constexpr std::uint32_t least_kept = 2;

/* Owns objects that were made with new and that nobody uses. The one that came last goes first: its memory is still in the
 * caches. Not synchronised. */
template <typename T> class Reserve {
    public:
	Reserve() noexcept = default;
	~Reserve() { objects_.delete_all(); }

	[[nodiscard]] std::uint32_t size() const noexcept { return objects_.size(); }
	[[nodiscard]] bool empty() const noexcept { return objects_.empty(); }
	void put(T &object) noexcept { objects_.push_front(object); }
	/* An object, which is the caller's then, or null. */
	[[nodiscard]] T *take() noexcept
	{
		T *const object = objects_.pop_front();
		fewest_ = std::min(fewest_, objects_.size());
		return object;
	}
	/* Moves to `to` as many as nobody has needed since the last call, but leaves `kept`. Those that were used longest ago
	 * go. For the caller to delete, where that may be done.
	 * Return: whether there are more that another call may move. */
	bool give_up(List<T> &to, std::uint32_t kept = least_kept) noexcept
	{
		std::uint32_t unneeded = std::exchange(fewest_, ~0u);
		for (; unneeded != 0 && size() > kept; unneeded--)
			to.push_back(*objects_.pop_back());
		fewest_ = size();
		return size() > kept;
	}
	void delete_all() noexcept { objects_.delete_all(); }

    private:
	List<T> objects_;
	/* The fewest that there were since the last look: so many have not been needed. */
	std::uint32_t fewest_ = 0;
};

} // namespace rpcordma::kernel
