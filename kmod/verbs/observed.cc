// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/observed.hh"

#include <algorithm>
#include <array>
#include <span>

#include "kernel/heap.hh"
#include "kernel/sync.hh"
#include "verbs/observed.h"
#include "verbs/tallies.hh"

namespace rpcordma::verbs {

namespace {

/* A disconnect, and the network namespace that may see it. */
struct Noted {
	std::uint64_t network = 0;
	rpcordma_disconnect disconnect{};
};

/* All that can be found. Lists are in the order of ids: they grow at their ends. */
struct Observatory : kernel::Heap {
	kernel::SpinLock lock{RPCORDMA_LOCK_OBSERVATORY};
	std::uint64_t last_id RPCORDMA_GUARDED_BY(lock) = 0;
	kernel::List<ObservedListener> listeners RPCORDMA_GUARDED_BY(lock);
	kernel::List<ObservedConnection> connections RPCORDMA_GUARDED_BY(lock);
	std::uint64_t disconnects RPCORDMA_GUARDED_BY(lock) = 0;
	/* The n-th is at n modulo their number. */
	std::array<Noted, 64> latest RPCORDMA_GUARDED_BY(lock){};

	kernel::List<ObservedListener> &list_of(const ObservedListener &) RPCORDMA_REQUIRES(lock) { return listeners; }
	kernel::List<ObservedConnection> &list_of(const ObservedConnection &) RPCORDMA_REQUIRES(lock)
	{
		return connections;
	}
};

constinit Observatory *observatory = nullptr;

template <typename Record>
bool observe_next(kernel::List<Observed<Record>> &list, const net *network, std::uint64_t after, Record &to) noexcept
{
	Observed<Record> *const next = list.find([=](const Observed<Record> &candidate) {
		return candidate.id() > after && candidate.network() == network;
	});
	if (!next)
		return false;
	to.id = next->id();
	next->observe(to);
	return true;
}

} // namespace

template <typename Record> void Observed<Record>::enlist() noexcept
{
	kernel::Guard guard(observatory->lock);
	id_ = ++observatory->last_id;
	observatory->list_of(*this).push_back(*this);
}

template <typename Record> void Observed<Record>::withdraw() noexcept
{
	kernel::Guard guard(observatory->lock);
	observatory->list_of(*this).remove(*this);
}

template <typename Record>
void Observed<Record>::tell(rpcordma_happening happening, const rpcordma_address &remote,
			    const Ending &why) const noexcept
{
	const rpcordma_event event{.happening = happening,
				   .role = role_,
				   .connection = id_,
				   .remote = remote,
				   .reason = why.reason,
				   .detail = why.detail};
	rpcordma_send_event(network_, &event);
}

template class Observed<rpcordma_listener>;
template class Observed<rpcordma_connection>;

void tell_disconnected(const ObservedConnection &connection, const rpcordma_address &remote, std::uint64_t age,
		       const Ending &why) noexcept
{
	{
		kernel::Guard guard(observatory->lock);
		const std::uint64_t number = ++observatory->disconnects;
		observatory->latest[number % observatory->latest.size()] = {
			.network = rpcordma_network_cookie(connection.network()),
			.disconnect = {.id = number,
				       .connection = connection.id(),
				       .role = connection.role(),
				       .remote = remote,
				       .time = static_cast<std::uint64_t>(ktime_get_real_seconds()),
				       .age = age,
				       .reason = why.reason,
				       .detail = why.detail}};
	}
	connection.tell(RPCORDMA_HAPPENING_DISCONNECTED, remote, why);
}

void Tallies::observe(rpcordma_connection &to) const noexcept
{
	const auto copy = [](const Tally &tally, std::span<rpcordma_tallied> copies) {
		auto next = copies.begin();
		tally.for_each([&next](const char *name, std::uint64_t count) { *next++ = {name, count}; });
	};
	copy(waits, to.waits);
	copy(refused, to.refused);
	copy(errors_sent, to.errors_sent);
	copy(errors_received, to.errors_received);
}

} // namespace rpcordma::verbs

using namespace rpcordma;

int rpcordma_observing_start(void)
{
	verbs::observatory = new (kernel::GFP_KERNEL) verbs::Observatory;
	return verbs::observatory ? 0 : -kernel::ENOMEM;
}

void rpcordma_observing_stop(void)
{
	delete verbs::observatory;
}

bool rpcordma_observe_listener(const net *network, u64 after, void *to)
{
	kernel::Guard guard(verbs::observatory->lock);
	return verbs::observe_next(verbs::observatory->listeners, network, after,
				   *static_cast<rpcordma_listener *>(to));
}

bool rpcordma_observe_connection(const net *network, u64 after, void *to)
{
	kernel::Guard guard(verbs::observatory->lock);
	return verbs::observe_next(verbs::observatory->connections, network, after,
				   *static_cast<rpcordma_connection *>(to));
}

bool rpcordma_observe_disconnect(const net *network, u64 after, void *to)
{
	const u64 cookie = rpcordma_network_cookie(network);
	kernel::Guard guard(verbs::observatory->lock);
	const u64 kept = verbs::observatory->latest.size();
	const u64 last = verbs::observatory->disconnects;
	for (u64 number = std::max(after, last - std::min(last, kept)) + 1; number <= last; number++) {
		const verbs::Noted &noted = verbs::observatory->latest[number % kept];
		if (noted.network != cookie)
			continue;
		*static_cast<rpcordma_disconnect *>(to) = noted.disconnect;
		return true;
	}
	return false;
}
