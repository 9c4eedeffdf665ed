// SPDX-License-Identifier: GPL-2.0-only
#include "kunit/verbs/sends.hh"

#include "verbs/advertised.hh"

namespace rpcordma::kunit {
namespace {

using verbs::Access;
using verbs::Advertised;
using verbs::Mapped;
using verbs::PageCursor;
using verbs::ReceiveBuffer;
using verbs::ReceiveQueue;
using verbs::Registration;
using verbs::RegistrationPool;
using verbs::Registrations;
using verbs::Run;

/* What an RPC takes that advertises memory on a fake device. Ends drained. */
class Rpc final : public QueueUser {
    public:
	explicit Rpc(Fake &fake)
		: fake_(fake)
		, sends(fake, 32)
		, pool(fake.device(), fake.pd(), *sends, 8, *this)
		, receives(fake.device(), rpcordma_fake_lkey(), 1000, 4, *this)
	{
		receives.attach(fake.qp());
		EXPECT_TRUE(pool.prepare(4));
		EXPECT_EQ(receives.provide(1, 0, kernel::GFP_KERNEL), 1u);
		own_mappings = rpcordma_fake_dma_mappings(fake);
	}
	~Rpc()
	{
		receives.stop();
		sends.drain();
		if (message)
			receives.give_back(*message);
		advertised.take_back(pool);
	}
	void room() noexcept override { told++; }
	void received(ReceiveBuffer &buffer) noexcept override { message = &buffer; }

	/* Advertises a run; false where it cannot be mapped. Room for the invalidations is reserved. */
	bool advertise(const Run &run) { return advertise(run, advertised); }
	bool advertise(const Run &run, Advertised &by)
	{
		const std::span<const proto::MemoryRun> shape(&run.shape, 1);
		const u32 count = proto::segments_needed(shape, pool.limits());
		EXPECT_TRUE(by.take(pool, count));
		verbs::Chain chain;
		const Mapped mapped = by.add(PageCursor({&run, 1}), proto::Segmenter(shape, pool.limits()),
					     Access::read, chain,
					     [&](const wire::Segment &one) { segments.push_back(one); });
		if (mapped != Mapped::yes)
			return false;
		EXPECT_EQ(chain.count, count);
		sends.run(chain);
		return sends->reserve(count);
	}
	[[nodiscard]] bool peer_reads(u32 n)
	{
		std::vector<std::byte> bytes(segments[n].length);
		return rpcordma_fake_peer_read(fake_, std::to_underlying(segments[n].handle), segments[n].offset,
					       bytes.data(), segments[n].length);
	}
	/* A message comes that invalidates a handle. */
	void peer_invalidates(u32 handle)
	{
		EXPECT_TRUE(fake_.deliver(pattern(8), handle));
		rpcordma_fake_complete(fake_);
		ASSERT_TRUE(message != nullptr);
	}
	/* Has what is posted executed. */
	void run() { fake_.run(); }

    private:
	Fake &fake_;

    public:
	Sends sends;
	RegistrationPool pool;
	ReceiveQueue receives;
	Advertised advertised;
	std::vector<wire::Segment> segments;
	ReceiveBuffer *message = nullptr;
	u32 told = 0;
	/* Those of the Receive. */
	u32 own_mappings = 0;
};

/* Counts its completions. */
struct Done final : verbs::Signal {
	Done()
		: Signal([](Signal &signal) noexcept { static_cast<Done &>(signal).times++; })
	{
	}
	u32 times = 0;
};

TEST(Advertised, IsReachedUntilItIsInvalidated)
{
	Fake fake(small);
	ASSERT_TRUE(fake);
	Pages pages(5);
	Rpc rpc(fake);
	ASSERT_TRUE(rpc.advertise(Run::of_pages(pages.data(), 100, 4 * page_size)));
	EXPECT_EQ(rpc.advertised.count(), 3u);
	EXPECT_EQ(rpc.segments.size(), 3u);
	EXPECT_TRUE(rpc.peer_reads(0) && rpc.peer_reads(1) && rpc.peer_reads(2));
	Done done;
	EXPECT_EQ(rpc.advertised.invalidate(*rpc.sends, done).value_or(9), 3u);
	rpc.run();
	EXPECT_EQ(done.times, 1u);
	EXPECT_FALSE(rpc.peer_reads(0) || rpc.peer_reads(1) || rpc.peer_reads(2));
	rpc.advertised.take_back(rpc.pool);
	EXPECT_EQ(rpc.advertised.count(), 0u);
	EXPECT_EQ(rpc.told, 1u);
	EXPECT_EQ(rpcordma_fake_dma_mappings(fake), rpc.own_mappings);
}

TEST(Advertised, WhatThePeerHasInvalidated_IsNotInvalidatedAgain)
{
	Fake fake(small);
	ASSERT_TRUE(fake);
	Pages pages(2);
	Rpc rpc(fake);
	ASSERT_TRUE(rpc.advertise(Run::of_pages(pages.data(), 100, page_size)));
	ASSERT_EQ(rpc.advertised.count(), 1u);
	rpc.peer_invalidates(std::to_underlying(rpc.segments[0].handle));
	EXPECT_TRUE(rpc.advertised.mark_invalidated(*rpc.message));
	Done done;
	EXPECT_EQ(rpc.advertised.invalidate(*rpc.sends, done).value_or(9), 0u);
	rpc.run();
	EXPECT_EQ(done.times, 0u);
	/* The room for it is there again. */
	EXPECT_TRUE(rpc.sends->reserve(32));
	rpc.sends->release(32);
}

TEST(Advertised, HandleOfAnotherRpc_IsReported)
{
	Fake fake(small);
	ASSERT_TRUE(fake);
	Pages pages(2);
	Rpc rpc(fake);
	ASSERT_TRUE(rpc.advertise(Run::of_pages(pages.data(), 100, page_size)));
	Advertised other;
	ASSERT_TRUE(rpc.advertise(Run::of_pages(pages.data() + 1, 100, 200), other));
	ASSERT_EQ(other.count(), 1u);
	rpc.peer_invalidates(std::to_underlying(rpc.segments[0].handle));
	EXPECT_FALSE(other.mark_invalidated(*rpc.message));
	EXPECT_FALSE(other.is_invalidated());
	Done done;
	EXPECT_EQ(other.invalidate(*rpc.sends, done).value_or(9), 1u);
	rpc.run();
	other.take_back(rpc.pool);
}

TEST(Advertised, OneOfSeveral_IsInvalidatedAlone)
{
	Fake fake(small);
	ASSERT_TRUE(fake);
	Pages pages(5);
	Rpc rpc(fake);
	ASSERT_TRUE(rpc.advertise(Run::of_pages(pages.data(), 100, 4 * page_size)));
	ASSERT_EQ(rpc.advertised.count(), 3u);
	rpc.peer_invalidates(std::to_underlying(rpc.segments[1].handle));
	EXPECT_TRUE(rpc.advertised.mark_invalidated(*rpc.message));
	EXPECT_FALSE(rpc.advertised.is_invalidated());
	Done done;
	EXPECT_EQ(rpc.advertised.invalidate(*rpc.sends, done).value_or(9), 2u);
	rpc.run();
	EXPECT_EQ(done.times, 1u);
	EXPECT_FALSE(rpc.peer_reads(0) || rpc.peer_reads(1) || rpc.peer_reads(2));
}

TEST(Advertised, OnceTheQueueIsStopped_CannotBeInvalidated)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Pages pages(1);
	Rpc rpc(fake);
	ASSERT_TRUE(rpc.advertise(Run::of_pages(pages.data(), 0, 100)));
	rpc.sends.drain();
	Done done;
	EXPECT_FALSE(rpc.advertised.invalidate(*rpc.sends, done).has_value());
	EXPECT_EQ(done.times, 0u);
}

TEST(Advertised, WithoutMapping_IsTakenBack)
{
	Fake fake(small);
	ASSERT_TRUE(fake);
	Pages pages(5);
	Rpc rpc(fake);
	rpcordma_fake_fail(fake, RPCORDMA_FAKE_MAP_MR, 2);
	EXPECT_FALSE(rpc.advertise(Run::of_pages(pages.data(), 100, 4 * page_size)));
	EXPECT_EQ(rpc.segments.size(), 1u);
	rpc.advertised.put_back(rpc.pool);
	EXPECT_EQ(rpc.told, 0u);
	EXPECT_EQ(rpcordma_fake_dma_mappings(fake), rpc.own_mappings);
	Registrations all;
	EXPECT_TRUE(rpc.pool.take(4, all));
	rpc.pool.put_back(all);
}

} // namespace
} // namespace rpcordma::kunit
