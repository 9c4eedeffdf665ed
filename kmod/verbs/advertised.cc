// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/advertised.hh"

namespace rpcordma::verbs {

bool Advertised::mark_invalidated(const ReceiveBuffer &buffer) noexcept
{
	u32 handle;
	if (!buffer.invalidated(handle))
		return true;
	bool is_offered = false;
	registrations_.for_each([&](Registration &registration) {
		if (registration.handle() == wire::Handle{handle})
			is_offered = registration.invalidated = true;
	});
	return is_offered;
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
	unmap();
	pool.give_back(registrations_);
}

void Advertised::put_back(RegistrationPool &pool) noexcept
{
	unmap();
	pool.put_back(registrations_);
}

void Advertised::unmap() noexcept
{
	registrations_.for_each([](Registration &registration) { registration.unmap(); });
}

} // namespace rpcordma::verbs
