// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include "kernel/reserve.hh"

namespace rpcordma::unit {
namespace {

struct Thing : kernel::ListNode<Thing> {
	explicit Thing(int number)
		: number(number)
	{
	}
	int number;
};

/// A reserve of so many, the last of which came last, and what it has given up.
struct Kept {
	explicit Kept(int count)
	{
		for (int i = 0; i < count; ++i)
			reserve.put(*new Thing(i));
	}
	~Kept() { given_up.delete_all(); }
	void use(int count)
	{
		kernel::List<Thing> taken;
		for (int i = 0; i < count; ++i)
			taken.push_back(*reserve.take());
		while (Thing *const thing = taken.pop_front())
			reserve.put(*thing);
	}

	kernel::Reserve<Thing> reserve;
	kernel::List<Thing> given_up;
};

TEST(Reserve, TheLastOneIn_IsTheFirstOneOut)
{
	Kept kept(2);
	Thing *const last = kept.reserve.take();
	EXPECT_EQ(last->number, 1);
	kept.reserve.put(*last);
	EXPECT_EQ(kept.reserve.size(), 2u);
}

TEST(Reserve, OfNone_HasNone)
{
	Kept kept(0);
	EXPECT_TRUE(kept.reserve.empty());
	EXPECT_EQ(kept.reserve.take(), nullptr);
	EXPECT_FALSE(kept.reserve.give_up(kept.given_up));
}

TEST(Reserve, GivesUpWhatWasNotNeededSinceTheLastLook)
{
	Kept kept(10);
	EXPECT_TRUE(kept.reserve.give_up(kept.given_up, 2));
	EXPECT_EQ(kept.given_up.size(), 0u);
	kept.use(3);
	EXPECT_TRUE(kept.reserve.give_up(kept.given_up, 2));
	EXPECT_EQ(kept.given_up.size(), 7u);
	EXPECT_EQ(kept.reserve.size(), 3u);
	EXPECT_FALSE(kept.reserve.give_up(kept.given_up, 2));
	EXPECT_EQ(kept.reserve.size(), 2u);
	EXPECT_FALSE(kept.reserve.give_up(kept.given_up, 2));
	EXPECT_EQ(kept.given_up.size(), 8u);
}

TEST(Reserve, GivesUpWhatWasUsedLongestAgo)
{
	Kept kept(3);
	(void)kept.reserve.give_up(kept.given_up, 0);
	kept.use(1);
	(void)kept.reserve.give_up(kept.given_up, 1);
	Thing *const left = kept.reserve.take();
	EXPECT_EQ(left->number, 2);
	kept.reserve.put(*left);
}

TEST(Reserve, WhereAllWereNeeded_GivesUpNone)
{
	Kept kept(4);
	(void)kept.reserve.give_up(kept.given_up, 0);
	kept.use(4);
	EXPECT_TRUE(kept.reserve.give_up(kept.given_up, 0));
	EXPECT_EQ(kept.given_up.size(), 0u);
}

TEST(Reserve, WhatCameSinceTheLastLook_IsKeptUntilTheNext)
{
	Kept kept(1);
	(void)kept.reserve.give_up(kept.given_up, 0);
	kept.reserve.put(*new Thing(1));
	EXPECT_TRUE(kept.reserve.give_up(kept.given_up, 0));
	EXPECT_EQ(kept.reserve.size(), 1u);
	EXPECT_FALSE(kept.reserve.give_up(kept.given_up, 0));
	EXPECT_TRUE(kept.reserve.empty());
}

} // namespace
} // namespace rpcordma::unit
