// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include "proto/failures.hh"

namespace rpcordma::unit {
namespace {

using wire::Xid;

using Requester = int;
using Failures = proto::Failures<Requester, 4>;

constexpr Requester alice = 1;
constexpr Requester bob = 2;

TEST(Failures, AtFirst_AreNone)
{
	Failures failures;
	EXPECT_FALSE(failures.recognise(0, Xid{0}, 0));
	EXPECT_FALSE(failures.recognise(alice, Xid{7}, 100));
}

TEST(Failures, Remembered_AreRecognisedOnce)
{
	Failures failures;
	failures.remember(alice, Xid{7}, 100);
	EXPECT_TRUE(failures.recognise(alice, Xid{7}, 101));
	EXPECT_FALSE(failures.recognise(alice, Xid{7}, 101));
}

TEST(Failures, OfAnotherRequesterOrTransaction_AreNotMeant)
{
	Failures failures;
	failures.remember(alice, Xid{7}, 100);
	EXPECT_FALSE(failures.recognise(bob, Xid{7}, 101));
	EXPECT_FALSE(failures.recognise(alice, Xid{8}, 101));
	EXPECT_FALSE(failures.recognise(bob, Xid{8}, 101));
	EXPECT_TRUE(failures.recognise(alice, Xid{7}, 101));
}

TEST(Failures, OfLongAgo_AreForgotten)
{
	Failures failures;
	failures.remember(alice, Xid{7}, 100);
	EXPECT_TRUE(failures.recognise(alice, Xid{7}, 100 + Failures::memory_seconds));
	failures.remember(alice, Xid{7}, 100);
	EXPECT_FALSE(failures.recognise(alice, Xid{7}, 101 + Failures::memory_seconds));
	EXPECT_FALSE(failures.recognise(alice, Xid{7}, 100));
	EXPECT_EQ(Failures::memory_seconds, 120u);
}

TEST(Failures, OfLongAgo_DoNotHideLaterOnes)
{
	Failures failures;
	failures.remember(alice, Xid{7}, 100);
	failures.remember(alice, Xid{7}, 300);
	EXPECT_TRUE(failures.recognise(alice, Xid{7}, 301));
	EXPECT_FALSE(failures.recognise(alice, Xid{7}, 301));
}

TEST(Failures, BeyondTheirNumber_TakeTheOldestsPlace)
{
	Failures failures;
	for (const std::uint32_t xid : {1u, 2u, 3u, 4u, 5u})
		failures.remember(alice, Xid{xid}, 100);
	EXPECT_FALSE(failures.recognise(alice, Xid{1}, 100));
	for (const std::uint32_t xid : {2u, 3u, 4u, 5u})
		EXPECT_TRUE(failures.recognise(alice, Xid{xid}, 100));
	failures.remember(bob, Xid{6}, 100);
	EXPECT_TRUE(failures.recognise(bob, Xid{6}, 100));
}

} // namespace
} // namespace rpcordma::unit
