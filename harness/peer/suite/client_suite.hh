// SPDX-License-Identifier: GPL-2.0-only
//
// Runs cases against a client: the peer is the responder. The client mounts once, and runs a script that it finds in the
// mount: for each case that does one thing to a file of the case's own, and writes down what came of it.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/client.hh"
#include "engine/responder.hh"
#include "language/case.hh"
#include "report/report.hh"

namespace peer {

/// Where the peer listens for the client under test.
struct ListenSettings {
	std::string host; // empty: every address
	std::uint16_t port = 20049;
	std::uint16_t mount_port = 20048; // MOUNT version 3, over TCP
	Patience patience;
	/// How long the client may take to begin.
	Clock::duration start = std::chrono::minutes(10);
	/// Ends behind a case after which the client does not go on.
	bool stop_when_ill = false;
	/// How often each case is run.
	unsigned repeat = 1;
	/// The highest version of RPC-over-RDMA that the client under test speaks.
	std::uint32_t highest_version = VERSION_1;
};

/// How a run of client cases and the world keep in touch.
struct ClientHooks {
	/// The client can mount.
	std::function<void()> ready;
	/// The client's first Call has come.
	std::function<void(const Encounter &)> met = [](const Encounter &) {};
	/// A case begins.
	std::function<void(const Case &)> begun;
	/// A case has been run.
	std::function<void(const CaseResult &)> told;
	/// Whether the client has ended: with cases left that is a failure, after the last one it is waited for.
	std::function<bool()> ended = [] { return false; };
	/// Whether its end is to be waited for.
	bool wait_for_end = false;
};

/// Runs cases that are all for clients, of one NFS version after the other, those of each in their order. Cases that
/// the client has not come to when it ends have failed. Throws ScriptError, VerbsError, and Interrupted, with the cases told
/// that had been run.
void run_client_cases(const std::vector<Case> &cases, const ListenSettings &settings, const ClientHooks &hooks);

/// What POSIX's cksum prints for these bytes.
[[nodiscard]] std::string cksum_line(ByteView bytes);

/// Serves the tree in these versions, without any case, until it is interrupted. Throws Interrupted.
[[noreturn]] void serve(const ListenSettings &settings, const Versions &versions,
			const std::function<void(const std::string &)> &trace);

} // namespace peer
