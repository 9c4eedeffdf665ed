// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/probe.hh"

#include "kunit/verbs/sends.hh"

namespace rpcordma::kunit {
namespace {

using verbs::Probe;

/* Looks as often as it takes for one probe, or so many times, while no more than that has arrived. */
void look(Probe &probe, Sends &sends, u32 arrived, u32 times = Probe::quiet_looks)
{
	for (u32 i = 0; i < times; i++)
		probe.look(*sends, arrived);
}

TEST(Probe, Idle_IsOneWriteOfNoBytes)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 8);
	Probe probe;
	look(probe, sends, 0, Probe::quiet_looks - 1);
	EXPECT_EQ(rpcordma_fake_sends_posted(fake), 0u);
	probe.look(*sends, 0);
	EXPECT_EQ(rpcordma_fake_sends_posted(fake), 1u);
	fake.run();
	EXPECT_EQ(rpcordma_fake_empty_writes(fake), 1u);
	EXPECT_EQ(fake.arrivals(), 0u);
	EXPECT_EQ(sends.failures, 0u);
}

TEST(Probe, Used_IsNone)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 8);
	Probe probe;
	for (u32 arrived = 1; arrived < 3 * Probe::quiet_looks; arrived++)
		probe.look(*sends, arrived);
	EXPECT_EQ(rpcordma_fake_sends_posted(fake), 0u);
}

TEST(Probe, AfterUse_BeginsAnew)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 8);
	Probe probe;
	look(probe, sends, ~0u, Probe::quiet_looks - 1);
	/* Counted modulo 2^32. */
	probe.look(*sends, 0);
	look(probe, sends, 0, Probe::quiet_looks - 1);
	EXPECT_EQ(rpcordma_fake_sends_posted(fake), 0u);
	probe.look(*sends, 0);
	EXPECT_EQ(rpcordma_fake_sends_posted(fake), 1u);
	fake.run();
}

TEST(Probe, UnderWay_IsNotJoinedByAnother)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 8);
	Probe probe;
	look(probe, sends, 0);
	look(probe, sends, 0);
	EXPECT_EQ(rpcordma_fake_sends_posted(fake), 1u);
	fake.run();
	look(probe, sends, 0);
	EXPECT_EQ(rpcordma_fake_sends_posted(fake), 1u);
	fake.run();
	EXPECT_EQ(rpcordma_fake_empty_writes(fake), 2u);
}

TEST(Probe, NoRoom_IsLeftOut)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 2);
	Probe probe;
	ASSERT_TRUE(sends->reserve(2));
	look(probe, sends, 0);
	EXPECT_EQ(rpcordma_fake_sends_posted(fake), 0u);
	sends->release(2);
	look(probe, sends, 0);
	EXPECT_EQ(rpcordma_fake_sends_posted(fake), 1u);
	fake.run();
	/* What it took has come back. */
	EXPECT_TRUE(sends->reserve(2));
	sends->release(2);
}

TEST(Probe, NotAcknowledged_EndsTheConnection)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 8);
	Probe probe;
	look(probe, sends, 0);
	rpcordma_fake_fail_request(fake, 1, kernel::IB_WC_RETRY_EXC_ERR);
	fake.run();
	EXPECT_EQ(sends.failures, 1u);
	EXPECT_STREQ(sends.last_failure, "transport retry counter exceeded");
}

TEST(Probe, NotPosted_EndsTheConnectionAndIsNotAwaited)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 8);
	Probe probe;
	rpcordma_fake_fail(fake, RPCORDMA_FAKE_POST_SEND, 1);
	look(probe, sends, 0);
	EXPECT_EQ(sends.failures, 1u);
	look(probe, sends, 0);
	EXPECT_EQ(rpcordma_fake_sends_posted(fake), 1u);
	fake.run();
}

} // namespace
} // namespace rpcordma::kunit
