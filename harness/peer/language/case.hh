// SPDX-License-Identifier: GPL-2.0-only
//
// A conformance case: a small file of steps. rpcordma-peer-case(5) has the language.

#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace peer {

/// A case file says something that cannot be done; the text begins with the file's name and the line.
class ScriptError : public std::runtime_error {
	using runtime_error::runtime_error;
};

using Words = std::vector<std::string>;
/// With a blank between them.
[[nodiscard]] std::string text_of(const Words &words);

/// One line of a case, in words.
struct Line {
	unsigned number = 0;
	Words words;
};

/// One thing to do or to expect, and the indented lines below it.
struct Step {
	Line line;
	std::vector<Line> block;
};

/// Who is tested.
enum class Tested { server, client };

struct Case {
	std::string name; // "server/version-0"
	Tested tested = Tested::server;
	std::string section;
	std::string level;
	std::string title;
	std::vector<std::string> requirements;

	/// Why it runs only where it is asked for; nothing where it always does.
	std::string apart;

	/// The steps run once for each of these values of the variable; once without, when there is none.
	std::string variable;
	std::vector<std::uint64_t> values;

	/// What a client under test is asked to do: "read 8192".
	Words operation;
	/// Over which NFS version.
	std::string version = "3";
	/// The version of RPC-over-RDMA that its messages have, but for those that say otherwise.
	std::uint32_t protocol = 1;
	/// The OPTIONAL features that the peer has in it, by name.
	std::vector<std::string> features;

	std::vector<Step> steps;

	/// The steps with the variable's value in its place.
	[[nodiscard]] std::vector<Step> steps_for(std::uint64_t value) const;

	/// Settles what passes where more than one thing is right: with @strict only what stands first, and what is usual as
	/// well; without it all that is allowed. A case is settled once, before it is run.
	void settle(bool strict);
};

/// Reads a case from its text. Throws ScriptError.
[[nodiscard]] Case parse_case(const std::string &name, const std::string &text);

/// All cases below a directory, at any depth below its server/ and client/, and below version-2/server/ and
/// version-2/client/: those for servers first, by name. A case is named after the folder server or client and its file; two
/// files of one name are an error. Throws ScriptError.
[[nodiscard]] std::vector<Case> load_cases(const std::filesystem::path &directory);
/// One case from a file; @name as in load_cases() where the file is below a directory server/ or client/.
[[nodiscard]] Case load_case(const std::filesystem::path &file);

} // namespace peer
