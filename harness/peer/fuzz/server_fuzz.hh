// SPDX-License-Identifier: GPL-2.0-only
//
// A requester whose messages are changed at random, and what a server has to do all the same: answer others, on that
// connection as long as it lasts, and on new ones.

#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/fuzz.hh"
#include "suite/export.hh"

namespace peer {

/// One run against a server. One thread uses it.
class ServerFuzz {
    public:
	/// @sent hears after each group of messages how many there have been. The export outlives this.
	ServerFuzz(Export &server, const FuzzSettings &settings, std::function<void(std::uint64_t)> sent);

	/// Sends all of them. Throws Violation where the server does no more what it has to, Interrupted after a signal, and
	/// VerbsError where this machine's device does not work.
	void run();

	[[nodiscard]] const FuzzTally &tally() const noexcept { return tally_; }
	/// The last messages, the oldest first, as "send raw" of a case has them.
	[[nodiscard]] const std::vector<Bytes> &last_messages() const noexcept { return last_; }

    private:
	void connect();
	void note_lone_loss();
	void close();
	[[nodiscard]] bool send_group();
	[[nodiscard]] bool await_reply(std::uint32_t xid);
	void note_end(const std::string &reason);
	void check_health();
	[[nodiscard]] std::size_t room() const;
	[[nodiscard]] NfsCall some_call();
	[[nodiscard]] Bytes some_message();
	[[nodiscard]] Bytes null_call(std::uint32_t xid) const;

	Export &server_;
	FuzzSettings settings_;
	std::function<void(std::uint64_t)> sent_;
	Dice dice_;
	FuzzTally tally_;
	std::vector<Bytes> last_;
	std::uint64_t health_due_;
	std::uint32_t xid_;

	std::unique_ptr<Connection> connection_;
	Agreement agreement_;
	/// Nothing before the first Reply.
	std::uint32_t granted_ = 0;
	/// Until when a connection has to last up to its first Reply, since one did not.
	std::optional<Deadline> lone_until_;
	/// Of the messages of a group: their memory. Gone before the connection is.
	std::list<Transaction> offered_;
};

} // namespace peer
