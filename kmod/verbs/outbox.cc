// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/outbox.hh"

#include <algorithm>

namespace rpcordma::verbs {

Posting::Front::Front(Posting &posting) noexcept
	: Signal([](Signal &signal) noexcept {
		Posting &owner = static_cast<Front &>(signal).owner;
		owner.outbox_->front_done(owner);
	})
	, owner(posting)
{
}

Posting::Posting(Action done) noexcept
	: Signal(done)
	, front_(*this)
{
}

bool Outbox::post(SendBuffer &message, std::uint32_t size, std::optional<u32> invalidate) noexcept
{
	return !is_crowded() && queue_->post_at_once(message, size, invalidate);
}

void Outbox::put(Posting &posting) noexcept
{
	posting.outbox_ = this;
	posting.has_begun_ = false;
	posting.front_.reset();
	if (!is_crowded() && post(posting, Parts::no) == Outcome::gone)
		return;
	const wire::Xid xid = posting.xid;
	{
		kernel::Guard guard(lock_);
		postings_.push_back(posting);
		(void)waiting_.fetch_add(1);
	}
	listener_.posting_waits(xid);
	/* What it lacked may have come before it was seen to wait, or it goes in parts; and what it held for a moment, another
	 * may have missed. */
	advance();
}

void Outbox::advance() noexcept
{
	{
		kernel::Guard guard(lock_);
		has_room_ = true;
		if (std::exchange(is_advancing_, true))
			return;
	}
	/* This may be the context that what is to be written out waits for. */
	const unsigned int scope = rpcordma_reclaim_scope_enter(false);
	while (Posting *const first = next()) {
		const Outcome outcome = post(*first, Parts::yes);
		kernel::Guard guard(lock_);
		if (outcome == Outcome::waits) {
			postings_.push_front(*first);
			continue;
		}
		(void)waiting_.fetch_sub(1);
		has_room_ = true;
	}
	rpcordma_reclaim_scope_leave(scope);
	if (!is_crowded())
		listener_.outbox_is_empty();
}

/* The one to be posted, or null where that would be in vain. */
Posting *Outbox::next() noexcept
{
	kernel::Guard guard(lock_);
	Posting *const first = std::exchange(has_room_, false) ? postings_.pop_front() : nullptr;
	is_advancing_ = first != nullptr;
	return first;
}

Outbox::Outcome Outbox::post(Posting &posting, Parts may_go_in_parts) noexcept
{
	if (posting.front_.is_posted.read())
		return Outcome::waits;
	if (posting.has_begun_)
		return post_prepared(posting, may_go_in_parts);
	if (const int error = prepare(posting.transfers); error != 0) {
		if (error == -kernel::EAGAIN)
			return Outcome::waits;
		listener_.not_prepared();
		return Outcome::gone;
	}
	const Outcome outcome = post_prepared(posting, may_go_in_parts);
	if (outcome == Outcome::waits && !posting.has_begun_)
		unprepare(posting.transfers);
	return outcome;
}

/* Once all of it is posted, it may be done with at any time. */
Outbox::Outcome Outbox::post_prepared(Posting &posting, Parts may_go_in_parts) noexcept
{
	const std::uint32_t longest = queue_->longest_chain();
	const std::uint32_t left = posting.left();
	const bool is_last = left <= longest;
	if (!is_last && may_go_in_parts == Parts::no)
		return Outcome::waits;
	SendBuffer *const message = posting.message;
	if (!queue_->reserve(is_last ? left + (message ? 1 : 0) : longest))
		return Outcome::waits;
	if (!std::exchange(posting.has_begun_, true)) {
		posting.rest_ = chain_of(posting.transfers);
		posting.watch(*queue_, posting.rest_);
	}
	/* Where posting fails, the connection has been given up, and nothing more is heard of it. */
	if (!is_last) {
		posting.front_.is_posted.set(true);
		(void)queue_->post(posting.rest_.cut(longest), posting.front_);
		return Outcome::waits;
	}
	posting.message = nullptr;
	if (message)
		(void)queue_->post(*message, posting.message_size, posting.rest_,
				   {.watcher = &posting, .invalidate = posting.invalidate});
	else
		(void)queue_->post(posting.rest_, posting);
	return Outcome::gone;
}

/* In the context of the completion queue. */
void Outbox::front_done(Posting &posting) noexcept
{
	posting.front_.is_posted.set(false);
	listener_.posted_in_part(posting);
	advance();
}

void Outbox::clear() noexcept
{
	kernel::Guard guard(lock_);
	while (postings_.pop_front())
		waiting_.sub(1);
}

} // namespace rpcordma::verbs
