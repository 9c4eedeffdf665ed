// SPDX-License-Identifier: GPL-2.0-only
//
/// What the client under test is given to do, and what it printed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "language/case.hh"
#include "service/tree.hh"
#include "suite/words.hh"

namespace peer {

inline constexpr std::size_t SOURCE_SIZE = 1024 * 1024;
inline constexpr std::size_t DATA_SIZE = 256 * 1024;
inline constexpr std::size_t LINK_LENGTH = 900; // where a case does not say another
inline constexpr unsigned LONGEST_LIST = 10000;
// How often somebody looks whether the client's command still runs.
inline constexpr std::chrono::milliseconds LOOK_AROUND{500};

// One run of a case: with one value of its variable, for the first time or again.
struct Instance {
	const Case *test = nullptr;
	std::uint64_t value = 0;
	std::string name; // of its directory below cases/, and of its result
	std::string described; // in front of what came: "n = 3: ", "time 2 of 5: "

	[[nodiscard]] std::size_t size() const
	{
		if (test->operation.size() < 2)
			return 0;
		return test->operation[1] == test->variable ? value : evaluate(test->operation[1], {});
	}

	// The size of "killed" is a time.
	[[nodiscard]] std::size_t link_length() const
	{
		return size() > 0 && test->operation[0] == "readlink" ? size() : LINK_LENGTH;
	}
};

/// Each case with each value of its variable, all of it so often. Throws ScriptError.
[[nodiscard]] std::vector<Instance> instances_of(const std::vector<Case> &cases, unsigned repeat = 1);
/// A file tree with everything that the script and the cases need.
void furnish(Tree &tree, const std::vector<Instance> &instances);

// What the client printed and how its operation ended.
struct ClientResult {
	int status = 0;
	std::string read;
	std::string good;
	std::string output;

	[[nodiscard]] std::string described() const
	{
		return "status " + std::to_string(status) + (output.empty() ? "" : ", " + output);
	}
};

/// Reads what the client has written. Nothing while the client writes it.
[[nodiscard]] std::optional<ClientResult> parse_result(const Bytes &content);
/// A line as readlink prints it.
[[nodiscard]] Bytes line_of(char letter, std::size_t length);
/// As many entries that allow everybody everything, as the script sets them: "A::EVERYONE@:...".
[[nodiscard]] Bytes acl_of(std::size_t entries);

} // namespace peer
