// SPDX-License-Identifier: GPL-2.0-only
#include "server/service.hh"

#include "kernel/observed.h"

namespace rpcordma::server {

Service &service() noexcept
{
	static constinit Service the_service;
	return the_service;
}

/* The port is another on each connection. */
proto::Requester requester_of(const sockaddr *peer) noexcept
{
	kernel::Opaque<sockaddr_storage> known;
	rpcordma_address_without_port(known.get(), peer);
	return proto::requester_at({reinterpret_cast<const std::byte *>(known.get()), sizeof(rpcordma_address::bytes)});
}

} // namespace rpcordma::server
