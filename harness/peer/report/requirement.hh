// SPDX-License-Identifier: GPL-2.0-only
//
// What the specifications require, as requirements.txt lists it.

#pragma once

#include <filesystem>
#include <istream>
#include <string>
#include <vector>

namespace peer {

struct Requirement {
	std::string identifier; // "8166-3.4.5-2"
	std::string level;
	std::string who; // is bound
	std::string seen; // "wire", or "no: " and why not
	std::string what;
	/// The identifier of the requirement that says the same in another document; empty when there is none.
	std::string same_as;

	[[nodiscard]] bool visible() const { return seen == "wire"; }
	/// The identifier that this requirement shares with those that say the same.
	[[nodiscard]] const std::string &shared_identifier() const noexcept
	{
		return same_as.empty() ? identifier : same_as;
	}
};

/// Reads the list. Throws ScriptError, with the line's number, where a line is not of its form, an identifier
/// stands there twice, or one refers to another that is not there.
[[nodiscard]] std::vector<Requirement> parse_requirements(std::istream &in);
[[nodiscard]] std::vector<Requirement> load_requirements(const std::filesystem::path &file);

} // namespace peer
