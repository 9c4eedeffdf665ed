// SPDX-License-Identifier: GPL-2.0-only
#include "kunit/verbs/fake.hh"

#include <algorithm>

#include "kunit/verbs/queue_user.hh"
#include "verbs/receive_queue.hh"

namespace rpcordma::kunit {
namespace {

using verbs::ReceiveBuffer;
using verbs::ReceiveQueue;

constexpr u32 largest = 1000;

/* A receive queue on a fake device, and what came in. Keeps the messages until they are given back. Ends drained. */
class Receives final : public QueueUser {
    public:
	Receives(Fake &fake, u32 depth)
		: fake_(fake)
		, queue_(fake.device(), rpcordma_fake_lkey(), largest, depth, *this)
	{
		queue_.attach(fake.qp());
	}
	~Receives()
	{
		queue_.stop();
		fake_.drain();
		give_back();
	}
	ReceiveQueue *operator->() { return &queue_; }
	void received(ReceiveBuffer &buffer) noexcept override { messages.push_back(&buffer); }
	void failed(const char *, const char *how) noexcept override
	{
		failures++;
		last_failure = how;
	}
	void give_back()
	{
		for (ReceiveBuffer *const message : messages)
			queue_.give_back(*message);
		messages.clear();
	}
	u32 provide(u32 wanted, u32 batch = 0) { return queue_.provide(wanted, batch, kernel::GFP_KERNEL); }
	bool deliver(wire::Bytes message, std::optional<u32> invalidate = {})
	{
		const bool delivered = fake_.deliver(message, invalidate);
		rpcordma_fake_complete(fake_);
		return delivered;
	}

	void has_spares() noexcept override { spares++; }

	std::vector<ReceiveBuffer *> messages;
	u32 spares = 0;
	u32 failures = 0;
	const char *last_failure = nullptr;

    private:
	Fake &fake_;
	ReceiveQueue queue_;
};

struct Want {
	const char *name;
	u32 depth;
	u32 wanted;
	u32 batch;
	u32 posted;
};
constexpr Want wants[] = {
	{"Nothing", 10, 0, 5, 0},	{"One", 10, 1, 0, 1},		{"OneAndABatch", 10, 1, 5, 6},
	{"AsManyAsFit", 10, 10, 0, 10}, {"MoreThanFit", 10, 12, 0, 10}, {"BatchThatDoesNotFit", 10, 8, 7, 10},
	{"ShortestQueue", 1, 1, 7, 1},
};

class AnyWant : public testing::TestWithParam<Want> {};
INSTANTIATE_TEST_SUITE_P(Wants, AnyWant, testing::ValuesIn(wants), [](const auto &info) { return info.param.name; });

TEST_P(AnyWant, Provide_PostsThatMany)
{
	rpcordma_fake_limits limits = roomy;
	limits.receive_depth = GetParam().depth;
	Fake fake(limits);
	ASSERT_TRUE(fake);
	Receives receives(fake, GetParam().depth);
	EXPECT_EQ(receives.provide(GetParam().wanted, GetParam().batch), GetParam().posted);
	EXPECT_EQ(rpcordma_fake_receives_posted(fake), GetParam().posted);
	EXPECT_EQ(receives.provide(GetParam().wanted, GetParam().batch), GetParam().posted);
	EXPECT_EQ(receives.failures, 0u);
}

TEST(Message, IsReadAsItArrived)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Receives receives(fake, 8);
	receives.provide(8);
	for (const u32 size : {0u, 1u, 28u, 999u, largest}) {
		ASSERT_TRUE(receives.deliver(pattern(size, size)));
		ASSERT_EQ(receives.messages.size(), 1u);
		EXPECT_EQ(copy_of(receives.messages[0]->message()), pattern(size, size)) << size;
		receives.give_back();
	}
	EXPECT_EQ(receives.failures, 0u);
}

TEST(Message, InAReusedBuffer_IsReadAsItArrived)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Receives receives(fake, 2);
	for (u32 i = 0; i < 50; i++) {
		ASSERT_EQ(receives.provide(1), 1u);
		ASSERT_TRUE(receives.deliver(pattern(100 + i, i)));
		ASSERT_EQ(receives.messages.size(), 1u);
		EXPECT_EQ(copy_of(receives.messages[0]->message()), pattern(100 + i, i)) << i;
		receives.give_back();
	}
	EXPECT_EQ(live_objects.receive_buffers.read(), 1);
}

TEST(Message, TooLongForItsBuffer_IsAFailure)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Receives receives(fake, 8);
	receives.provide(1);
	ASSERT_TRUE(receives.deliver(pattern(largest + 1)));
	EXPECT_EQ(receives.messages.size(), 0u);
	EXPECT_EQ(receives.failures, 1u);
}

TEST(Message, OfAnRdmaWriteWithImmediateData_IsAFailure)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Receives receives(fake, 8);
	receives.provide(3);
	/* What the buffer had before must not be taken for a message, nor what is behind the buffer. */
	for (const u32 size : {0u, 28u, 16 * largest}) {
		ASSERT_TRUE(rpcordma_fake_deliver_immediate(fake, size));
		rpcordma_fake_complete(fake);
	}
	EXPECT_EQ(receives.messages.size(), 0u);
	EXPECT_EQ(receives.failures, 3u);
	EXPECT_STREQ(receives.last_failure, "not a Send");
}

TEST(Message, WithInvalidation_SaysTheHandle)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Receives receives(fake, 8);
	receives.provide(2);
	receives.deliver(pattern(8), 0x4711u);
	receives.deliver(pattern(8));
	ASSERT_EQ(receives.messages.size(), 2u);
	u32 handle = 0;
	EXPECT_TRUE(receives.messages[0]->invalidated(handle));
	EXPECT_EQ(handle, 0x4711u);
	EXPECT_FALSE(receives.messages[1]->invalidated(handle));
}

TEST(Message, WithoutInvalidation_InTheBufferOfOneThatHadIt_SaysNone)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Receives receives(fake, 1);
	u32 handle = 0;
	receives.provide(1);
	receives.deliver(pattern(8), 0x4711u);
	receives.give_back();
	receives.provide(1);
	ASSERT_TRUE(receives.deliver(pattern(8)));
	ASSERT_EQ(receives.messages.size(), 1u);
	EXPECT_FALSE(receives.messages[0]->invalidated(handle));
}

TEST(Provide, WithEnoughPosted_PostsNothing)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Receives receives(fake, 16);
	EXPECT_EQ(receives.provide(4, 4), 8u);
	for (u32 i = 0; i < 4; i++)
		ASSERT_TRUE(receives.deliver(pattern(8)));
	receives.give_back();
	EXPECT_EQ(receives.provide(4, 4), 4u);
	EXPECT_EQ(receives.provide(5, 4), 8u);
	EXPECT_EQ(live_objects.receive_buffers.read(), 8);
}

/* Who relies on the number has the peer send messages for them. */
TEST(Provide, OfAnother_CountsAReceiveOnceTheDeviceHasIt)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Receives receives(fake, 16);
	ASSERT_EQ(receives.provide(3), 3u);
	struct Other {
		Receives &receives;
		u32 looks = 0;
		u32 most = 0;
	} other{receives};
	const auto look = [](void *data) {
		auto &looking = *static_cast<Other *>(data);
		looking.looks++;
		looking.most = std::max(looking.most, looking.receives.provide(0));
	};
	rpcordma_fake_watch_receives(fake, look, &other);
	EXPECT_EQ(receives.provide(8), 8u);
	rpcordma_fake_watch_receives(fake, nullptr, nullptr);
	EXPECT_EQ(other.looks, 5u);
	EXPECT_EQ(other.most, 3u);
	EXPECT_EQ(receives.provide(0), 8u);
}

TEST(Provide, WhileMessagesAreHeld_MakesMore)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Receives receives(fake, 4);
	for (u32 i = 0; i < 10; i++) {
		ASSERT_EQ(receives.provide(2), 2u);
		ASSERT_TRUE(receives.deliver(pattern(8, i)));
	}
	ASSERT_EQ(receives.messages.size(), 10u);
	for (u32 i = 0; i < 10; i++)
		EXPECT_EQ(copy_of(receives.messages[i]->message()), pattern(8, i));
	receives.give_back();
	EXPECT_EQ(receives.provide(4), 4u);
	EXPECT_EQ(live_objects.receive_buffers.read(), 11);
}

TEST(Provide, WithoutMemory_PostsWhatThereIs)
{
	Fake fake;
	ASSERT_TRUE(fake);
	std::array<u32, 4> times{};
	for_each_failed_allocation([&] {
		rpcordma_fake_mend(fake);
		Receives receives(fake, 8);
		const u32 posted = receives.provide(3);
		EXPECT_EQ(live_objects.receive_buffers.read(), posted);
		EXPECT_EQ(rpcordma_fake_dma_mappings(fake), posted);
		times[posted]++;
		return posted == 3;
	});
	/* Each of the three is a buffer, and its bytes. */
	EXPECT_GE(times[0], 2u);
	EXPECT_GE(times[1], 1u);
	EXPECT_GE(times[2], 1u);
}

TEST(Provide, WithoutMapping_PostsWhatThereIs)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Receives receives(fake, 8);
	rpcordma_fake_fail(fake, RPCORDMA_FAKE_DMA_MAP, 3);
	EXPECT_EQ(receives.provide(5), 2u);
	EXPECT_EQ(rpcordma_fake_dma_mappings(fake), 2u);
	EXPECT_EQ(receives.provide(5), 5u);
}

TEST(Provide, RefusedInTheMiddle_IsAFailureForGood)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Receives receives(fake, 8);
	rpcordma_fake_fail(fake, RPCORDMA_FAKE_POST_RECEIVE, 3);
	receives.provide(5);
	EXPECT_EQ(receives.failures, 1u);
	EXPECT_STREQ(receives.last_failure, "not posted");
	EXPECT_EQ(rpcordma_fake_receives_posted(fake), 2u);
	receives.provide(8);
	EXPECT_EQ(rpcordma_fake_receives_posted(fake), 2u);
}

TEST(Provide, AfterMany_PostsABatchMoreThanNeeded)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Receives receives(fake, 64);
	ASSERT_EQ(receives.provide(40, 4), 44u);
	for (u32 i = 0; i < 44; i++)
		ASSERT_TRUE(receives.deliver(pattern(8)));
	receives.give_back();
	EXPECT_EQ(receives.provide(1, 4), 5u);
	EXPECT_EQ(rpcordma_fake_receives_posted(fake), 5u);
	EXPECT_EQ(live_objects.receive_buffers.read(), 44);
}

TEST(Trim, FreesSparesThatWereNotNeeded)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Receives receives(fake, 64);
	ASSERT_EQ(receives.provide(20), 20u);
	EXPECT_FALSE(receives->trim());
	EXPECT_EQ(receives.spares, 0u);
	for (u32 i = 0; i < 15; i++)
		ASSERT_TRUE(receives.deliver(pattern(8)));
	receives.give_back();
	EXPECT_EQ(receives.spares, 1u);
	/* All were in use since the look before. */
	EXPECT_TRUE(receives->trim());
	EXPECT_EQ(live_objects.receive_buffers.read(), 20);
	/* Two of them are needed again. */
	EXPECT_EQ(receives.provide(7), 7u);
	EXPECT_FALSE(receives->trim());
	EXPECT_EQ(live_objects.receive_buffers.read(), 7);
	EXPECT_EQ(rpcordma_fake_dma_mappings(fake), 7u);
	EXPECT_EQ(rpcordma_fake_receives_posted(fake), 7u);
	EXPECT_EQ(receives.provide(9), 9u);
	EXPECT_TRUE(receives.deliver(pattern(8, 1)));
	EXPECT_EQ(copy_of(receives.messages.back()->message()), pattern(8, 1));
}

/* Those that somebody has are among all that are taken from the device at the end. */
TEST(Trim, LeavesTheOthersInTheirPlace)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Receives receives(fake, 64);
	ASSERT_EQ(receives.provide(6), 6u);
	for (u32 i = 0; i < 6; i++)
		ASSERT_TRUE(receives.deliver(pattern(8, i)));
	for (const u32 freed : {0u, 2u, 3u})
		receives->give_back(*receives.messages[freed]);
	(void)receives->trim();
	EXPECT_FALSE(receives->trim());
	EXPECT_EQ(live_objects.receive_buffers.read(), 3);
	receives.messages = {receives.messages[1], receives.messages[4], receives.messages[5]};
	receives->stop();
	fake.drain();
	receives->unmap();
	EXPECT_EQ(rpcordma_fake_dma_mappings(fake), 0u);
	EXPECT_EQ(copy_of(receives.messages[2]->message()), pattern(8, 5));
}

/* As an upper layer does that deciphers it. */
TEST(Message, WrittenTo_StaysSoWhenTheDeviceLosesIt)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Receives receives(fake, 8);
	ASSERT_EQ(receives.provide(1), 1u);
	ASSERT_TRUE(receives.deliver(pattern(100, 1)));
	const wire::Bytes message = receives.messages[0]->message();
	const auto written = pattern(100, 2);
	std::copy(written.begin(), written.end(), const_cast<std::byte *>(message.data()));
	receives->stop();
	fake.drain();
	receives->unmap();
	EXPECT_EQ(copy_of(message), written);
}

TEST(Shrunk, Queue_TakesMessagesOfTheNewSizeInNewBuffersAlone)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Receives receives(fake, 8);
	ASSERT_EQ(receives.provide(1), 1u);
	receives->shrink(largest / 2);
	ASSERT_EQ(receives.provide(2), 2u);
	EXPECT_TRUE(receives.deliver(pattern(largest)));
	EXPECT_TRUE(receives.deliver(pattern(largest / 2)));
	EXPECT_EQ(receives.messages.size(), 2u);
	ASSERT_EQ(receives.provide(1), 1u);
	receives.deliver(pattern(largest / 2 + 1));
	EXPECT_EQ(receives.messages.size(), 2u);
	EXPECT_EQ(receives.failures, 1u);
}

TEST(Stopped, Queue_PostsNothingMore)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Receives receives(fake, 8);
	EXPECT_EQ(receives.provide(2), 2u);
	receives->stop();
	EXPECT_EQ(receives.provide(6), 2u);
	EXPECT_EQ(rpcordma_fake_receives_posted(fake), 2u);
}

TEST(Flushed, Receives_AreFailuresAndComeBack)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Receives receives(fake, 8);
	receives.provide(5);
	fake.drain();
	EXPECT_EQ(receives.failures, 5u);
	EXPECT_STREQ(receives.last_failure, rpcordma_status_name(kernel::IB_WC_WR_FLUSH_ERR));
	EXPECT_EQ(receives.messages.size(), 0u);
	EXPECT_EQ(live_objects.receive_buffers.read(), 5);
}

TEST(SmallDevice, ManyMessages_NeitherOverflowNorStall)
{
	Fake fake(small);
	ASSERT_TRUE(fake);
	Receives receives(fake, small.receive_depth);
	for (u32 i = 0; i < 200; i++) {
		ASSERT_GE(receives.provide(1 + i % small.receive_depth, 3), 1u);
		ASSERT_TRUE(receives.deliver(pattern(40, i)));
		EXPECT_EQ(copy_of(receives.messages.back()->message()), pattern(40, i));
		if (i % 3 == 0)
			receives.give_back();
	}
	EXPECT_EQ(receives.failures, 0u);
}

} // namespace
} // namespace rpcordma::kunit
