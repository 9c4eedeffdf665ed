// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include "proto/credits.hh"

namespace rpcordma::unit {
namespace {

using proto::Credits;
using proto::Grant;

TEST(Credits, BeforeTheFirstReply_AreOne)
{
	const Credits credits(128);
	EXPECT_EQ(credits.requested(), 128u);
	EXPECT_EQ(credits.limit(), 1u);
}

TEST(Credits, AtLeastOne_IsRequested)
{
	EXPECT_EQ(Credits(0).requested(), 1u);
	EXPECT_EQ(Credits(1).requested(), 1u);
	EXPECT_EQ(Credits(2).requested(), 2u);
	EXPECT_EQ(Credits(0xffffffff).requested(), 0xffffffffu);
}

TEST(Credits, Grant_IsTaken)
{
	Credits credits(128);
	EXPECT_EQ(credits.granted(32), Grant::usual);
	EXPECT_EQ(credits.limit(), 32u);
	EXPECT_EQ(credits.granted(1), Grant::usual);
	EXPECT_EQ(credits.limit(), 1u);
	EXPECT_EQ(credits.granted(128), Grant::usual);
	EXPECT_EQ(credits.limit(), 128u);
	EXPECT_EQ(credits.requested(), 128u);
}

TEST(Credits, ErrorBeforeTheFirstReply_GrantsNothing)
{
	Credits credits(128);
	EXPECT_EQ(credits.granted_by_error(32), Grant::usual);
	EXPECT_EQ(credits.granted_by_error(0), Grant::usual);
	EXPECT_EQ(credits.limit(), 1u);
}

TEST(Credits, ErrorAfterAReply_GrantsAsAReplyDoes)
{
	Credits credits(128);
	EXPECT_EQ(credits.granted(32), Grant::usual);
	EXPECT_EQ(credits.granted_by_error(16), Grant::usual);
	EXPECT_EQ(credits.limit(), 16u);
	EXPECT_EQ(credits.granted_by_error(129), Grant::above_request);
}

TEST(Credits, GrantOfZero_IsReportedAndTakenAsOne)
{
	Credits credits(128);
	EXPECT_EQ(credits.granted(64), Grant::usual);
	EXPECT_EQ(credits.granted(0), Grant::zero);
	EXPECT_EQ(credits.limit(), 1u);
}

TEST(Credits, GrantAboveTheRequest_IsReportedAndClamped)
{
	Credits credits(128);
	EXPECT_EQ(credits.granted(129), Grant::above_request);
	EXPECT_EQ(credits.limit(), 128u);
	EXPECT_EQ(credits.granted(2), Grant::usual);
	EXPECT_EQ(credits.granted(0xffffffff), Grant::above_request);
	EXPECT_EQ(credits.limit(), 128u);
}

TEST(Credits, CallsWithoutReply_HoldThem)
{
	Credits credits(4);
	EXPECT_TRUE(credits.is_available());
	credits.take();
	EXPECT_EQ(credits.outstanding(), 1u);
	EXPECT_FALSE(credits.is_available());
	EXPECT_EQ(credits.granted(2), Grant::usual);
	EXPECT_TRUE(credits.is_available());
	credits.take();
	EXPECT_FALSE(credits.is_available());
	credits.give_back();
	EXPECT_TRUE(credits.is_available());
	EXPECT_EQ(credits.outstanding(), 1u);
}

TEST(Credits, CallThatIsAbandoned_HoldsItsOwnUntilTheReplyComes)
{
	Credits credits(4);
	credits.take();
	EXPECT_FALSE(credits.are_abandoned());
	credits.abandon();
	EXPECT_TRUE(credits.are_abandoned());
	EXPECT_FALSE(credits.is_available());
	credits.unclaimed();
	EXPECT_EQ(credits.outstanding(), 0u);
	EXPECT_TRUE(credits.is_available());
}

TEST(Credits, ReplyBeforeTheCallIsAbandoned_BringsTheCreditBackThen)
{
	Credits credits(4);
	credits.take();
	credits.unclaimed();
	EXPECT_EQ(credits.outstanding(), 1u);
	credits.abandon();
	EXPECT_EQ(credits.outstanding(), 0u);
	credits.take();
	credits.abandon();
	EXPECT_EQ(credits.outstanding(), 1u);
}

TEST(Credits, RepliesWithoutCalls_BringNone)
{
	Credits credits(4);
	credits.unclaimed();
	credits.take();
	credits.unclaimed();
	credits.unclaimed();
	credits.take();
	credits.abandon();
	credits.abandon();
	EXPECT_EQ(credits.outstanding(), 1u);
	EXPECT_TRUE(credits.are_abandoned());
}

} // namespace
} // namespace rpcordma::unit
