/* SPDX-License-Identifier: GPL-2.0-only */
/* What all connections of the responder share. */
#pragma once

#include "kernel/kernel.hh"
#include "proto/failures.hh"

namespace rpcordma::server {

class Service {
    public:
	/* An RDMA operation for that transaction failed, and the connection with it (RFC 8166, 4.5.3). Any context. */
	void remember_failure(proto::Transaction transaction) noexcept { failures_.remember(transaction, now()); }
	/* Whether that is such a transaction, sent again. Any context. */
	[[nodiscard]] bool has_failed(proto::Transaction transaction) noexcept
	{
		return failures_.recognise(transaction, now());
	}

    private:
	static std::uint64_t now() noexcept { return static_cast<std::uint64_t>(ktime_get_seconds()); }

	proto::Failures<64> failures_;
};

/* The only one. */
[[nodiscard]] Service &service() noexcept;

/* Who is at an address, whatever its port. Any context. */
[[nodiscard]] proto::Requester requester_of(const sockaddr *peer) noexcept;

} // namespace rpcordma::server
