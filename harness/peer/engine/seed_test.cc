// SPDX-License-Identifier: GPL-2.0-only

#include "engine/seed.hh"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace peer {
namespace {

std::vector<std::uint32_t> xids(unsigned count)
{
	std::vector<std::uint32_t> found;
	for (unsigned i = 0; i < count; i++)
		found.push_back(first_xid());
	return found;
}

TEST(Seed, MakesXidsTheSameAgain)
{
	set_seed(7);
	EXPECT_EQ(seed(), 7U);
	const auto before = xids(5);
	set_seed(8);
	EXPECT_NE(xids(5), before);
	set_seed(7);
	EXPECT_EQ(xids(5), before);
}

TEST(Xids, AreFarEnoughApartForTheCallsOfAConnection)
{
	set_seed(0xffffffff);
	const auto found = xids(1000);
	for (std::size_t i = 1; i < found.size(); i++)
		EXPECT_EQ(found[i] - found[i - 1], 0x10000U);
	EXPECT_EQ(std::set<std::uint32_t>(found.begin(), found.end()).size(), found.size());
}

} // namespace
} // namespace peer
