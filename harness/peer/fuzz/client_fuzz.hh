// SPDX-License-Identifier: GPL-2.0-only
//
// A responder that sends clients messages that are changed at random beside its Replies, and what a client has to do all the
// same: go on to call, on that connection as long as it lasts, and on new ones.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "fuzz/fuzz.hh"
#include "suite/client_suite.hh"

namespace peer {

/// One run. One thread uses it.
class ClientFuzz {
    public:
	/// Listens from then on, with a tree in which there are the files data and scratch, a directory many, and a symbolic
	/// link. Throws VerbsError and std::system_error.
	ClientFuzz(const ListenSettings &listen, const FuzzSettings &settings);

	/// Sends all of them to whoever calls. Calls @look_around twice a second, and whenever some have been sent. Throws
	/// Violation where no Call comes for as long as the settings' patience has it, Interrupted after a signal.
	void run(const std::function<void(const FuzzTally &)> &look_around);
	/// Goes on to serve, and changes nothing, until @done says so. Throws Violation where no Call comes for as long as the
	/// patience has it, or where @done does not say so within ten times that.
	void serve_until(const std::function<bool()> &done);

	[[nodiscard]] const FuzzTally &tally() const noexcept { return tally_; }
	/// The last messages, the oldest first, as "send raw" of a case has them.
	[[nodiscard]] const std::vector<Bytes> &last_messages() const noexcept { return last_; }

    private:
	[[nodiscard]] bool take_call(ArrivedCall &call);
	[[nodiscard]] bool is_over() const noexcept { return tally_.messages >= settings_.count; }
	void send_changed(std::uint64_t number, const Answer &answer);
	[[nodiscard]] Frame some_frame(std::uint64_t number, const Answer &answer);
	[[nodiscard]] bool may_have_ended(const ArrivedCall &call) const;

	FuzzSettings settings_;
	Dice dice_;
	FuzzTally tally_;
	std::vector<Bytes> last_;
	/// Replies of before.
	std::deque<Frame> earlier_;
	Tree tree_;
	Service service_;
	MountDaemon mount_daemon_;
	Responder responder_;
	/// Until when the next Call has to come.
	Deadline quiet_until_;
};

} // namespace peer
