// SPDX-License-Identifier: GPL-2.0-only
/// Flow control of the responder (RFC 8166, 3.3.1).
#pragma once

#include <algorithm>
#include <cstdint>

namespace rpcordma::proto {

/// How many Calls a requester may have outstanding, and how many it has. The grant grows with use at once, and shrinks where
/// less has been used for some time. Not synchronised: its owner's lock covers it.
class Grants {
    public:
	/// What is granted with the first Reply, where it is asked for.
	static constexpr std::uint32_t first = 8;

	/// At most `most` credits, at least 1.
	constexpr explicit Grants(std::uint32_t most) noexcept
		: most_(std::max(most, 1u))
	{
	}

	/// A message has come that may be a Call. False where that is one more than `most`: no grant covers it. What exceeds
	/// a smaller grant is let be: the requester may have sent it before it saw that grant, or does not begin a new
	/// connection with one Call.
	[[nodiscard]] bool arrived() noexcept;
	/// A Call asks for so many credits.
	void requested(std::uint32_t credits) noexcept { requested_ = std::max(credits, 1u); }
	/// It was none, or is about to be answered, or never will be.
	void done() noexcept;

	/// What the next Reply should announce: 1 to `most`. Doubles once more than half of what is granted has been in use
	/// lately, up to what the requester asked for; halves where look_back() has found that too much. Before it is
	/// announced, that many Receives have to be posted (RFC 8166, 3.3.1).
	[[nodiscard]] std::uint32_t next() const noexcept;
	/// A Reply announces `credits`. Where these are fewer than before, Calls may come still that the requester sent before
	/// it saw them: they find the Receives that have been posted for them.
	void announced(std::uint32_t credits) noexcept;
	/// Some time has passed since the last call. Where no more than a quarter of what is granted was in use meanwhile, the
	/// next Reply grants half, but no less than `first`.
	/// Return: whether another call may find the grant too large, though no Reply is sent meanwhile.
	bool look_back() noexcept;
	/// What was announced last: 1 before the first Reply (RFC 8166, 3.3.3).
	[[nodiscard]] constexpr std::uint32_t in_force() const noexcept { return announced_; }
	/// What the last Call asked for.
	[[nodiscard]] constexpr std::uint32_t wanted() const noexcept { return requested_; }
	/// Calls that have come and have no answer.
	[[nodiscard]] constexpr std::uint32_t outstanding() const noexcept { return outstanding_; }
	/// How many Receives have to be posted so that every Call that may come with `credits` granted finds one.
	[[nodiscard]] constexpr std::uint32_t receives_for(std::uint32_t credits) const noexcept
	{
		return credits - std::min(credits, outstanding_);
	}

    private:
	std::uint32_t most_;
	std::uint32_t announced_ = 1;
	std::uint32_t outstanding_ = 0;
	/// The most that was outstanding at a time, since the last look.
	std::uint32_t peak_ = 0;
	/// The next Reply grants less.
	bool shrinks_ = false;
	std::uint32_t requested_ = 1;
};

} // namespace rpcordma::proto
