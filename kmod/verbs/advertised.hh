/* SPDX-License-Identifier: GPL-2.0-only */
/* The memory of one RPC that a peer may reach, from its registration until the peer reaches it no more. */
#pragma once

#include <optional>

#include "proto/segmenting.hh"
#include "verbs/receive_queue.hh"
#include "verbs/registration.hh"

namespace rpcordma::verbs {

/* The registrations of the chunks that a Call offers (RFC 8166, 3.4.3). Not synchronised: its owner sees to that. */
class Advertised {
    public:
	/* Takes all registrations that add() will need; there are none yet. Return: as RegistrationPool::take(). */
	[[nodiscard]] bool take(RegistrationPool &pool, std::uint32_t count) noexcept
	{
		const bool taken = pool.take(count, registrations_);
		next_ = registrations_.front();
		return taken;
	}
	/* Registers the memory that `cursor` and `segmenter` go through, with one of the registrations for each piece,
	 * appends the work requests to `chain`, and calls `offer` with each segment. Where the result is not yes, `chain`
	 * is not posted, and put_back() is due. */
	template <typename Offer>
	[[nodiscard]] Mapped add(PageCursor cursor, proto::Segmenter segmenter, Access access, Chain &chain,
				 Offer offer) noexcept
	{
		while (const auto piece = segmenter.next()) {
			Registration &registration = *next_;
			next_ = registrations_.behind(registration);
			if (const Mapped mapped = registration.map(cursor, *piece, access); mapped != Mapped::yes)
				return mapped;
			chain.append(registration.register_request());
			offer(registration.segment());
		}
		return Mapped::yes;
	}

	/* Each registration is one segment. */
	[[nodiscard]] std::uint32_t count() const noexcept { return registrations_.size(); }
	/* Calls `visit` for each registration. */
	template <typename Visitor> void for_each(Visitor visit) noexcept { registrations_.for_each(visit); }
	/* Notes what the peer has invalidated with the message in `buffer`. Return: false where the handle is none of
	 * these, so that some other RPC may have lost memory (RFC 8797, 4.1). */
	[[nodiscard]] bool mark_invalidated(const ReceiveBuffer &buffer) noexcept;
	/* Whether the peer has invalidated all. */
	[[nodiscard]] bool is_invalidated() noexcept
	{
		bool all = true;
		registrations_.for_each([&](const Registration &registration) { all &= registration.invalidated; });
		return all;
	}
	/* Posts the invalidation of what the peer has not invalidated; room for all was reserved. `signal` completes when
	 * that is done. Return: how many are posted, none where the peer has invalidated all; nothing where the connection
	 * is being closed: then the memory is to be taken back once the queue pair is drained. */
	[[nodiscard]] std::optional<std::uint32_t> invalidate(SendQueue &queue, Signal &signal) noexcept;
	/* Unmaps the memory, which the peer can reach no more, and gives the registrations back: some RPC may wait for them. */
	void take_back(RegistrationPool &pool) noexcept;
	/* The same, but tells nobody: of an RPC that cannot be sent now, or where the caller says that there is room. */
	void put_back(RegistrationPool &pool) noexcept;

    private:
	void unmap() noexcept;

	Registrations registrations_;
	/* The first of them that add() has not used. */
	Registration *next_ = nullptr;
};

} // namespace rpcordma::verbs
