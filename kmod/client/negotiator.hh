/* SPDX-License-Identifier: GPL-2.0-only */
/* The version of the protocol that a transport's connection speaks: what it begins with, and what becomes of the first Call
 * until it is settled. What is decided is in proto/negotiation.hh. */
#pragma once

#include <array>

#include "kernel/atomic.hh"
#include "kernel/sync.hh"
#include "proto/connection.hh"
#include "proto/negotiation.hh"
#include "verbs/endpoint.hh"

namespace rpcordma::client {

class Transport;

/* Negotiates the version of each connection. Its lock guards all of it but what atomics say. */
class Negotiator {
    public:
	using Verdict = proto::Negotiation::Verdict;

	explicit Negotiator(Transport &owner) noexcept;

	/* A connection is about to be made. Context: the send lock. */
	void begin() noexcept RPCORDMA_EXCLUDES(lock_);
	/* It is made: what the one before it has taught holds for this one alone. Context: the send lock. */
	void connected() noexcept RPCORDMA_EXCLUDES(lock_);
	/* The connection is over. Nothing completes on it any more. Context: the send lock. Sleeps. */
	void end() noexcept RPCORDMA_EXCLUDES(lock_);
	/* The connection has brought a Reply: what it speaks is remembered for others. Context: a completion. */
	void confirmed() noexcept RPCORDMA_EXCLUDES(lock_);

	/* The highest version that may come on the connection. Context: the send lock, or a completion. */
	[[nodiscard]] wire::Version highest() const noexcept { return highest_; }
	/* That of Calls, once it is settled. Context: any. */
	[[nodiscard]] wire::Version version() const noexcept { return version_.read(); }
	[[nodiscard]] bool is_settled() const noexcept { return is_settled_.load_acquire(); }
	/* What the next Call keeps to, if `agreement` is the connection's. Context: the send lock. */
	[[nodiscard]] proto::Terms terms(const proto::Agreement &agreement) const noexcept;

	/* A Call is about to be posted. Context: the send lock. */
	void sent(wire::Xid xid, wire::Bytes message) noexcept RPCORDMA_EXCLUDES(lock_)
	{
		if (!is_settled()) [[unlikely]]
			keep(xid, message);
	}
	/* What a message is to it. Context: a completion. */
	[[nodiscard]] Verdict take(const proto::ForCall &message) noexcept RPCORDMA_EXCLUDES(lock_)
	{
		/* Once the version is settled, only ERR_VERS says something of it: Replies take no lock. */
		if (is_settled() && !std::holds_alternative<wire::VersionError>(message.body)) [[likely]]
			return Verdict::nothing;
		return judge(message);
	}
	/* The message that a requester could not decode, as the error of version 1 that it stands for while the version is not
	 * settled; none where it cannot be meant for the first Call. Context: a completion. */
	[[nodiscard]] std::optional<proto::ForCall> undecodable(wire::Bytes message) noexcept RPCORDMA_EXCLUDES(lock_);
	/* Writes the first Call in the version that is settled. Return: its size. Context: a completion. */
	[[nodiscard]] std::uint32_t fill_again(std::span<std::byte> message) noexcept RPCORDMA_EXCLUDES(lock_);

	/* What responders are known to speak is forgotten. Context: process. */
	static void forget_all() noexcept;
	/* Makes that memory, and frees it. Return: 0 or -ENOMEM. */
	[[nodiscard]] static int start() noexcept;
	static void stop() noexcept;

    private:
	[[nodiscard]] Verdict judge(const proto::ForCall &message) noexcept RPCORDMA_EXCLUDES(lock_);
	void keep(wire::Xid xid, wire::Bytes message) noexcept RPCORDMA_EXCLUDES(lock_);
	void expired() noexcept RPCORDMA_EXCLUDES(lock_);
	void publish() noexcept RPCORDMA_REQUIRES(lock_);
	/* That the responder speaks what it was known to speak. */
	void forget() noexcept;
	[[nodiscard]] proto::KnownVersions::Responder responder() const noexcept;

	Transport &owner_;
	/* Ends the wait for an answer to the first Call, at that time in jiffies: not sooner, where it ran for another Call. */
	kernel::Opaque<delayed_work> patience_;
	unsigned long patience_ends_ RPCORDMA_GUARDED_BY(lock_) = 0;
	/* Changes with the send lock held, when nothing is under way. */
	wire::Version highest_ = wire::Version::one;
	/* Written under the lock, for a look without it. The version is written before it is settled. */
	kernel::Atomic<wire::Version> version_{wire::Version::one};
	kernel::Atomic<bool> is_settled_{true};
	kernel::SpinLock lock_{RPCORDMA_LOCK_NEGOTIATOR};
	proto::Negotiation negotiation_ RPCORDMA_GUARDED_BY(lock_){wire::Version::one, {}};
	bool is_connected_ RPCORDMA_GUARDED_BY(lock_) = false;
	bool is_confirmed_ RPCORDMA_GUARDED_BY(lock_) = true;
	/* What the last connection has taught, where it brought no Reply: until there is another. */
	std::optional<wire::Version> next_ RPCORDMA_GUARDED_BY(lock_);
	/* The first Call, as it was sent. */
	std::array<std::byte, proto::least_threshold(wire::Version::one)> first_ RPCORDMA_GUARDED_BY(lock_);
	std::size_t first_size_ RPCORDMA_GUARDED_BY(lock_) = 0;
};

} // namespace rpcordma::client
