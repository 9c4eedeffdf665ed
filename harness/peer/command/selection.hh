// SPDX-License-Identifier: GPL-2.0-only
//
// Which of all cases are run.

#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "language/case.hh"
#include "report/requirement.hh"

namespace peer {

/// What is asked for.
struct Selection {
	/// Names and patterns of names, levels ("must"), and requirements or sections of documents ("8166-4.5"): a case is
	/// wanted for one of them. Every case is without any.
	std::vector<std::string> only;
	/// Of those, the cases with these names alone, where this is there.
	std::optional<std::set<std::string>> names;
	/// The highest version of RPC-over-RDMA that the tested side speaks.
	std::uint32_t protocol = 1;
	/// Also those that otherwise run only where they are asked for by name.
	bool apart = false;
};

/// Those of the cases that are asked for, in their order. Throws ScriptError, with the word and the one that is nearest,
/// where one of the words stands for no case.
[[nodiscard]] std::vector<Case> select(const std::vector<Case> &all, const Selection &selection,
				       const std::vector<Requirement> &requirements);

/// The names of the cases that have failed in a report as JSON. Throws ScriptError.
[[nodiscard]] std::set<std::string> failed_cases(std::istream &report, const std::string &name);

} // namespace peer
