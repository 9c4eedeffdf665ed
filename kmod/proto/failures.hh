// SPDX-License-Identifier: GPL-2.0-only
/// What a responder remembers of transactions whose RDMA operations failed, so that sending them again on a new
/// connection does not break that one as well (RFC 8166, 4.5.3).
#pragma once

#include <array>
#include <cstdint>

#include "kernel/atomic.hh"
#include "proto/arrival.hh"
#include "wire/xdr.hh"

namespace rpcordma::proto {

/// A digest of a requester's address.
enum class Requester : std::uint64_t {};

/// `address` is without the port, which changes with each connection.
[[nodiscard]] Requester requester_at(wire::Bytes address) noexcept;

/// A digest of what a Call is known by when it is sent again: its requester, its XID, and the segments that it offers.
/// Processes of one address may use the same XIDs; whoever does not know a Call's handles meets none but its own.
enum class Transaction : std::uint64_t {};

/// `message` is what the Call was found in.
[[nodiscard]] Transaction transaction_of(Requester requester, const Call &call, wire::Bytes message) noexcept;

/// The last few failures, one in each of `Size` places. Any number of threads at once.
template <std::size_t Size> class Failures {
    public:
	/// An RDMA Read or Write for that transaction failed because of what its requester had offered. Takes the place of
	/// another one, perhaps. `now` is in seconds of any clock.
	void remember(Transaction transaction, std::uint64_t now) noexcept
	{
		Place &place = place_of(transaction);
		place.transaction.set(transaction);
		place.forgotten_at.set(now + memory_seconds + 1);
	}
	/// Whether a Call that came on another connection is one of those: then it gets ERR_CHUNK. Each is recognised once,
	/// and for no longer than `memory_seconds`, because requesters use XIDs and handles again.
	[[nodiscard]] bool recognise(Transaction transaction, std::uint64_t now) noexcept
	{
		Place &place = place_of(transaction);
		if (place.transaction.read() != transaction)
			return false;
		return now < place.forgotten_at.xchg(0);
	}

	static constexpr std::uint64_t memory_seconds = 120;

    private:
	/// Each of the two is valid with any value of the other: what comes between remember()'s stores, or recognise()'s
	/// steps, at worst has a failure forgotten.
	struct Place {
		kernel::Atomic<Transaction> transaction;
		/// Zero where nothing is remembered.
		kernel::Atomic<std::uint64_t> forgotten_at{0};
	};
	[[nodiscard]] Place &place_of(Transaction transaction) noexcept
	{
		return places_[static_cast<std::uint64_t>(transaction) % Size];
	}

	std::array<Place, Size> places_;
};

} // namespace rpcordma::proto
