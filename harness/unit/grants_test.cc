// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include "proto/grants.hh"

namespace rpcordma::unit {
namespace {

using proto::Grants;

/// That many messages that may be Calls; whether all of them were covered.
bool arrive(Grants &grants, std::uint32_t messages)
{
	bool are_covered = true;
	for (std::uint32_t i = 0; i < messages; ++i)
		are_covered = grants.arrived() && are_covered;
	return are_covered;
}

/// Announces what should be, and returns it.
std::uint32_t announce(Grants &grants)
{
	const std::uint32_t credits = grants.next();
	grants.announced(credits);
	return credits;
}

TEST(Grants, BeforeTheFirstReply_AreOne)
{
	const Grants grants(64);
	EXPECT_EQ(grants.in_force(), 1u);
	EXPECT_EQ(grants.next(), 1u);
}

TEST(Grants, FirstReply_GrantsNoMoreThanTheFirstFew)
{
	for (const std::uint32_t wanted : {1u, 2u, 7u, 8u}) {
		Grants grants(64);
		grants.requested(wanted);
		EXPECT_EQ(grants.wanted(), wanted);
		EXPECT_EQ(grants.next(), wanted);
	}
	for (const std::uint32_t wanted : {9u, 64u, 0xffffffffu}) {
		Grants grants(64);
		grants.requested(wanted);
		EXPECT_EQ(grants.next(), Grants::first);
	}
	EXPECT_EQ(Grants::first, 8u);
}

TEST(Grants, RequestOfNone_IsOneOfOne)
{
	Grants grants(64);
	grants.requested(0);
	EXPECT_EQ(grants.next(), 1u);
}

TEST(Grants, AtMostNone_AreOne)
{
	Grants grants(0);
	EXPECT_TRUE(grants.arrived());
	EXPECT_FALSE(grants.arrived());
	grants.requested(64);
	EXPECT_EQ(grants.next(), 1u);
}

TEST(Grants, MoreThanHalfInUse_DoublesThem)
{
	Grants grants(64);
	grants.requested(64);
	EXPECT_EQ(announce(grants), 8u);
	EXPECT_TRUE(arrive(grants, 4));
	EXPECT_EQ(announce(grants), 8u);
	EXPECT_TRUE(arrive(grants, 1));
	EXPECT_EQ(announce(grants), 16u);
	EXPECT_EQ(announce(grants), 16u);
	EXPECT_TRUE(arrive(grants, 4));
	EXPECT_EQ(announce(grants), 32u);
	EXPECT_TRUE(arrive(grants, 7));
	EXPECT_EQ(announce(grants), 32u);
	EXPECT_TRUE(arrive(grants, 1));
	EXPECT_EQ(announce(grants), 64u);
	EXPECT_TRUE(arrive(grants, 47));
	EXPECT_EQ(announce(grants), 64u);
}

TEST(Grants, GrowthIsCutAtTheRequest)
{
	Grants grants(64);
	grants.requested(11);
	EXPECT_EQ(announce(grants), 8u);
	EXPECT_TRUE(arrive(grants, 8));
	EXPECT_EQ(announce(grants), 11u);
}

TEST(Grants, GrowthIsCutAtTheMost)
{
	Grants grants(10);
	grants.requested(64);
	EXPECT_EQ(announce(grants), 8u);
	EXPECT_TRUE(arrive(grants, 8));
	EXPECT_EQ(announce(grants), 10u);
}

TEST(Grants, PeakOfUse_IsNotForgotten)
{
	Grants grants(64);
	grants.requested(64);
	EXPECT_TRUE(arrive(grants, 5));
	for (int i = 0; i < 5; ++i)
		grants.done();
	EXPECT_EQ(announce(grants), 8u);
	EXPECT_EQ(announce(grants), 16u);
}

TEST(Grants, SmallerRequest_TakesNothingBack)
{
	Grants grants(64);
	grants.requested(64);
	EXPECT_EQ(announce(grants), 8u);
	grants.requested(1);
	EXPECT_EQ(grants.next(), 8u);
	EXPECT_EQ(grants.in_force(), 8u);
}

TEST(Grants, AnnouncedInAnotherOrder_AreTheLargest)
{
	Grants grants(64);
	grants.announced(16);
	grants.announced(8);
	EXPECT_EQ(grants.in_force(), 16u);
	grants.announced(17);
	EXPECT_EQ(grants.in_force(), 17u);
}

TEST(Grants, BetweenOneAndTheFirstFew_GrowWithoutUse)
{
	Grants grants(64);
	grants.requested(3);
	EXPECT_EQ(announce(grants), 3u);
	grants.requested(64);
	EXPECT_EQ(announce(grants), 8u);
	EXPECT_EQ(announce(grants), 8u);
}

TEST(Grants, OfTheLargestNumbers_DoNotOverflow)
{
	Grants grants(0xffffffff);
	grants.requested(0xffffffff);
	grants.announced(0x80000000);
	EXPECT_EQ(grants.next(), 0x80000000u);
	grants.announced(0xffffffff);
	EXPECT_EQ(grants.next(), 0xffffffffu);
	EXPECT_EQ(grants.receives_for(0xffffffff), 0xffffffffu);
}

/// Grants of so many, with nothing outstanding.
Grants granted(std::uint32_t credits)
{
	Grants grants(64);
	grants.requested(64);
	grants.announced(credits);
	return grants;
}

/// So many Calls come, and are answered.
void serve(Grants &grants, std::uint32_t calls)
{
	EXPECT_TRUE(arrive(grants, calls));
	for (std::uint32_t i = 0; i < calls; ++i)
		grants.done();
}

TEST(GrantsInLittleUse, HalveWithEachLook_DownToTheFirstFew)
{
	Grants grants = granted(60);
	for (const std::uint32_t expected : {30u, 15u, 8u}) {
		EXPECT_FALSE(grants.look_back());
		EXPECT_EQ(announce(grants), expected);
		EXPECT_EQ(grants.in_force(), expected);
		EXPECT_EQ(announce(grants), expected);
	}
	EXPECT_FALSE(grants.look_back());
	EXPECT_EQ(announce(grants), Grants::first);
}

TEST(GrantsInLittleUse, AreNoneAboveAQuarter)
{
	for (const std::uint32_t calls : {16u, 17u}) {
		Grants grants = granted(64);
		serve(grants, calls);
		EXPECT_EQ(grants.look_back(), calls == 17);
		EXPECT_EQ(announce(grants), calls == 17 ? 64u : 32u);
	}
}

TEST(GrantsInLittleUse, CountWhatIsOutstandingAtTheLook)
{
	Grants grants = granted(64);
	EXPECT_TRUE(arrive(grants, 20));
	EXPECT_TRUE(grants.look_back());
	EXPECT_TRUE(grants.look_back());
	EXPECT_EQ(announce(grants), 64u);
}

TEST(GrantsInLittleUse, StayWhereUseRisesBeforeTheNextReply)
{
	Grants grants = granted(64);
	EXPECT_FALSE(grants.look_back());
	const std::uint32_t asked = grants.next();
	EXPECT_EQ(asked, 32u);
	serve(grants, 17);
	grants.announced(asked);
	EXPECT_EQ(grants.in_force(), 64u);
}

TEST(GrantsInLittleUse, AreJudgedByTheTimeSinceTheLastLook)
{
	Grants grants = granted(64);
	serve(grants, 40);
	EXPECT_TRUE(grants.look_back());
	EXPECT_FALSE(grants.look_back());
	EXPECT_EQ(announce(grants), 32u);
}

TEST(GrantsInLittleUse, ShrinkThoughAQuarterIsUsedBeforeTheNextReply)
{
	Grants grants = granted(64);
	EXPECT_FALSE(grants.look_back());
	serve(grants, 16);
	EXPECT_EQ(announce(grants), 32u);
}

TEST(GrantsInLittleUse, ShrinkWithAReplyThatWasAskedForAfterTheLook)
{
	Grants grants = granted(64);
	EXPECT_FALSE(grants.look_back());
	grants.announced(64);
	EXPECT_EQ(grants.in_force(), 64u);
	EXPECT_EQ(announce(grants), 32u);
}

TEST(GrantsInLittleUse, GrowAgainAtOnce)
{
	Grants grants = granted(64);
	for (int i = 0; i < 3; ++i) {
		EXPECT_FALSE(grants.look_back());
		(void)announce(grants);
	}
	EXPECT_EQ(grants.in_force(), 8u);
	serve(grants, 8);
	EXPECT_EQ(announce(grants), 16u);
}

TEST(GrantsInLittleUse, OfTheFirstFewOrLess_StayAsTheyAre)
{
	for (const std::uint32_t credits : {1u, 3u, 8u}) {
		Grants grants(64);
		grants.requested(credits);
		grants.announced(credits);
		EXPECT_FALSE(grants.look_back());
		EXPECT_EQ(announce(grants), credits);
	}
}

TEST(GrantsExceeded, ByOneCallMoreThanTheMost_IsNoticed)
{
	Grants grants(16);
	EXPECT_TRUE(arrive(grants, 16));
	EXPECT_FALSE(grants.arrived());
	grants.done();
	EXPECT_FALSE(grants.arrived());
	grants.done();
	grants.done();
	EXPECT_TRUE(grants.arrived());
}

TEST(GrantsExceeded, ButNotTheMost_IsLetBe)
{
	Grants grants(16);
	grants.requested(4);
	EXPECT_EQ(announce(grants), 4u);
	EXPECT_TRUE(arrive(grants, 16));
}

TEST(Grants, DoneWithoutArrival_CountsNothing)
{
	Grants grants(2);
	grants.done();
	EXPECT_EQ(grants.receives_for(2), 2u);
	EXPECT_TRUE(arrive(grants, 2));
	EXPECT_FALSE(grants.arrived());
}

TEST(GrantsReceives, CoverWhatMayStillCome)
{
	Grants grants(64);
	EXPECT_EQ(grants.receives_for(8), 8u);
	EXPECT_TRUE(arrive(grants, 3));
	EXPECT_EQ(grants.receives_for(8), 5u);
	EXPECT_EQ(grants.receives_for(4), 1u);
	EXPECT_EQ(grants.receives_for(3), 0u);
	EXPECT_EQ(grants.receives_for(2), 0u);
	grants.done();
	EXPECT_EQ(grants.receives_for(8), 6u);
}

} // namespace
} // namespace rpcordma::unit
