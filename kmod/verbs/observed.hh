/* SPDX-License-Identifier: GPL-2.0-only */
/* What tells of itself to whoever looks, by the netlink family: connections of both roles, and listeners. */
#pragma once

#include "kernel/kernel.hh"
#include "kernel/list.hh"
#include "kernel/observed.h"

namespace rpcordma::verbs {

/* Why a connection ended; of no reason if it is not known. Both are constants. */
struct Ending {
	const char *reason = nullptr;
	const char *detail = "";
};

/* An address, as it is shown. */
[[nodiscard]] inline rpcordma_address address_of(const sockaddr *address) noexcept
{
	rpcordma_address copy;
	__builtin_memcpy(copy.bytes, address, sizeof(copy.bytes));
	return copy;
}

/* What can be found, from enlist() to withdraw(). Its number is its own for as long as the module is loaded. */
template <typename Record> class Observed : public kernel::ListNode<Observed<Record>> {
    public:
	Observed(net *network, rpcordma_role role) noexcept
		: network_(network)
		, role_(role)
	{
	}
	Observed(const Observed &) = delete;
	Observed &operator=(const Observed &) = delete;

	/* It can be found from here on. Process context. */
	void enlist() noexcept;
	/* It cannot be found any more, and nobody observes it. Once. Process context. */
	void withdraw() noexcept;
	/* Tells who listens. `remote` is the peer's address, or a listener's own. Any process context; does not sleep. */
	void tell(rpcordma_happening happening, const rpcordma_address &remote, const Ending &why = {}) const noexcept;

	[[nodiscard]] std::uint64_t id() const noexcept { return id_; }
	[[nodiscard]] net *network() const noexcept { return network_; }
	[[nodiscard]] rpcordma_role role() const noexcept { return role_; }

	/* Says how it stands: all but the id. Context: a lock that is taken outside of all others of ours; does not
	 * sleep. */
	virtual void observe(Record &to) noexcept = 0;

    protected:
	~Observed() = default;

    private:
	net *const network_;
	const rpcordma_role role_;
	std::uint64_t id_ = 0;
};

using ObservedListener = Observed<rpcordma_listener>;
using ObservedConnection = Observed<rpcordma_connection>;

/* A connection that was there `age` seconds is over: it is noted among the latest disconnects, and told. Any process context;
 * does not sleep. */
void tell_disconnected(const ObservedConnection &connection, const rpcordma_address &remote, std::uint64_t age,
		       const Ending &why) noexcept;

/* Seconds, for the age of connections. */
[[nodiscard]] inline std::uint64_t seconds_now() noexcept
{
	return static_cast<std::uint64_t>(ktime_get_seconds());
}

} // namespace rpcordma::verbs
