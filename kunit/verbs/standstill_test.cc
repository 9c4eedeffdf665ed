// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/standstill.hh"

#include "kunit/verbs/sends.hh"

namespace rpcordma::kunit {
namespace {

using verbs::Standstill;

TEST(Standstill, OfWhatIsOwed_IsThreeLooks)
{
	Standstill standstill;
	EXPECT_FALSE(standstill.look({.is_owed = true, .retired = 0}));
	EXPECT_FALSE(standstill.look({.is_owed = true, .retired = 0}));
	EXPECT_TRUE(standstill.look({.is_owed = true, .retired = 0}));
}

TEST(Standstill, OfAQueueThatMoves_IsNone)
{
	Standstill standstill;
	for (u32 retired = 0; retired < 9; retired++)
		EXPECT_FALSE(standstill.look({.is_owed = true, .retired = retired / 2}));
}

TEST(Standstill, WithNothingOwed_IsNone)
{
	Standstill standstill;
	for (u32 i = 0; i < 9; i++)
		EXPECT_FALSE(standstill.look({.is_owed = i % 3 != 0, .retired = 7}));
}

} // namespace
} // namespace rpcordma::kunit
