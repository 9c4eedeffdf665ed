// SPDX-License-Identifier: GPL-2.0-only
/// Which version of the protocol a requester speaks (draft-cel-nfsv4-rpcrdma-version-two-01, 5).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "proto/received.hh"

namespace rpcordma::proto {

/// The negotiation on one connection. It begins with the first Call, in the highest version, and is through with what comes for
/// that Call's XID, whether or not somebody still waits for it. Not synchronised.
class Negotiation {
    public:
	/// What a message means for it.
	enum class Verdict : std::uint8_t {
		/// Nothing: the message is judged as any other.
		nothing,
		/// The version of the first Call is settled. The message is judged as any other.
		settled,
		/// Another version is settled: the first Call is to be sent again in it.
		again,
		/// The version that was known is not spoken any more: another connection has to begin anew.
		outdated,
	};

	/// `known` is what the responder is known to speak; then nothing is left to negotiate.
	constexpr explicit Negotiation(wire::Version highest, std::optional<wire::Version> known) noexcept
		: version_(known && *known <= highest ? *known : highest)
		, is_settled_(known.has_value() || highest == wire::Version::one)
		, is_confirmed_(!known || version_ == wire::Version::one)
	{
	}

	/// That of the next Call.
	[[nodiscard]] constexpr wire::Version version() const noexcept { return version_; }
	/// Until it is, one Call at a time is outstanding, and it is small enough for every version.
	[[nodiscard]] constexpr bool is_settled() const noexcept { return is_settled_; }
	/// A Call is sent.
	constexpr void sent(wire::Xid xid) noexcept
	{
		if (is_settled_)
			return;
		first_ = xid;
		is_answered_ = false;
	}
	/// The connection has brought a Reply.
	constexpr void spoken() noexcept { is_confirmed_ = true; }
	/// Whether the version is only known from another connection. Where one ends like this that has been made, the responder
	/// may be another one by now.
	[[nodiscard]] constexpr bool is_doubtful() const noexcept { return !is_confirmed_; }
	/// A message has come.
	[[nodiscard]] Verdict take(const ForCall &message) noexcept;
	/// Whether the answer to a Call in an unsettled version is awaited. An error that leaves it unsettled is one.
	[[nodiscard]] constexpr bool is_awaited() const noexcept { return !is_settled_ && first_ && !is_answered_; }
	/// Whether what comes for this XID may settle it.
	[[nodiscard]] constexpr bool awaits(wire::Xid xid) const noexcept { return !is_settled_ && first_ == xid; }
	/// How the next connection begins, if this one ends before it has brought a Reply: one that is lost, or on which nothing
	/// answers, makes it version 1. None where nothing has been learnt.
	[[nodiscard]] std::optional<wire::Version> next() const noexcept;

    private:
	[[nodiscard]] Verdict refused(const wire::VersionError &range) noexcept;
	[[nodiscard]] Verdict answered() noexcept;
	[[nodiscard]] Verdict settle(wire::Version version) noexcept;

	wire::Version version_;
	bool is_settled_;
	/// False where the version is known from another connection, no Reply has come, and there is another version.
	bool is_confirmed_;
	std::optional<wire::Xid> first_;
	/// By an error that has left the version unsettled.
	bool is_answered_ = false;
};

/// What responders have turned out to speak. Of too many, the one that was not asked for for longest is forgotten. Not
/// synchronised.
class KnownVersions {
    public:
	static constexpr std::uint32_t most = 64;
	/// After an hour a responder is asked again, however often what it speaks was remembered: it may have been upgraded.
	static constexpr std::uint64_t memory_seconds = 3600;

	/// A digest of a responder's address and network namespace. Where two have the same, one of them is spoken to in a version
	/// that it may refuse, and is asked anew.
	enum class Responder : std::uint64_t {};

	/// `now` is in seconds, of a clock that does not go back.
	[[nodiscard]] std::optional<wire::Version> find(Responder responder, std::uint64_t now) noexcept;
	void remember(Responder responder, wire::Version version, std::uint64_t now) noexcept;
	void forget(Responder responder) noexcept;
	void forget_all() noexcept { count_ = 0; }

    private:
	struct Entry {
		Responder responder;
		wire::Version version;
		std::uint64_t learnt;
		std::uint64_t used;
	};
	[[nodiscard]] Entry *entry_of(Responder responder) noexcept;

	std::array<Entry, most> entries_{};
	std::uint32_t count_ = 0;
};

} // namespace rpcordma::proto
