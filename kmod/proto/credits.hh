// SPDX-License-Identifier: GPL-2.0-only
/// Flow control of the requester (RFC 8166, 3.3.1).
#pragma once

#include <cstdint>
#include <utility>

namespace rpcordma::proto {

/// What a grant was like.
enum class Grant : std::uint8_t {
	usual,
	/// Zero, which the specification forbids; taken as one, because servers exist that send it.
	zero,
	/// More than was asked for; taken as what was asked for.
	above_request,
};

/// For trace events and the log: scripts look for these words (Documentation/administration.rst).
[[nodiscard]] inline const char *name_of(Grant grant) noexcept
{
	static constexpr const char *names[] = {"usual", "zero", "above the request"};
	return names[std::to_underlying(grant)];
}

/// How many calls may be outstanding on a connection; a new one has new credits. Not synchronised: its owner's lock covers
/// it.
class Credits {
    public:
	/// `requested` credits are asked for in every Call; at least 1. One is available until the first Reply
	/// (RFC 8166, 3.3.3).
	constexpr explicit Credits(std::uint32_t requested) noexcept
		: requested_(requested == 0 ? 1 : requested)
	{
	}

	[[nodiscard]] constexpr std::uint32_t requested() const noexcept
	{
		return requested_;
	}
	/// The number of calls that may be outstanding now: 1 to requested().
	[[nodiscard]] constexpr std::uint32_t limit() const noexcept
	{
		return limit_;
	}
	/// Takes the credit value of a Reply that answered a call of ours.
	Grant granted(std::uint32_t value) noexcept;

    private:
	std::uint32_t requested_;
	std::uint32_t limit_ = 1;
};

} // namespace rpcordma::proto
