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

/// The credits of one connection, and the Calls that hold them; a new connection has new ones. A Call holds its credit until
/// its Reply comes, also where nobody waits for that any more. Not synchronised: its owner's lock covers it.
class Credits {
    public:
	/// `requested` credits are asked for in every Call; at least 1. One is available until the first Reply
	/// (RFC 8166, 3.3.3).
	constexpr explicit Credits(std::uint32_t requested) noexcept
		: requested_(requested == 0 ? 1 : requested)
	{
	}

	[[nodiscard]] constexpr std::uint32_t requested() const noexcept { return requested_; }
	/// The number of calls that may be outstanding now: 1 to requested().
	[[nodiscard]] constexpr std::uint32_t limit() const noexcept { return limit_; }
	/// Takes the credit value of a Reply that answered a call of ours.
	Grant granted(std::uint32_t value) noexcept;
	/// The same of an error, which is a grant only once a Reply has come (draft-cel-nfsv4-rpcrdma-version-two-01, 5).
	Grant granted_by_error(std::uint32_t value) noexcept { return has_grant_ ? granted(value) : Grant::usual; }

	/// The Calls that have no Reply.
	[[nodiscard]] constexpr std::uint32_t outstanding() const noexcept { return outstanding_; }
	/// Whether another Call may be sent.
	[[nodiscard]] constexpr bool is_available() const noexcept { return outstanding_ < limit_; }
	/// Whether nobody waits for any Reply that is to come.
	[[nodiscard]] constexpr bool are_abandoned() const noexcept { return outstanding_ == abandoned_; }
	/// A Call is sent.
	constexpr void take() noexcept { outstanding_++; }
	/// The Reply to a Call has come.
	constexpr void give_back() noexcept { outstanding_--; }
	/// Nobody waits for the Reply to a Call any more. The responder still owes it, and with it the credit.
	void abandon() noexcept;
	/// A Reply has come that nobody waits for: to a Call that was abandoned, or that is about to be.
	void unclaimed() noexcept;

    private:
	std::uint32_t requested_;
	std::uint32_t limit_ = 1;
	bool has_grant_ = false;
	std::uint32_t outstanding_ = 0;
	/// Of the Calls that are outstanding, those that nobody waits for.
	std::uint32_t abandoned_ = 0;
	/// Replies that came between a Call's end and abandon().
	std::uint32_t unclaimed_ = 0;
};

} // namespace rpcordma::proto
