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
	Reserve(const Reserve &) = delete;
	Reserve &operator=(const Reserve &) = delete;
	~Reserve() { delete_all(); }

	[[nodiscard]] std::uint32_t size() const noexcept { return size_; }
	[[nodiscard]] bool empty() const noexcept { return size_ == 0; }
	void put(T &object) noexcept
	{
		ListNode<T> &node = object;
		node.next_ = std::exchange(head_.next_, &node);
		size_++;
	}
	/* An object, which is the caller's then, or null. */
	[[nodiscard]] T *take() noexcept
	{
		ListNode<T> *const node = head_.next_;
		if (!node) {
			fewest_ = 0;
			return nullptr;
		}
		head_.next_ = node->next_;
		size_--;
		fewest_ = std::min(fewest_, size_);
		return static_cast<T *>(node);
	}
	/* Moves to `to` as many as nobody has needed since the last call, but leaves `kept`. Those that were used longest ago
	 * go. For the caller to delete, where that may be done.
	 * Return: whether there are more that another call may move. */
	bool give_up(List<T> &to, std::uint32_t kept = least_kept) noexcept
	{
		const std::uint32_t left = std::max(size_ - fewest_, std::min(size_, kept));
		if (left != size_)
			cut(left, to);
		fewest_ = size_;
		return size_ > kept;
	}
	void delete_all() noexcept
	{
		while (T *const object = take())
			delete object;
	}

    private:
	/* Moves all but the first `left`. */
	void cut(std::uint32_t left, List<T> &to) noexcept
	{
		ListNode<T> *last = &head_;
		for (size_ = 0; size_ != left; size_++)
			last = last->next_;
		ListNode<T> *node = std::exchange(last->next_, nullptr);
		while (node)
			to.push_back(*static_cast<T *>(std::exchange(node, node->next_)));
	}

	/* Linked in one direction: an RPC takes and puts the first one. */
	ListNode<T> head_;
	std::uint32_t size_ = 0;
	/* The fewest that there were since the last look: so many have not been needed. */
	std::uint32_t fewest_ = 0;
};

} // namespace rpcordma::kernel
