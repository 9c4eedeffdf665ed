// SPDX-License-Identifier: GPL-2.0-only
//
// What a conformance run found, as a table for the terminal, and as JSON.

#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "language/comparison.hh"
#include "report/level.hh"
#include "report/requirement.hh"

namespace peer {

enum class Outcome {
	passed,
	failed,
	/// The device under test, or the set-up, has not what the case needs; the text says what.
	skipped,
};

/// "passed", "failed", "skipped".
[[nodiscard]] std::string name_of(Outcome outcome);
inline constexpr std::array OUTCOMES = {Outcome::passed, Outcome::failed, Outcome::skipped};

/// A message of a case.
struct Exchanged {
	double seconds = 0; // since the case began
	std::string connection; // as lines of the trace call it
	bool is_sent = true; // by the tester
	std::vector<std::uint8_t> bytes;
	std::optional<std::uint32_t> invalidates = std::nullopt; // the handle, as a Send With Invalidate does

	bool operator==(const Exchanged &) const = default;
};

/// One case, run.
struct CaseResult {
	std::string name; // the case file's path below cases/, without its suffix: "server/version-0"
	std::string section; // "RFC 8166, 3.4.5"
	std::string level; // "MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "says" or "hostile"
	std::string title; // the requirement, in a sentence
	std::vector<std::string> requirements; // identifiers in requirements.txt
	Outcome outcome = Outcome::failed;
	std::string expected;
	std::string came; // what came instead, or also
	Comparison comparison; // of both, where a check of a failed case knows both
	std::vector<std::string> trace; // the messages of the case, a line each, oldest first
	std::vector<Exchanged> messages; // of a case that failed
	std::size_t messages_left_out = 0; // in the middle of very many
	double seconds = 0;
	bool in_order = true; // whether the device under test served well afterwards, or worked on
	std::string command; // a shell's, that runs this case alone
};

/// The machine and the device that test. What is not known is empty.
struct Tester {
	std::string kernel; // "Linux 6.12.117 x86_64"
	std::string device; // "rxe0"
	std::string driver; // "rdma_rxe"
	std::string firmware;
	std::string transport; // "InfiniBand" or "iWARP"
};

/// What the device under test says of itself while it connects, and what holds on a connection to a well-behaved peer.
struct Terms {
	/// What its CM private data say (RFC 8797); nothing where they say nothing.
	struct Announced {
		std::uint32_t send_size = 0; // bytes
		std::uint32_t receive_size = 0;
		bool remote_invalidation = false;
	};

	std::optional<Announced> announced;
	std::uint32_t call_threshold = 0; // bytes
	std::uint32_t reply_threshold = 0;
	std::uint32_t credits =
		0; // that a server grants with its first Reply, or a client asks for with its first Call
};

/// How the run was asked for.
struct RunSettings {
	std::vector<std::string> arguments; // of the command line, with the program
	bool strict = false;
	std::uint32_t protocol = 1; // the highest version of RPC-over-RDMA
	unsigned repeat = 1;
	unsigned patience = 0; // seconds
	std::uint32_t seed = 0; // that XIDs follow from
};

/// A whole run.
struct Report {
	std::string role; // of the device under test: "server" or "client"
	std::string device; // who that is: "10.9.0.1:20049"
	std::string name; // what the user calls it: "Linux 6.12, in-tree"; may be empty
	std::string started; // ISO 8601
	std::string peer_version;
	Tester tester;
	std::optional<Terms> terms; // nothing where no connection came about
	RunSettings settings;
	/// How many cases were to be run, and the signal that ended the run before that: "SIGINT"; empty where none did.
	std::size_t planned = 0;
	std::string interrupted;
	std::vector<CaseResult> results;
	/// What could be covered; without them no report says what has no case.
	std::vector<Requirement> requirements = {};

	[[nodiscard]] std::size_t count(Outcome outcome) const noexcept;
	[[nodiscard]] std::size_t count(Outcome outcome, const Weight &weight) const noexcept;
	/// What to call the device under test: its name, or else its role and address.
	[[nodiscard]] std::string called() const;
	/// Whether the device conforms; nothing where no MUST was tested.
	[[nodiscard]] std::optional<bool> conforms() const;
	/// "conforms: 12 of 12 cases about a MUST passed".
	[[nodiscard]] std::string verdict() const;
	/// What has to be told apart: MUSTs, SHOULDs and so on, as far as there are cases.
	[[nodiscard]] std::vector<Weight> tested_weights() const;
	/// "interrupted by SIGINT after 3 of 300 cases", or nothing.
	[[nodiscard]] std::string interruption() const;
	/// The results of the cases for a requirement, or for one that says the same.
	[[nodiscard]] std::vector<const CaseResult *> results_for(const Requirement &requirement) const;
};

/// Of the JSON that write_json() writes and report.schema.json describes. It changes where a reader of the one before would be
/// misled; new members alone do not change it.
inline constexpr unsigned FORMAT_VERSION = 1;
inline constexpr std::string_view FORMAT = "rpcordma-peer report";

/// How many columns the terminal has that a file descriptor is for; zero when it is none.
[[nodiscard]] std::size_t terminal_width(int descriptor);

/// A row for each case, and the summary.
void write_table(std::ostream &out, const Report &report, bool colour);
/// One row, for progress while it runs; below a failed one, what was expected and what came.
void write_row(std::ostream &out, const CaseResult &result, bool colour);
/// One result as one line of JSON, for programs that look on.
void write_json_line(std::ostream &out, const CaseResult &result);
/// The verdict, the numbers of each weight, and in the last line "N passed, N failed, N skipped", and whether the run was interrupted.
void write_summary(std::ostream &out, const Report &report);
void write_json(std::ostream &out, const Report &report);
/// Reads what write_json() has written; @name is what complaints call it. Throws ScriptError.
[[nodiscard]] Report read_json(std::istream &in, const std::string &name);

} // namespace peer
