// SPDX-License-Identifier: GPL-2.0-only
/// How many connections a responder takes from one requester: who makes them without end waits, and nobody else does.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "proto/failures.hh"

namespace rpcordma::proto {

/// Remembers `Size` requesters. One that has taken nothing for some time is as good as one that is not known, so that others
/// push a requester out only where each of the `Size` has taken something lately; then it is the one with the least to pay.
/// The caller sees to it that one thread uses it at a time.
template <std::size_t Size> class Admission {
    public:
	/// What a requester may take at once, after it has taken nothing for long enough: all of a machine's connections, where
	/// the server has been away.
	static constexpr std::uint32_t burst = 256;
	/// Of a requester, in nanoseconds. Less than the ten seconds after which requesters over iWARP give up.
	static constexpr std::uint64_t longest_wait = 4'000'000'000;

	/// A requester wants one more connection. `rate` is the number that it may have in each second beyond the burst, 0
	/// without a limit; `now` is in nanoseconds of any clock that does not go back, from 0 on; `can_wait` is whether there
	/// is room to keep what it asks for.
	/// Return: when it may have it, `now` or later. Nothing where it cannot wait, or would for too long: then it has not
	/// taken it.
	[[nodiscard]] std::optional<std::uint64_t> admit(Requester requester, std::uint64_t now, std::uint32_t rate,
							 bool can_wait) noexcept
	{
		if (rate == 0)
			return now;
		const std::uint64_t interval = 1'000'000'000 / rate;
		Place &place = place_of(requester);
		if (place.requester != requester)
			place = {.requester = requester};
		/* What was taken at a lower rate is not owed for longer than the most that can be owed at this one. */
		const std::uint64_t full_at = now + burst * interval;
		place.paid_at = std::clamp(place.paid_at, now, full_at + longest_wait);
		const std::uint64_t paid_at = place.paid_at + interval;
		const std::uint64_t wait = std::max(paid_at, full_at) - full_at;
		if (wait > (can_wait ? longest_wait : 0))
			return std::nullopt;
		place.paid_at = paid_at;
		return now + wait;
	}

    private:
	struct Place {
		Requester requester{};
		/// When all that it took is paid for: each connection costs an interval. In the past, it has no debt.
		std::uint64_t paid_at = 0;
	};

	[[nodiscard]] Place &place_of(Requester requester) noexcept
	{
		const auto known = std::ranges::find(places_, requester, &Place::requester);
		return known != places_.end() ? *known : *std::ranges::min_element(places_, {}, &Place::paid_at);
	}

	std::array<Place, Size> places_;
};

} // namespace rpcordma::proto
