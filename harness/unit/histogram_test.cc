// SPDX-License-Identifier: GPL-2.0-only
#include <limits>

#include "harness/unit/support.hh"

#include "kernel/histogram.hh"

namespace rpcordma::unit {
namespace {

/// The interval that one time alone is counted in.
std::size_t interval_of(std::int64_t nanoseconds)
{
	kernel::Histogram<5> histogram;
	histogram.record(nanoseconds);
	std::size_t interval = 0;
	while (histogram.counts()[interval] == 0)
		++interval;
	return interval;
}

TEST(Histogram, Intervals_DoubleFrom1024Nanoseconds)
{
	EXPECT_EQ(interval_of(0), 0u);
	EXPECT_EQ(interval_of(1023), 0u);
	EXPECT_EQ(interval_of(1024), 1u);
	EXPECT_EQ(interval_of(2047), 1u);
	EXPECT_EQ(interval_of(2048), 2u);
	EXPECT_EQ(interval_of(8191), 3u);
}

TEST(Histogram, TheLastInterval_TakesTheRest)
{
	EXPECT_EQ(interval_of(8192), 4u);
	EXPECT_EQ(interval_of(16384), 4u);
	EXPECT_EQ(interval_of(std::numeric_limits<std::int64_t>::max()), 4u);
}

TEST(Histogram, TimesBelowZero_CountAsNone)
{
	kernel::Histogram<5> histogram;
	histogram.record(-1);
	histogram.record(std::numeric_limits<std::int64_t>::min());
	EXPECT_EQ(histogram.counts()[0], 2u);
	EXPECT_EQ(histogram.sum(), 0u);
}

TEST(Histogram, Counts_AndTheSum_AreOfAllTimes)
{
	kernel::Histogram<5> histogram;
	for (const std::int64_t time : {1000, 1500, 1600, 5000})
		histogram.record(time);
	EXPECT_EQ(histogram.counts()[0], 1u);
	EXPECT_EQ(histogram.counts()[1], 2u);
	EXPECT_EQ(histogram.counts()[2], 0u);
	EXPECT_EQ(histogram.counts()[3], 1u);
	EXPECT_EQ(histogram.counts()[4], 0u);
	EXPECT_EQ(histogram.sum(), 9100u);
}

} // namespace
} // namespace rpcordma::unit
