// SPDX-License-Identifier: GPL-2.0-only
//
// How long things took.

#pragma once

#include <vector>

#include "verbs/verbs.hh"

namespace peer {

/// In microseconds.
struct Latency {
	double min = 0;
	double median = 0;
	double percentile_99 = 0;
	double max = 0;
};

/// Of at least one duration. The percentiles are durations that were measured: the nearest rank's.
[[nodiscard]] Latency summarise(std::vector<Clock::duration> durations);

} // namespace peer
