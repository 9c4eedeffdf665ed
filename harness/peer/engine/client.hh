// SPDX-License-Identifier: GPL-2.0-only
//
// A well-behaved requester: one connection, one Call at a time.

#pragma once

#include <cstdint>
#include <string>

#include "engine/seed.hh"
#include "engine/transaction.hh"

namespace peer {

/// A server, and what it exports.
struct Target {
	std::string host;
	std::uint16_t port = 20049;
	std::string path = "/";
	/// The handle of that; without one, the server's mount daemon is asked.
	FileHandle root = {};
	/// The highest version of RPC-over-RDMA that it speaks.
	std::uint32_t highest_version = VERSION_1;
};

/// How long whoever is tested may take for one thing.
struct Patience {
	Clock::duration answer = std::chrono::seconds(10);

	[[nodiscard]] Deadline deadline() const { return Clock::now() + answer; }
};

/// What the first exchanges with the other end show of it.
struct Encounter {
	DeviceInfo device; // this end's
	std::optional<PrivateData> announced; // by the other end, while it connected
	Agreement agreement;
	std::uint32_t credits = 0; // that a server grants, or a client asks for
};

class Client {
    public:
	/// Connects. Throws NotConnected or VerbsError.
	Client(const Target &target, Patience patience);
	/// Takes over a connection that was made with usual_private_data().
	Client(Connection connection, Patience patience);
	~Client();

	/// Carries one Call. Throws Violation where the Reply is not in order, none comes in time, or the connection
	/// ends.
	Reply call(const NfsCall &call, Style style = Style::as_needed);

	[[nodiscard]] std::uint32_t next_xid() noexcept { return ++xid_; }
	[[nodiscard]] const Agreement &agreement() const noexcept { return agreement_; }
	/// As the last Reply has it.
	[[nodiscard]] Encounter encounter() const;

    private:
	Patience patience_;
	Connection connection_;
	Agreement agreement_;
	std::uint32_t xid_;
	std::uint32_t granted_ = 0;
};

/// What a well-behaved requester says of itself.
[[nodiscard]] PrivateData usual_private_data() noexcept;

/// Connects as such a requester. Tries again until the deadline where it is rejected, not answered, or ends while it is being made: a
/// server may be busy with the end of other connections. Throws NotConnected or VerbsError.
[[nodiscard]] Connection connect_at_last(const Target &target, Deadline deadline);

} // namespace peer
