/* SPDX-License-Identifier: GPL-2.0-only */
/* What all connections of the responder share. */
#pragma once

#include <array>

#include "kernel/heap.hh"
#include "kernel/sync.hh"
#include "proto/failures.hh"

namespace rpcordma::server {

/* A requester's address without its port, which changes with each connection. */
struct Requester {
	std::array<u8, 28> address;

	friend bool operator==(const Requester &, const Requester &) = default;
};

class Service : public kernel::Heap {
    public:
	/* An RDMA operation for that transaction failed, and the connection with it (rfc5666bis-04, 5.5.3). */
	void remember_failure(const Requester &requester, wire::Xid xid) noexcept RPCORDMA_EXCLUDES(lock_)
	{
		kernel::Guard guard(lock_);
		failures_.remember(requester, xid, now());
		any_.store(true);
	}
	/* Whether that is such a transaction, sent again. */
	[[nodiscard]] bool has_failed(const Requester &requester, wire::Xid xid) noexcept RPCORDMA_EXCLUDES(lock_)
	{
		if (!any_.load())
			return false;
		kernel::Guard guard(lock_);
		return failures_.recognise(requester, xid, now());
	}

    private:
	static std::uint64_t now() noexcept
	{
		return static_cast<std::uint64_t>(ktime_get_seconds());
	}

	kernel::SpinLock lock_{"Service"};
	proto::Failures<Requester, 64> failures_ RPCORDMA_GUARDED_BY(lock_);
	/* Whether there was ever a failure: mostly not. */
	std::atomic<bool> any_{false};
};

/* Exists while the module serves. */
[[nodiscard]] Service &service() noexcept;

} // namespace rpcordma::server
