// SPDX-License-Identifier: GPL-2.0-only

#include "command/latency.hh"

#include <algorithm>

namespace peer {

Latency summarise(std::vector<Clock::duration> durations)
{
	std::sort(durations.begin(), durations.end());
	const auto percentile = [&](std::size_t percent) {
		const std::size_t rank = std::max<std::size_t>((durations.size() * percent + 99) / 100, 1);
		return std::chrono::duration<double, std::micro>(durations[rank - 1]).count();
	};
	return {.min = percentile(0), .median = percentile(50), .percentile_99 = percentile(99), .max = percentile(100)};
}

} // namespace peer
