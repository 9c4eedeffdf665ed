// SPDX-License-Identifier: GPL-2.0-only

#include "report/level.hh"

namespace peer {

const std::vector<Weight> &weights()
{
	static const std::vector<Weight> all = {
		{.word = "must", .title = "MUST", .levels = {"MUST", "MUST NOT", "REQUIRED"}},
		{.word = "says", .title = "stated without a key word", .levels = {"says"}},
		{.word = "should", .title = "SHOULD", .levels = {"SHOULD", "SHOULD NOT"}},
		{.word = "may", .title = "MAY", .levels = {"MAY"}},
		{.word = "hostile", .title = "robustness against hostile input", .levels = {"hostile"}},
	};
	return all;
}

} // namespace peer
