// SPDX-License-Identifier: GPL-2.0-only

#include <gtest/gtest.h>

#include "command/latency.hh"

namespace peer {
namespace {

std::vector<Clock::duration> microseconds_down_from(int count)
{
	std::vector<Clock::duration> durations;
	for (int i = count; i > 0; i--)
		durations.push_back(std::chrono::microseconds(i));
	return durations;
}

TEST(Latency, OfOneDurationIsThatDuration)
{
	const Latency latency = summarise({std::chrono::nanoseconds(1500)});
	EXPECT_EQ(latency.min, 1.5);
	EXPECT_EQ(latency.median, 1.5);
	EXPECT_EQ(latency.percentile_99, 1.5);
	EXPECT_EQ(latency.max, 1.5);
}

TEST(Latency, TakesTheNearestRank)
{
	const Latency hundred = summarise(microseconds_down_from(100));
	EXPECT_EQ(hundred.min, 1);
	EXPECT_EQ(hundred.median, 50);
	EXPECT_EQ(hundred.percentile_99, 99);
	EXPECT_EQ(hundred.max, 100);

	const Latency three = summarise(microseconds_down_from(3));
	EXPECT_EQ(three.median, 2);
	EXPECT_EQ(three.percentile_99, 3);
}

} // namespace
} // namespace peer
