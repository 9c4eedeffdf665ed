// SPDX-License-Identifier: GPL-2.0-only
#include "kunit/verbs/sends.hh"

namespace rpcordma::kunit {
namespace {

using verbs::Chain;
using verbs::SendBuffer;
using verbs::SendQueue;
using verbs::Signal;

constexpr unsigned int success = kernel::IB_WC_SUCCESS;
constexpr unsigned int remote_access = kernel::IB_WC_REM_ACCESS_ERR;

/* A watcher of completions that counts them. */
struct Watcher {
	Watcher()
		: signal([](Signal &its) noexcept { reinterpret_cast<Watcher *>(&its)->heard++; })
	{
	}
	Signal signal;
	u32 heard = 0;
};

struct Depth {
	const char *name;
	u32 depth;
};
constexpr Depth depths[] = {{"OneRequest", 1}, {"TwoRequests", 2}, {"FiveRequests", 5}, {"SixtyFourRequests", 64}};

class AnyDepth : public testing::TestWithParam<Depth> {};
INSTANTIATE_TEST_SUITE_P(Queues, AnyDepth, testing::ValuesIn(depths), [](const auto &info) { return info.param.name; });

TEST(Send, Message_ArrivesAsItWasWritten)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 16);
	for (const u32 size : {1u, 28u, 999u, Sends::size}) {
		ASSERT_TRUE(sends.send(pattern(size, size)));
		fake.run();
		EXPECT_EQ(copy_of(fake.arrived()), pattern(size, size)) << size;
	}
	EXPECT_EQ(fake.arrivals(), 4u);
	EXPECT_EQ(sends.failures, 0u);
}

TEST(Send, WithInvalidate_CarriesTheHandle)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 16);
	ASSERT_TRUE(sends.send(pattern(10), {.watcher = nullptr, .invalidate = 0xabcdef01}));
	fake.run();
	u32 handle = 0;
	EXPECT_TRUE(rpcordma_fake_invalidated(fake, &handle));
	EXPECT_EQ(handle, 0xabcdef01u);
	ASSERT_TRUE(sends.send(pattern(10)));
	fake.run();
	EXPECT_FALSE(rpcordma_fake_invalidated(fake, &handle));
}

TEST_P(AnyDepth, Room_IsTheDepth)
{
	Fake fake;
	ASSERT_TRUE(fake);
	const u32 depth = GetParam().depth;
	Sends sends(fake, depth);
	EXPECT_FALSE(sends->reserve(depth + 1));
	EXPECT_TRUE(sends->reserve(depth));
	EXPECT_FALSE(sends->reserve(1));
	sends->release(1);
	EXPECT_TRUE(sends->reserve(1));
	sends->release(depth);
	EXPECT_TRUE(sends->reserve(depth));
	sends->release(depth);
}

TEST_P(AnyDepth, SlowStart_SendsAsManyAsWereTaken)
{
	Fake fake;
	ASSERT_TRUE(fake);
	const u32 depth = GetParam().depth;
	Sends sends(fake, depth);
	ASSERT_TRUE(sends->prepare(verbs::SendQueue::least_buffers, kernel::GFP_KERNEL));
	sends->begin_slow_start();
	u32 taken = 0;
	for (u32 most = 1; most < depth || taken < depth; most = std::clamp(taken, 1u, depth)) {
		u32 sent = 0;
		while (sends.send(pattern(8)))
			sent++;
		EXPECT_EQ(sent, most) << taken;
		EXPECT_FALSE(sends->reserve(1));
		const u32 rooms = sends.rooms;
		fake.run();
		/* They said so by themselves: there are other buffers, and most of the queue may be free. */
		EXPECT_EQ(sends.rooms, rooms + sent);
		taken += sent;
	}
	for (u32 sent = 0; sent < depth; sent++)
		EXPECT_TRUE(sends.send(pattern(8))) << sent;
	EXPECT_FALSE(sends.send(pattern(8)));
}

TEST_P(AnyDepth, SlowStart_HasRoomForOneChain)
{
	Fake fake;
	ASSERT_TRUE(fake);
	const u32 depth = GetParam().depth;
	Sends sends(fake, depth);
	sends->begin_slow_start();
	ASSERT_TRUE(sends->reserve(depth));
	EXPECT_FALSE(sends->reserve(1));
	sends->release(depth);
	ASSERT_TRUE(sends->reserve(1));
	EXPECT_FALSE(sends->reserve(1));
	sends->release(1);
}

TEST_P(AnyDepth, SlowStart_CanEnd)
{
	Fake fake;
	ASSERT_TRUE(fake);
	const u32 depth = GetParam().depth;
	Sends sends(fake, depth);
	sends->begin_slow_start();
	ASSERT_TRUE(sends->reserve(1));
	sends->end_slow_start();
	EXPECT_TRUE(sends->reserve(depth - 1));
	sends->release(depth);
}

TEST_P(AnyDepth, FullQueue_HasRoomAgainWhenSendsComplete)
{
	Fake fake;
	ASSERT_TRUE(fake);
	const u32 depth = GetParam().depth;
	Sends sends(fake, depth);
	for (u32 i = 0; i < depth; i++)
		ASSERT_TRUE(sends.send(pattern(8, i)));
	EXPECT_FALSE(sends.send(pattern(8)));
	EXPECT_EQ(sends.rooms, 0u);
	fake.run();
	EXPECT_GE(sends.rooms, 1u);
	EXPECT_TRUE(sends.send(pattern(8)));
}

TEST_P(AnyDepth, ManyMessages_NeitherOverflowNorStall)
{
	rpcordma_fake_limits limits = roomy;
	limits.send_depth = GetParam().depth;
	Fake fake(limits);
	ASSERT_TRUE(fake);
	Sends sends(fake, GetParam().depth);
	for (u32 i = 0; i < 300; i++) {
		if (sends.send(pattern(16, i)))
			continue;
		fake.run();
		ASSERT_TRUE(sends.send(pattern(16, i))) << i;
	}
	fake.run();
	EXPECT_EQ(fake.arrivals(), 300u);
	EXPECT_EQ(copy_of(fake.arrived()), pattern(16, 299));
	EXPECT_LE(live_objects.send_buffers.read(), GetParam().depth);
}

TEST(Send, Completions_AreAskedForRarely)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 64);
	ASSERT_TRUE(sends->prepare(40, kernel::GFP_KERNEL));
	for (u32 i = 0; i < 32; i++) {
		ASSERT_TRUE(sends.send(pattern(8)));
		rpcordma_fake_execute(fake, 1);
	}
	rpcordma_fake_complete(fake);
	EXPECT_EQ(rpcordma_fake_completions(fake), 3u);
}

/* Otherwise TCP would transmit from a buffer that has another message already. */
TEST(Send, OfAPage_IsSignalledOverSoftIwarp)
{
	constexpr u32 page = kernel::page_size;
	for (const bool is_soft_iwarp : {false, true}) {
		Fake fake;
		ASSERT_TRUE(fake);
		if (is_soft_iwarp)
			rpcordma_fake_be_soft_iwarp(fake);
		Sends sends(fake, 64, 2 * page);
		ASSERT_TRUE(sends->prepare(40, kernel::GFP_KERNEL));
		for (const u32 size : {page - 1, page, page - 1, 2 * page})
			ASSERT_TRUE(sends.send(pattern(size)));
		fake.run();
		EXPECT_EQ(rpcordma_fake_completions(fake), is_soft_iwarp ? 2u : 0u);
		EXPECT_EQ(fake.arrivals(), 4u);
	}
}

TEST(Send, OfTheLastFreeBuffer_IsSignalled)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 64);
	ASSERT_TRUE(sends->prepare(2, kernel::GFP_KERNEL));
	for (u32 round = 0; round < 10; round++) {
		ASSERT_TRUE(sends.send(pattern(8)));
		ASSERT_TRUE(sends.send(pattern(8)));
		fake.run();
	}
	EXPECT_EQ(live_objects.send_buffers.read(), 2);
}

TEST(Progress, IsOwedUntilWhatAsksForACompletionHasOne)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 16);
	ASSERT_TRUE(sends->prepare(8, kernel::GFP_KERNEL));
	EXPECT_FALSE(sends->progress().is_owed);
	/* Nobody hears of the first. */
	ASSERT_TRUE(sends.send(pattern(8)));
	EXPECT_FALSE(sends->progress().is_owed);
	Watcher watcher;
	ASSERT_TRUE(sends.send(pattern(8), {.watcher = &watcher.signal, .invalidate = std::nullopt}));
	EXPECT_TRUE(sends->progress().is_owed);
	EXPECT_EQ(sends->progress().retired, 0u);
	fake.run();
	EXPECT_EQ(watcher.heard, 1u);
	EXPECT_FALSE(sends->progress().is_owed);
	EXPECT_EQ(sends->progress().retired, 2u);
}

TEST(Progress, IsNotOwedByWhatFailedBehindAllThatAsked)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 16);
	ASSERT_TRUE(sends->prepare(8, kernel::GFP_KERNEL));
	rpcordma_fake_fail_request(fake, 1, kernel::IB_WC_REM_OP_ERR);
	ASSERT_TRUE(sends.send(pattern(8)));
	fake.run();
	EXPECT_GE(sends.failures, 1u);
	EXPECT_FALSE(sends->progress().is_owed);
}

TEST(Send, Buffer_IsNotReusedBeforeItsCompletion)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 64);
	ASSERT_TRUE(sends.send(pattern(8, 1)));
	ASSERT_TRUE(sends.send(pattern(8, 2)));
	rpcordma_fake_execute(fake, 1);
	EXPECT_EQ(copy_of(fake.arrived()), pattern(8, 1));
	EXPECT_EQ(live_objects.send_buffers.read(), 2);
	rpcordma_fake_complete(fake);
	ASSERT_TRUE(sends.send(pattern(8, 3)));
	EXPECT_EQ(live_objects.send_buffers.read(), 2);
	rpcordma_fake_execute(fake, 1);
	EXPECT_EQ(copy_of(fake.arrived()), pattern(8, 2));
	rpcordma_fake_execute(fake, 1);
	EXPECT_EQ(copy_of(fake.arrived()), pattern(8, 3));
}

TEST(Send, Buffer_DoesNotComeBackWithThatOfAnEarlierSend)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 64);
	ASSERT_TRUE(sends->prepare(3, kernel::GFP_KERNEL));
	Watcher watcher;
	watcher.signal.watch(*sends, {});
	ASSERT_TRUE(sends.send(pattern(8, 1), {.watcher = &watcher.signal, .invalidate = {}}));
	ASSERT_TRUE(sends.send(pattern(8, 2)));
	rpcordma_fake_execute(fake, 1);
	rpcordma_fake_complete(fake);
	EXPECT_EQ(watcher.heard, 1u);
	/* As many as there would be buffers, if that of the second were among them. */
	for (u32 i = 3; i < 6; i++)
		ASSERT_TRUE(sends.send(pattern(8, i)));
	for (u32 i = 2; i < 6; i++) {
		rpcordma_fake_execute(fake, 1);
		EXPECT_EQ(copy_of(fake.arrived()), pattern(8, i)) << i;
	}
	EXPECT_EQ(live_objects.send_buffers.read(), 4);
}

TEST(Abandon, GivesBackTheBufferAndTheRoom)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 4);
	for (u32 i = 0; i < 10; i++) {
		SendBuffer *const buffer = sends->begin(4, kernel::GFP_KERNEL);
		ASSERT_TRUE(buffer);
		EXPECT_FALSE(sends->reserve(1));
		sends->abandon(*buffer, 4);
	}
	EXPECT_EQ(live_objects.send_buffers.read(), 1);
	EXPECT_TRUE(sends->reserve(4));
	sends->release(4);
}

TEST(Begin, WithoutMemory_TakesNothing)
{
	Fake fake;
	ASSERT_TRUE(fake);
	u32 in_vain = 0;
	for_each_failed_allocation([&] {
		rpcordma_fake_mend(fake);
		Sends sends(fake, 4);
		SendBuffer *const buffer = sends->begin(3, kernel::GFP_KERNEL);
		if (buffer)
			sends->abandon(*buffer, 3);
		else
			in_vain++;
		EXPECT_TRUE(sends->reserve(4));
		sends->release(4);
		EXPECT_EQ(live_objects.send_buffers.read(), buffer ? 1 : 0);
		return buffer != nullptr;
	});
	/* The buffer, and its bytes. */
	EXPECT_GE(in_vain, 2u);
}

TEST(Begin, LeavesWhatIsSpared_ButToTheLongestChain)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 16);
	SendBuffer *const buffer = sends->begin(8, kernel::GFP_KERNEL, 100);
	ASSERT_TRUE(buffer != nullptr);
	EXPECT_TRUE(sends->begin(6, kernel::GFP_KERNEL, 3) == nullptr);
	SendBuffer *const other = sends->begin(5, kernel::GFP_KERNEL, 3);
	ASSERT_TRUE(other != nullptr);
	EXPECT_TRUE(sends->begin(1, kernel::GFP_KERNEL, 3) == nullptr);
	EXPECT_TRUE(sends->reserve(3));
	EXPECT_FALSE(sends->reserve(1));
	sends->release(3);
	sends->abandon(*other, 5);
	sends->abandon(*buffer, 8);
	EXPECT_TRUE(sends->reserve(16));
	sends->release(16);
}

TEST(Begin, HasRoomForTheLongestChain_BehindSendsThatNobodyHearsOf)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 16);
	ASSERT_TRUE(sends->prepare(SendQueue::least_buffers, kernel::GFP_KERNEL));
	while (sends.rooms == 0) {
		SendBuffer *const buffer = sends->begin(sends->longest_chain(), kernel::GFP_KERNEL, 100);
		ASSERT_TRUE(buffer != nullptr);
		sends->abandon(*buffer, sends->longest_chain());
		ASSERT_TRUE(sends.send(pattern(8)));
		fake.run();
	}
}

TEST(Begin, WithoutMapping_TakesNothing)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 4);
	rpcordma_fake_fail(fake, RPCORDMA_FAKE_DMA_MAP, 1);
	EXPECT_TRUE(sends->begin(3, kernel::GFP_KERNEL) == nullptr);
	EXPECT_EQ(live_objects.send_buffers.read(), 0);
	EXPECT_TRUE(sends->reserve(4));
	sends->release(4);
}

TEST(Prepare, MakesBuffersOnce)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 16);
	ASSERT_TRUE(sends->prepare(5, kernel::GFP_KERNEL));
	EXPECT_EQ(live_objects.send_buffers.read(), 5);
	EXPECT_EQ(rpcordma_fake_dma_mappings(fake), 5u);
	rpcordma_fake_fail(fake, RPCORDMA_FAKE_DMA_MAP, 2);
	EXPECT_FALSE(sends->prepare(3, kernel::GFP_KERNEL));
	EXPECT_EQ(live_objects.send_buffers.read(), 6);
}

TEST(Trim, FreesBuffersThatWereNotNeeded_ButTheLeast)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 64);
	constexpr u32 least = SendQueue::idle_buffers;
	ASSERT_TRUE(sends->prepare(least + 10, kernel::GFP_KERNEL));
	EXPECT_TRUE(sends->trim());
	EXPECT_EQ(live_objects.send_buffers.read(), least + 10);
	for (u32 i = 0; i < 5; i++)
		ASSERT_TRUE(sends.send(pattern(8, i)));
	/* Five are in the queue. */
	EXPECT_FALSE(sends->trim());
	EXPECT_EQ(live_objects.send_buffers.read(), least + 5);
	/* All at once, with the completion of the last. */
	for (u32 i = 0; i < 16; i++)
		ASSERT_TRUE(sends.send(pattern(8, i)));
	fake.run();
	(void)sends->trim();
	EXPECT_FALSE(sends->trim());
	EXPECT_LE(live_objects.send_buffers.read(), 16);
	EXPECT_TRUE(sends.send(pattern(8)));
}

TEST(Stopped, Queue_TakesNothingMore)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 16);
	SendBuffer *const buffer = sends->begin(1, kernel::GFP_KERNEL);
	ASSERT_TRUE(buffer);
	sends->stop();
	EXPECT_FALSE(sends->reserve(1));
	EXPECT_TRUE(sends->begin(1, kernel::GFP_KERNEL) == nullptr);
	EXPECT_FALSE(sends->post(*buffer, 8, {}, {}));
	EXPECT_EQ(sends.failures, 1u);
	EXPECT_EQ(rpcordma_fake_sends_posted(fake), 0u);
}

TEST(Post, Refused_IsTold)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 16);
	rpcordma_fake_fail(fake, RPCORDMA_FAKE_POST_SEND, 1);
	EXPECT_FALSE(sends.send(pattern(8)));
	EXPECT_EQ(sends.failures, 1u);
	EXPECT_STREQ(sends.last_failure, "not posted");
}

TEST(Post, FailedSend_IsToldWithItsStatus)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 16);
	rpcordma_fake_fail_request(fake, 2, kernel::IB_WC_REM_OP_ERR);
	ASSERT_TRUE(sends.send(pattern(8)));
	ASSERT_TRUE(sends.send(pattern(8)));
	ASSERT_TRUE(sends.send(pattern(8)));
	fake.run();
	EXPECT_EQ(fake.arrivals(), 1u);
	EXPECT_GE(sends.failures, 2u);
	EXPECT_STREQ(sends.last_failure, rpcordma_status_name(kernel::IB_WC_WR_FLUSH_ERR));
}

TEST(Chain, IsAppendedAndCut)
{
	std::array<kernel::Opaque<ib_send_wr>, 5> requests;
	Chain chain;
	for (auto &request : requests)
		chain.append(request.get());
	EXPECT_EQ(chain.count, 5u);
	const Chain front = chain.cut(2);
	EXPECT_EQ(front.count, 2u);
	EXPECT_TRUE(front.first == requests[0].get() && front.last == requests[1].get());
	EXPECT_TRUE(kernel::field::ib_send_wr::next(front.last) == nullptr);
	EXPECT_EQ(chain.count, 3u);
	EXPECT_TRUE(chain.first == requests[2].get() && chain.last == requests[4].get());

	Chain whole;
	whole.append_all(front.first);
	whole.append_all(chain.first);
	EXPECT_EQ(whole.count, 5u);
	EXPECT_TRUE(kernel::field::ib_send_wr::next(requests[1].get()) == requests[2].get());
	EXPECT_TRUE(whole.last == requests[4].get());
}

/* Sends that go before another one. Their room has been reserved with that. */
class Before {
    public:
	explicit Before(SendQueue &queue)
	{
		for (auto &each : requests_) {
			ib_send_wr *const request = each.get();
			kernel::field::ib_send_wr::opcode(request) = kernel::IB_WR_SEND;
			kernel::field::ib_send_wr::wr_cqe(request) = queue.silent();
			chain.append(request);
		}
	}
	static constexpr u32 count = 3;
	Chain chain;

    private:
	std::array<kernel::Opaque<ib_send_wr>, count> requests_;
};

TEST(Post, WithRequestsBefore_IsOneChainAndOneDoorbell)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 8);
	Before before(*sends);
	SendBuffer *const buffer = sends->begin(Before::count + 1, kernel::GFP_KERNEL);
	ASSERT_TRUE(buffer);
	ASSERT_TRUE(sends->post(*buffer, 8, before.chain, {}));
	EXPECT_EQ(rpcordma_fake_sends_posted(fake), Before::count + 1);
	EXPECT_EQ(rpcordma_fake_doorbells(fake), 1u);
	EXPECT_TRUE(sends->reserve(4));
	EXPECT_FALSE(sends->reserve(1));
	fake.run();
	EXPECT_EQ(fake.arrivals(), Before::count + 1);
	EXPECT_TRUE(sends->reserve(4));
	sends->release(8);
}

TEST(Post, RefusedInItsMiddle_IsTold)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 8);
	Before before(*sends);
	SendBuffer *const buffer = sends->begin(Before::count + 1, kernel::GFP_KERNEL);
	ASSERT_TRUE(buffer);
	rpcordma_fake_fail(fake, RPCORDMA_FAKE_POST_SEND, 3);
	EXPECT_FALSE(sends->post(*buffer, 8, before.chain, {}));
	EXPECT_EQ(sends.failures, 1u);
	EXPECT_EQ(rpcordma_fake_sends_posted(fake), 2u);
}

TEST(Signal, OfAChain_IsHeardWhenAllOfItIsDone)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 8);
	Before before(*sends);
	Watcher watcher;
	watcher.signal.watch(*sends, before.chain);
	ASSERT_TRUE(sends->reserve(Before::count));
	ASSERT_TRUE(sends->post(before.chain, watcher.signal));
	rpcordma_fake_execute(fake, Before::count - 1);
	rpcordma_fake_complete(fake);
	EXPECT_EQ(watcher.heard, 0u);
	EXPECT_FALSE(sends->reserve(8));
	fake.run();
	EXPECT_EQ(watcher.heard, 1u);
	EXPECT_TRUE(sends->reserve(8));
	sends->release(8);
}

TEST(Signal, OfAChainThatFails_KnowsWhatTheFirstFailedWith)
{
	for (const u32 nth : {1u, 2u, 3u}) {
		Fake fake;
		ASSERT_TRUE(fake);
		Sends sends(fake, 8);
		Before before(*sends);
		Watcher watcher;
		watcher.signal.watch(*sends, before.chain);
		ASSERT_TRUE(sends->reserve(Before::count));
		rpcordma_fake_fail_request(fake, nth, kernel::IB_WC_REM_ACCESS_ERR);
		ASSERT_TRUE(sends->post(before.chain, watcher.signal));
		fake.run();
		EXPECT_EQ(watcher.heard, 1u) << nth;
		EXPECT_EQ(watcher.signal.failure(), remote_access) << nth;
		EXPECT_GE(sends.failures, 1u);
	}
}

TEST(Signal, OfAChainThatIsFlushed_HasNoFailureOfItsOwn)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 8);
	Before before(*sends);
	Watcher watcher;
	watcher.signal.watch(*sends, before.chain);
	ASSERT_TRUE(sends->reserve(Before::count));
	ASSERT_TRUE(sends->post(before.chain, watcher.signal));
	fake.drain();
	EXPECT_EQ(watcher.heard, 1u);
	EXPECT_EQ(watcher.signal.failure(), success);
	EXPECT_EQ(sends.failures, Before::count);
}

TEST(Signal, InAStoppedQueue_IsNeverHeard)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 8);
	Before before(*sends);
	Watcher watcher;
	watcher.signal.watch(*sends, before.chain);
	ASSERT_TRUE(sends->reserve(Before::count));
	sends->stop();
	EXPECT_FALSE(sends->post(before.chain, watcher.signal));
	EXPECT_EQ(sends.failures, 1u);
	fake.run();
	EXPECT_EQ(watcher.heard, 0u);
}

TEST(Watcher, HearsOfItsSendOnce)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Sends sends(fake, 64);
	ASSERT_TRUE(sends->prepare(8, kernel::GFP_KERNEL));
	Watcher watcher;
	watcher.signal.watch(*sends, {});
	ASSERT_TRUE(sends.send(pattern(8)));
	ASSERT_TRUE(sends.send(pattern(8), {.watcher = &watcher.signal, .invalidate = {}}));
	ASSERT_TRUE(sends.send(pattern(8)));
	rpcordma_fake_execute(fake, 1);
	rpcordma_fake_complete(fake);
	EXPECT_EQ(watcher.heard, 0u);
	fake.run();
	EXPECT_EQ(watcher.heard, 1u);
	EXPECT_EQ(watcher.signal.failure(), success);
	EXPECT_EQ(sends.rooms, 1u);
}

} // namespace
} // namespace rpcordma::kunit
