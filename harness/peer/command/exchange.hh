// SPDX-License-Identifier: GPL-2.0-only
//
// Messages that get one answer each: NULL calls, and the same without RPC. Both have the functions of an exchange:
//
//   send(n)        sends n messages
//   take_answer()  waits for an answer; throws Violation where that is not in order
//   try_answer()   the same where one has come; false otherwise
//   room()         how many messages may be sent now
//   size()         of a message, in bytes

#pragma once

#include <set>

#include "command/command.hh"
#include "command/echo.hh"
#include "engine/transaction.hh"

namespace peer {

/// What is the same for every measurement.
struct ExchangeSettings {
	/// How many messages may be unanswered.
	unsigned depth = 1;
	/// The version of RPC-over-RDMA.
	std::uint32_t protocol = VERSION_1;
	/// How long each answer may take.
	Clock::duration patience = std::chrono::seconds(10);

	[[nodiscard]] Deadline deadline() const { return Clock::now() + patience; }
};

/// NULL calls of an NFS program. Sends no more than the server has granted credits for.
class NullCalls {
    public:
	NullCalls(const Address &server, std::uint32_t nfs_version, const ExchangeSettings &settings);

	void send(unsigned count);
	void take_answer();
	bool try_answer();
	[[nodiscard]] unsigned room() const noexcept;
	[[nodiscard]] std::size_t size() const;

    private:
	[[nodiscard]] Bytes call(std::uint32_t xid) const;
	void take(ByteView message);

	ExchangeSettings settings_;
	std::uint32_t nfs_version_;
	Connection connection_;
	std::uint32_t xid_;
	std::uint32_t credits_ = 1; // before the first Reply (RFC 8166, 3.3.1)
	std::set<std::uint32_t> waiting_;
};

/// Messages that an echo sends back.
class EchoedMessages {
    public:
	EchoedMessages(Connection &echo, std::size_t size, const ExchangeSettings &settings);

	void send(unsigned count);
	void take_answer();
	bool try_answer();
	[[nodiscard]] unsigned room() const noexcept;
	[[nodiscard]] std::size_t size() const;

    private:
	void take(ByteView message);

	ExchangeSettings settings_;
	Connection &connection_;
	Bytes message_;
	unsigned waiting_ = 0;
};

} // namespace peer
