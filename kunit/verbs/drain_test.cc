// SPDX-License-Identifier: GPL-2.0-only
#include "kunit/verbs/fake.hh"

namespace rpcordma::kunit {
namespace {

/* The fake device executes nothing by itself, so whoever waits for a work request would wait for ever. */
TEST(Drain, OfADeviceThatCannotStop_WaitsForNothing)
{
	Fake fake;
	ASSERT_TRUE(fake);
	rpcordma_fake_fail(fake, RPCORDMA_FAKE_MODIFY_QP, 1);
	rpcordma_drain(fake.qp());
	EXPECT_EQ(rpcordma_fake_sends_posted(fake), 0u);
	EXPECT_EQ(rpcordma_fake_receives_posted(fake), 0u);
}

} // namespace
} // namespace rpcordma::kunit
