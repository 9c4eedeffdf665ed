// SPDX-License-Identifier: GPL-2.0-only
/// What a responder remembers of transactions whose RDMA operations failed, so that sending them again on a new
/// connection does not break that one as well (rfc5666bis-04, 5.5.3).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "wire/header.hh"

namespace rpcordma::proto {

/// The last few failures. Not synchronised: its owner's lock covers it.
template <typename Requester, std::size_t Size> class Failures {
    public:
	/// An RDMA Read or Write for that transaction failed because of what its requester had offered. `now` is in seconds
	/// of any clock.
	void remember(const Requester &requester, wire::Xid xid, std::uint64_t now) noexcept
	{
		entries_[next_] = Entry{requester, xid, now};
		next_ = (next_ + 1) % Size;
	}
	/// Whether a Call that came on another connection is one of those: then it gets ERR_CHUNK. Each is recognised once,
	/// and for no longer than `memory_seconds`, because requesters use XIDs again.
	[[nodiscard]] bool recognise(const Requester &requester, wire::Xid xid, std::uint64_t now) noexcept
	{
		for (std::optional<Entry> &entry : entries_) {
			if (!entry || entry->xid != xid || !(entry->requester == requester))
				continue;
			const bool is_recent = now - entry->when <= memory_seconds;
			entry.reset();
			if (is_recent)
				return true;
		}
		return false;
	}

	static constexpr std::uint64_t memory_seconds = 120;

    private:
	struct Entry {
		Requester requester;
		wire::Xid xid;
		std::uint64_t when;
	};
	std::array<std::optional<Entry>, Size> entries_;
	std::size_t next_ = 0;
};

} // namespace rpcordma::proto
