/* SPDX-License-Identifier: GPL-2.0-only */
/* The connection of a transport, made anew each time that sunrpc asks for one. */
#pragma once

#include <optional>

#include "kernel/atomic.hh"
#include "kernel/heap.hh"
#include "kernel/sync.hh"
#include "proto/connection.hh"
#include "verbs/endpoint.hh"

namespace rpcordma::client {

class Transport;

/* The largest payload of an RPC, in bytes, where the device carries it: what this kernel's servers take. */
inline constexpr std::uint32_t most_payload = kernel::RPCSVC_MAXPAYLOAD;

/* Makes a connection, at most one at a time, and closes it. Its lock may be taken inside of that of `Outstanding`. */
class Connector {
    public:
	/* `source` is the address to connect from, or null for any. */
	Connector(Transport &owner, const sockaddr *source, std::size_t source_length) noexcept;

	/* sunrpc's operations; each as sunrpc/xprt.h has it. */

	/* Begins an attempt to connect, on the workqueue of attempts. It has the send lock, which it takes over from the
	 * task. */
	void connect(rpc_task *task) noexcept;
	/* Context: the send lock, or nobody can call any more. Sleeps until the device has let go of all memory. `reason` counts
	 * where nothing else has ended the connection. */
	void close(const char *reason) noexcept;
	/* In jiffies. Both only become smaller. Context: any but an interrupt. */
	void set_timeouts(unsigned long connect, unsigned long reconnect) noexcept;
	/* The address that this connection was made from. Return: its length in characters, or -ENOTCONN. */
	[[nodiscard]] int print_source(char *buffer, std::size_t size) noexcept RPCORDMA_EXCLUDES(lock_);
	[[nodiscard]] unsigned short source_port() noexcept RPCORDMA_EXCLUDES(lock_);

	/* Ends an attempt that has not begun, and waits for one that has. Nobody can call connect(). Context: sleeps. */
	void cancel() noexcept;
	/* Has sunrpc close the connection, and make a new one when there is something to send. Context: process; does not sleep. */
	void end(proto::Reconnection::By by, const verbs::Ending &why) noexcept RPCORDMA_EXCLUDES(lock_);
	/* The same, by the requester. */
	[[gnu::noinline]] void give_up(const char *reason) noexcept RPCORDMA_EXCLUDES(lock_);
	/* The connection has brought a Reply. Context: a completion. */
	void replied() noexcept RPCORDMA_EXCLUDES(lock_)
	{
		if (!useful_.read()) [[unlikely]]
			useful();
	}

	/* The connection, which exists. Context: the send lock, if sunrpc has been told that there is a connection; or its
	 * completions, which close() waits for. */
	[[nodiscard]] verbs::Endpoint &endpoint() noexcept { return *endpoint_; }
	/* Those of the connection, or the defaults if there is none (RFC 8166, 3.3.2). Context: process; does not sleep. */
	[[nodiscard]] proto::InlineThresholds thresholds() noexcept RPCORDMA_EXCLUDES(lock_);
	/* The number of registrations made on this and all earlier connections. Context: process; does not sleep. */
	[[nodiscard]] unsigned long registrations_made() noexcept RPCORDMA_EXCLUDES(lock_);
	/* What there is to say of the connection. `version` is the one that is spoken. Context: process; does not sleep. */
	void observe(rpcordma_connection &to, wire::Version version) noexcept RPCORDMA_EXCLUDES(lock_);

    private:
	void attempt() noexcept RPCORDMA_EXCLUDES(lock_);
	[[nodiscard]] proto::ConnectOutcome make() noexcept RPCORDMA_EXCLUDES(lock_);
	/* As close(). */
	void drop(const char *reason) noexcept RPCORDMA_EXCLUDES(lock_);
	void take_down(const char *reason) noexcept RPCORDMA_EXCLUDES(lock_);
	void established() noexcept RPCORDMA_EXCLUDES(lock_);
	[[nodiscard]] u32 state() const noexcept RPCORDMA_REQUIRES(lock_);
	/* Has sunrpc know this connection from the one before it, or none. */
	void new_cookie() noexcept;
	void useful() noexcept RPCORDMA_EXCLUDES(lock_);
	[[nodiscard]] unsigned long next_delay() noexcept RPCORDMA_EXCLUDES(lock_);
	[[nodiscard]] proto::Reconnection::Pace pace() noexcept RPCORDMA_EXCLUDES(lock_);
	[[nodiscard]] std::uint64_t since_began() const noexcept RPCORDMA_REQUIRES(lock_);

	Transport &owner_;
	rpc_xprt *const xprt_;
	kernel::Opaque<sockaddr_storage> wanted_source_;
	const bool has_wanted_source_;
	kernel::Opaque<delayed_work> work_;
	/* This mount's, where it is not the default. Guarded by sunrpc's transport_lock. */
	kernel::Opaque<rpc_timeout> timeout_;
	/* Whether this connection has brought a reply, for a look without the lock. Ordered against nothing. */
	kernel::Atomic<bool> useful_{false};
	/* Changes with the send lock and lock_ both held. */
	kernel::Owned<verbs::Endpoint> endpoint_;

	kernel::SpinLock lock_{RPCORDMA_LOCK_CONNECTOR};
	proto::Reconnection reconnection_ RPCORDMA_GUARDED_BY(lock_);
	/* When the last attempt to connect began, in jiffies. */
	unsigned long began_ RPCORDMA_GUARDED_BY(lock_) = 0;
	/* When this connection was established, in seconds, where it is; and what ended it first. */
	std::optional<std::uint64_t> established_at_ RPCORDMA_GUARDED_BY(lock_);
	verbs::Ending ending_ RPCORDMA_GUARDED_BY(lock_);
	unsigned long registrations_of_past_connections_ RPCORDMA_GUARDED_BY(lock_) = 0;
	/* The connection's own, from the attempt to make it: sunrpc's may be written at any time. */
	rpcordma_address destination_ RPCORDMA_GUARDED_BY(lock_){};
	kernel::Opaque<sockaddr_storage> source_ RPCORDMA_GUARDED_BY(lock_);
};

} // namespace rpcordma::client
