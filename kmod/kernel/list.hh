/* SPDX-License-Identifier: GPL-2.0-only */
/* An intrusive, doubly linked list: no memory of its own, an element is on at most one. */
#pragma once

#include <cstdint>
#include <utility>

namespace rpcordma::kernel {

/* A base of what can be on a List, or in a Reserve. */
template <typename T> class ListNode {
    public:
	ListNode() noexcept = default;
	ListNode(const ListNode &) = delete;
	ListNode &operator=(const ListNode &) = delete;

    private:
	template <typename> friend class List;
	template <typename> friend class Reserve;
	ListNode *previous_ = nullptr;
	ListNode *next_ = nullptr;
};

/* Elements in the order in which they were put. Does not own them. */
template <typename T> class List {
    public:
	List() noexcept
	{
		head_.previous_ = &head_;
		head_.next_ = &head_;
	}

	[[nodiscard]] bool empty() const noexcept { return head_.next_ == &head_; }
	[[nodiscard]] std::uint32_t size() const noexcept { return size_; }
	/* The first element, or null. */
	[[nodiscard]] T *front() noexcept { return empty() ? nullptr : static_cast<T *>(head_.next_); }
	/* The one behind `element`, which is on this list; or null. */
	[[nodiscard]] T *behind(T &element) noexcept
	{
		ListNode<T> &node = element;
		return node.next_ == &head_ ? nullptr : static_cast<T *>(node.next_);
	}
	void push_back(T &element) noexcept { link(element, *head_.previous_); }
	void push_front(T &element) noexcept { link(element, head_); }
	/* Takes the first element off, or null. */
	[[nodiscard]] T *pop_front() noexcept
	{
		ListNode<T> *const first = head_.next_;
		if (first == &head_)
			return nullptr;
		head_.next_ = std::exchange(first->next_, nullptr);
		head_.next_->previous_ = &head_;
		first->previous_ = nullptr;
		size_--;
		return static_cast<T *>(first);
	}
	/* Takes the last element off, or null. */
	[[nodiscard]] T *pop_back() noexcept
	{
		T *const last = empty() ? nullptr : static_cast<T *>(head_.previous_);
		if (last)
			remove(*last);
		return last;
	}
	/* `element` is on this list. */
	void remove(T &element) noexcept
	{
		ListNode<T> &node = element;
		node.previous_->next_ = node.next_;
		node.next_->previous_ = node.previous_;
		node.previous_ = nullptr;
		node.next_ = nullptr;
		size_--;
	}
	/* Deletes all elements, which were made with new. */
	void delete_all() noexcept
	{
		while (T *const element = pop_front())
			delete element;
	}
	/* Calls `visit` for each element; it must not change the list. */
	template <typename Visitor> void for_each(Visitor visit) noexcept
	{
		for (ListNode<T> *node = head_.next_; node != &head_; node = node->next_)
			visit(*static_cast<T *>(node));
	}

	/* The first element for which `test` is true, or null. */
	template <typename Test> [[nodiscard]] T *find(Test test) noexcept
	{
		for (ListNode<T> *node = head_.next_; node != &head_; node = node->next_) {
			T *const element = static_cast<T *>(node);
			if (test(*element))
				return element;
		}
		return nullptr;
	}

    private:
	void link(ListNode<T> &node, ListNode<T> &after) noexcept
	{
		node.previous_ = &after;
		node.next_ = after.next_;
		after.next_->previous_ = &node;
		after.next_ = &node;
		size_++;
	}

	ListNode<T> head_;
	std::uint32_t size_ = 0;
};

} // namespace rpcordma::kernel
