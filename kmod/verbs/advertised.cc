// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/advertised.hh"

#include <array>

#include "proto/reply.hh"

namespace rpcordma::verbs {

bool Advertised::mark_invalidated(const ReceiveBuffer &buffer) noexcept
{
	u32 handle;
	if (!buffer.invalidated(handle))
		return true;
	/* Those of a Read chunk and of a Write or Reply chunk. */
	std::array<wire::Handle, 2 * most_segments> offered;
	std::uint32_t count = 0;
	registrations_.for_each([&](Registration &registration) {
		offered[count++] = registration.handle();
		registration.invalidated |= registration.handle() == wire::Handle{handle};
	});
	return proto::may_be_invalidated(wire::Handle{handle}, std::span(offered).first(count));
}

std::optional<std::uint32_t> Advertised::invalidate(SendQueue &queue, Signal &signal) noexcept
{
	Chain chain;
	std::uint32_t by_peer = 0;
	registrations_.for_each([&](Registration &registration) {
		if (registration.invalidated)
			by_peer++;
		else
			chain.append(registration.invalidate_request());
	});
	if (by_peer != 0)
		queue.release(by_peer);
	if (chain.count != 0 && !queue.post(chain, signal))
		return std::nullopt;
	return chain.count;
}

void Advertised::take_back(RegistrationPool &pool) noexcept
{
	registrations_.for_each([](Registration &registration) { registration.unmap(); });
	pool.give_back(registrations_);
}

} // namespace rpcordma::verbs
