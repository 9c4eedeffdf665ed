// SPDX-License-Identifier: GPL-2.0-only
#include "kunit/verbs/sends.hh"

#include <algorithm>

#include "kernel/sync.hh"
#include "verbs/registration.hh"

namespace rpcordma::kunit {
namespace {

using verbs::Access;
using verbs::Chain;
using verbs::Mapped;
using verbs::PageCursor;
using verbs::Registration;
using verbs::RegistrationPool;
using verbs::Registrations;
using verbs::Run;

constexpr unsigned long patience = 10 * kernel::HZ;

/* A pool of registrations on a fake device, with the send queue that its work requests go through. Ends drained. */
class Pool final : public QueueUser {
    public:
	Pool(Fake &fake, u32 most)
		: fake_(fake)
		, sends_(fake, 32)
		, has_work_(rpcordma_workqueues_create() == 0)
		, pool_(fake.device(), fake.pd(), *sends_, most, *this)
	{
	}
	~Pool()
	{
		pool_.stop();
		sends_.drain();
		give_back();
		rpcordma_workqueues_destroy();
	}
	RegistrationPool *operator->() { return &pool_; }
	void room() noexcept override
	{
		told++;
		grown.complete();
	}
	[[nodiscard]] bool carries_swap() noexcept override { return swap; }
	[[nodiscard]] u32 failures() const { return sends_.failures; }
	/* Gives back what a test took, unmapped. */
	void give_back()
	{
		Registrations back;
		while (Registration *const one = taken.pop_front()) {
			one->unmap();
			back.push_back(*one);
		}
		if (!back.empty())
			pool_.give_back(back);
	}
	/* Posts requests, has them executed and hears of it. */
	void run(Chain chain) { sends_.run(chain); }
	/* Takes registrations for runs and has them registered. The device and the pool have enough. */
	void advertise(std::span<const Run> runs, Access access)
	{
		std::vector<proto::MemoryRun> shapes;
		for (const Run &run : runs)
			shapes.push_back(run.shape);
		ASSERT_TRUE(pool_.take(proto::segments_needed(shapes, pool_.limits()), taken));
		proto::Segmenter segmenter(shapes, pool_.limits());
		PageCursor cursor(runs);
		Chain chain;
		bool mapped = true;
		taken.for_each([&](Registration &one) {
			mapped = mapped && one.map(cursor, *segmenter.next(), access) == Mapped::yes;
			chain.append(one.register_request());
		});
		ASSERT_TRUE(mapped);
		EXPECT_FALSE(segmenter.next().has_value());
		run(chain);
	}
	void invalidate()
	{
		Chain chain;
		taken.for_each([&](Registration &one) { chain.append(one.invalidate_request()); });
		run(chain);
	}
	[[nodiscard]] std::vector<wire::Segment> segments()
	{
		std::vector<wire::Segment> segments;
		taken.for_each([&](Registration &one) { segments.push_back(one.segment()); });
		return segments;
	}
	/* What the peer reads, or nothing where it cannot. */
	[[nodiscard]] std::vector<std::byte> peer_reads()
	{
		std::vector<std::byte> all;
		for (const wire::Segment &segment : segments()) {
			std::vector<std::byte> part(segment.length);
			if (!rpcordma_fake_peer_read(fake_, std::to_underlying(segment.handle), segment.offset,
						     part.data(), segment.length))
				return {};
			all.insert(all.end(), part.begin(), part.end());
		}
		return all;
	}
	[[nodiscard]] bool peer_writes(const std::vector<std::byte> &bytes)
	{
		const std::byte *from = bytes.data();
		for (const wire::Segment &segment : segments()) {
			if (!rpcordma_fake_peer_write(fake_, std::to_underlying(segment.handle), segment.offset, from,
						      segment.length))
				return false;
			from += segment.length;
		}
		return true;
	}

	Registrations taken;
	u32 told = 0;
	bool swap = false;
	kernel::Completion grown;

    private:
	Fake &fake_;
	Sends sends_;
	bool has_work_;
	RegistrationPool pool_;
};

/* Memory of a payload on a device. */
struct Memory {
	const char *name;
	rpcordma_fake_limits limits;
	u32 offset;
	u32 length;
	u32 registrations;
};
constexpr Memory memories[] = {
	{"OneByte", roomy, 0, 1, 1},
	{"LastByteOfAPage", roomy, page_size - 1, 1, 1},
	{"OnePage", roomy, 0, page_size, 1},
	{"OverAPageBoundary", roomy, page_size - 96, 200, 1},
	{"TenPages", roomy, 0, 10 * page_size, 1},
	{"TenPagesAndSome", roomy, 123, 10 * page_size, 1},
	{"OddEnd", roomy, 1, 2 * page_size - 1, 1},
	{"SmallDeviceOnePage", small, 0, page_size, 1},
	{"SmallDeviceTwoPages", small, 100, page_size, 1},
	{"SmallDeviceFivePages", small, page_size - 1, 4 * page_size - 1, 3},
	{"GapsDeviceTenPages", with_gaps, 17, 9 * page_size + 3136, 2},
};

class AnyMemory : public testing::TestWithParam<Memory> {};
INSTANTIATE_TEST_SUITE_P(Shapes, AnyMemory, testing::ValuesIn(memories),
			 [](const auto &info) { return info.param.name; });

TEST_P(AnyMemory, Advertised_IsReadByThePeer)
{
	const Memory &memory = GetParam();
	Fake fake(memory.limits);
	ASSERT_TRUE(fake);
	Pages pages(12);
	Pool pool(fake, 8);
	ASSERT_TRUE(pool->prepare(4));
	const std::vector<std::byte> content = pattern(memory.length);
	pages.write(memory.offset, content);
	const Run run = Run::of_pages(pages.data(), memory.offset, memory.length);
	pool.advertise({&run, 1}, Access::read);
	EXPECT_EQ(pool.taken.size(), memory.registrations);
	EXPECT_EQ(pool.peer_reads(), content);
	EXPECT_FALSE(pool.peer_writes(content));
	pool.invalidate();
	EXPECT_EQ(pool.peer_reads().size(), 0u);
	EXPECT_EQ(pool.failures(), 0u);
}

TEST_P(AnyMemory, Advertised_IsWrittenByThePeer)
{
	const Memory &memory = GetParam();
	Fake fake(memory.limits);
	ASSERT_TRUE(fake);
	Pages pages(12);
	pages.write(0, pattern(12 * page_size, 9));
	Pool pool(fake, 8);
	ASSERT_TRUE(pool->prepare(4));
	const Run run = Run::of_pages(pages.data(), memory.offset, memory.length);
	pool.advertise({&run, 1}, Access::write);
	const std::vector<std::byte> content = pattern(memory.length, 2);
	EXPECT_EQ(pool.peer_reads().size(), 0u);
	ASSERT_TRUE(pool.peer_writes(content));
	pool.invalidate();
	EXPECT_FALSE(pool.peer_writes(content));
	pool.give_back();
	EXPECT_EQ(pages.read(memory.offset, memory.length), content);
	const std::vector<std::byte> around = pattern(12 * page_size, 9);
	for (const u32 at : {memory.offset - 1, memory.offset + memory.length}) {
		if (at < around.size())
			EXPECT_EQ(pages.read(at, 1)[0], around[at]) << at;
	}
	EXPECT_EQ(rpcordma_fake_dma_mappings(fake), 0u);
	EXPECT_EQ(pool.failures(), 0u);
}

/* More than a page. */
constexpr u32 middle = page_size + 904;

TEST(Runs, OnADeviceWithGaps_ShareARegistration)
{
	Fake fake(with_gaps);
	ASSERT_TRUE(fake);
	Pages pages(4);
	Pool pool(fake, 8);
	ASSERT_TRUE(pool->prepare(4));
	const std::vector<std::byte> content = pattern(300 + middle + 77);
	const kernel::Block head(512, kernel::GFP_KERNEL);
	const kernel::Block tail(512, kernel::GFP_KERNEL);
	std::copy_n(content.begin(), 300, head.data());
	pages.write(10, std::span(content).subspan(300, middle));
	std::copy_n(content.begin() + 300 + middle, 77, tail.data());
	const Run runs[] = {Run::of_bytes(head.data(), 300), Run::of_pages(pages.data(), 10, middle),
			    Run::of_bytes(tail.data(), 77)};
	pool.advertise(runs, Access::read);
	EXPECT_EQ(pool.taken.size(), 1u);
	EXPECT_EQ(pool.peer_reads(), content);
	pool.invalidate();
}

TEST(Runs, OnADeviceWithoutGaps_HaveARegistrationEach)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Pages pages(4);
	Pool pool(fake, 8);
	ASSERT_TRUE(pool->prepare(4));
	const std::vector<std::byte> content = pattern(300 + middle);
	const kernel::Block head(512, kernel::GFP_KERNEL);
	std::copy_n(content.begin(), 300, head.data());
	pages.write(page_size + 10, std::span(content).subspan(300));
	const Run runs[] = {Run::of_bytes(head.data(), 300), Run::of_pages(pages.data(), page_size + 10, middle)};
	pool.advertise(runs, Access::read);
	EXPECT_EQ(pool.taken.size(), 2u);
	EXPECT_EQ(pool.peer_reads(), content);
	pool.invalidate();
}

TEST(Handle, IsAnotherEachTime)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Pages pages(1);
	Pool pool(fake, 1);
	ASSERT_TRUE(pool->prepare(1));
	const Run run = Run::of_pages(pages.data(), 0, 100);
	std::vector<u32> handles;
	for (u32 i = 0; i < 20; i++) {
		pool.advertise({&run, 1}, Access::read);
		const u32 handle = std::to_underlying(pool.taken.front()->handle());
		EXPECT_TRUE(std::find(handles.begin(), handles.end(), handle) == handles.end()) << i;
		handles.push_back(handle);
		pool.invalidate();
		pool.give_back();
	}
	EXPECT_EQ(live_objects.registrations.read(), 1);
	EXPECT_EQ(pool.failures(), 0u);
}

TEST(Offset, SaysOfTheAddressWhatItHasWithinAPage)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Pages pages(3);
	Pool pool(fake, 1);
	ASSERT_TRUE(pool->prepare(1));
	const Run run = Run::of_pages(pages.data(), 123, 2 * page_size);
	pool.advertise({&run, 1}, Access::read);
	EXPECT_EQ(pool.segments().front().offset, 123u);
	pool.invalidate();
	pool.give_back();
	EXPECT_EQ(pool.failures(), 0u);
}

TEST(RemoteInvalidation, IsOfTheHandleThatWasAdvertised)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Pages pages(1);
	Pool pool(fake, 1);
	ASSERT_TRUE(pool->prepare(1));
	const Run run = Run::of_pages(pages.data(), 0, 100);
	for (u32 i = 0; i < 3; i++) {
		pool.advertise({&run, 1}, Access::write);
		EXPECT_FALSE(pool.taken.front()->invalidated);
		/* The first half only: there is no Receive for the rest. */
		const u32 handle = std::to_underlying(pool.taken.front()->handle());
		fake.deliver({}, handle);
		EXPECT_FALSE(pool.peer_writes(pattern(100)));
		pool.taken.front()->invalidated = true;
		pool.give_back();
	}
	EXPECT_EQ(pool.failures(), 0u);
}

TEST(Map, WithoutMapping_HoldsNothing)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Pages pages(4);
	Pool pool(fake, 1);
	ASSERT_TRUE(pool->prepare(1));
	ASSERT_TRUE(pool->take(1, pool.taken));
	const Run run = Run::of_pages(pages.data(), 0, 4 * page_size);
	for (const auto verb : {RPCORDMA_FAKE_DMA_MAP, RPCORDMA_FAKE_MAP_MR, RPCORDMA_FAKE_MAP_MR_NONE}) {
		PageCursor cursor({&run, 1});
		rpcordma_fake_fail(fake, verb, 1);
		EXPECT_EQ(pool.taken.front()->map(cursor, {4, 4 * page_size}, Access::read), Mapped::not_now);
		EXPECT_EQ(rpcordma_fake_dma_mappings(fake), 0u);
		EXPECT_EQ(live_objects.mapped_pages.read(), 0);
	}
	/* In the middle of the list. */
	PageCursor cursor({&run, 1});
	rpcordma_fake_fail(fake, RPCORDMA_FAKE_DMA_MAP, 3);
	EXPECT_EQ(pool.taken.front()->map(cursor, {4, 4 * page_size}, Access::read), Mapped::not_now);
	EXPECT_EQ(rpcordma_fake_dma_mappings(fake), 0u);
	/* And a failure leaves nothing behind. */
	PageCursor again({&run, 1});
	EXPECT_EQ(pool.taken.front()->map(again, {4, 4 * page_size}, Access::read), Mapped::yes);
	EXPECT_EQ(live_objects.mapped_pages.read(), 4);
}

TEST(Map, OfWhatOneRegistrationNeverCovers_SaysSoAndHoldsNothing)
{
	/* Two pages that do not follow one another: only the last may begin in the middle. */
	Fake fake;
	ASSERT_TRUE(fake);
	Pages pages(4);
	Pool pool(fake, 1);
	ASSERT_TRUE(pool->prepare(1));
	ASSERT_TRUE(pool->take(1, pool.taken));
	const Run runs[] = {Run::of_pages(pages.data(), 0, 100), Run::of_pages(pages.data() + 2, 50, 100)};
	PageCursor cursor(runs);
	EXPECT_EQ(pool.taken.front()->map(cursor, {2, 200}, Access::read), Mapped::never);
	EXPECT_EQ(rpcordma_fake_dma_mappings(fake), 0u);
	EXPECT_EQ(live_objects.mapped_pages.read(), 0);
}

TEST(Map, OfFewerPagesThanBefore_IsOfThoseOnly)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Pages pages(8);
	pages.write(0, pattern(8 * page_size));
	Pool pool(fake, 1);
	ASSERT_TRUE(pool->prepare(1));
	for (const u32 length : {8 * page_size, page_size, 3 * page_size, 100u}) {
		const Run run = Run::of_pages(pages.data(), 0, length);
		pool.advertise({&run, 1}, Access::read);
		EXPECT_EQ(pool.peer_reads().size(), length);
		EXPECT_EQ(rpcordma_fake_dma_mappings(fake), (length + page_size - 1) / page_size);
		pool.invalidate();
		pool.give_back();
	}
}

TEST(Invalidation, OfABrokenConnection_IsNotNeeded)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Pages pages(1);
	Pool pool(fake, 1);
	ASSERT_TRUE(pool->prepare(1));
	const Run run = Run::of_pages(pages.data(), 0, 100);
	pool.advertise({&run, 1}, Access::write);
	fake.drain();
	EXPECT_FALSE(pool.peer_writes(pattern(100)));
}

TEST(Registering, ThatFails_IsTold)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Pages pages(1);
	Pool pool(fake, 1);
	ASSERT_TRUE(pool->prepare(1));
	const Run run = Run::of_pages(pages.data(), 0, 100);
	rpcordma_fake_fail_request(fake, 1, kernel::IB_WC_REM_OP_ERR);
	pool.advertise({&run, 1}, Access::write);
	EXPECT_GE(pool.failures(), 1u);
	EXPECT_FALSE(pool.peer_writes(pattern(100)));
}

TEST(Take, IsOfAllOrNone)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Pool pool(fake, 4);
	ASSERT_TRUE(pool->prepare(4));
	EXPECT_FALSE(pool->take(5, pool.taken));
	EXPECT_EQ(pool.taken.size(), 0u);
	EXPECT_TRUE(pool->take(3, pool.taken));
	EXPECT_FALSE(pool->take(2, pool.taken));
	EXPECT_TRUE(pool->take(1, pool.taken));
	EXPECT_EQ(pool.taken.size(), 4u);
	EXPECT_EQ(pool->made(), 4u);
	EXPECT_EQ(pool.told, 0u);
}

TEST(Trim, FreesWhatWasNotNeeded_ButTheFirst)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Pool pool(fake, 24);
	ASSERT_TRUE(pool->prepare(2));
	EXPECT_FALSE(pool->take(9, pool.taken));
	ASSERT_TRUE(pool.grown.wait(patience));
	ASSERT_TRUE(pool->take(9, pool.taken));
	const long most = live_objects.registrations.read();
	EXPECT_GE(most, 9);
	pool->put_back(pool.taken);
	/* Some have been needed since the look before. */
	EXPECT_TRUE(pool->trim());
	EXPECT_GE(live_objects.registrations.read(), 9);
	EXPECT_FALSE(pool->trim());
	EXPECT_EQ(live_objects.registrations.read(), 2);
	EXPECT_FALSE(pool->trim());
	EXPECT_EQ(live_objects.registrations.read(), 2);
	/* Those that are gone count no more towards the most. */
	EXPECT_FALSE(pool->take(24, pool.taken));
	ASSERT_TRUE(pool.grown.wait(patience));
	EXPECT_TRUE(pool->take(24, pool.taken));
	EXPECT_EQ(pool->made(), static_cast<u32>(most) + 22);
	pool->give_back(pool.taken);
}

TEST(Trim, WhileTheFirstAreInUse_FreesAllOthers)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Pool pool(fake, 24);
	ASSERT_TRUE(pool->prepare(2));
	EXPECT_FALSE(pool->take(8, pool.taken));
	ASSERT_TRUE(pool.grown.wait(patience));
	ASSERT_TRUE(pool->take(2, pool.taken));
	(void)pool->trim();
	EXPECT_FALSE(pool->trim());
	EXPECT_EQ(live_objects.registrations.read(), 2);
	pool->give_back(pool.taken);
}

TEST(GiveBack, TellsTheListener_PutBackDoesNot)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Pool pool(fake, 2);
	ASSERT_TRUE(pool->prepare(2));
	ASSERT_TRUE(pool->take(2, pool.taken));
	pool->put_back(pool.taken);
	EXPECT_EQ(pool.told, 0u);
	ASSERT_TRUE(pool->take(2, pool.taken));
	pool->give_back(pool.taken);
	EXPECT_EQ(pool.told, 1u);
	EXPECT_TRUE(pool->take(2, pool.taken));
}

TEST(Pool, WithTooFew_GrowsAndSaysSo)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Pool pool(fake, 40);
	EXPECT_FALSE(pool->take(12, pool.taken));
	ASSERT_TRUE(pool.grown.wait(patience));
	EXPECT_TRUE(pool->take(12, pool.taken));
	EXPECT_EQ(pool->made(), 12u);
}

TEST(Pool, GrowsToItsMostOnly)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Pool pool(fake, 10);
	EXPECT_FALSE(pool->take(9, pool.taken));
	ASSERT_TRUE(pool.grown.wait(patience));
	EXPECT_TRUE(pool->take(9, pool.taken));
	EXPECT_FALSE(pool->take(9, pool.taken));
	ASSERT_TRUE(pool.grown.wait(patience));
	EXPECT_EQ(pool->made(), 10u);
	EXPECT_FALSE(pool->take(2, pool.taken));
	pool->stop();
	EXPECT_EQ(pool->made(), 10u);
}

TEST(Pool, OfADeviceWithFewRegistrations_HasThose)
{
	Fake fake(small);
	ASSERT_TRUE(fake);
	Pool pool(fake, 40);
	EXPECT_FALSE(pool->take(6, pool.taken));
	ASSERT_TRUE(pool.grown.wait(patience));
	EXPECT_EQ(pool->made(), small.registrations);
	EXPECT_TRUE(pool->take(small.registrations, pool.taken));
	/* Nothing is to be had: nobody is told at once that there is. */
	EXPECT_FALSE(pool->take(1, pool.taken));
	pool->stop();
	EXPECT_EQ(pool.told, 1u);
}

/* No RPC is there that would give its own back. */
TEST(Pool, WithoutMemoryToGrow_SaysWhenToTryAgain)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Pool pool(fake, 40);
	for (u32 attempt = 0; attempt < 2; attempt++) {
		rpcordma_fake_fail(fake, RPCORDMA_FAKE_ALLOC_MR, 1);
		EXPECT_FALSE(pool->take(2, pool.taken));
		ASSERT_TRUE(pool.grown.wait(patience));
		EXPECT_EQ(pool->made(), 0u);
	}
	EXPECT_FALSE(pool->take(2, pool.taken));
	ASSERT_TRUE(pool.grown.wait(patience));
	EXPECT_TRUE(pool->take(2, pool.taken));
}

TEST(Pool, Growing_LeavesTheReservesToSwap)
{
	for (const bool swap : {false, true}) {
		Fake fake;
		ASSERT_TRUE(fake);
		Pool pool(fake, 40);
		pool.swap = swap;
		EXPECT_FALSE(pool->take(1, pool.taken));
		ASSERT_TRUE(pool.grown.wait(patience));
		EXPECT_FALSE(rpcordma_fake_registration_could_wait(fake));
		EXPECT_EQ(rpcordma_fake_registration_had_reserves(fake), swap);
	}
}

TEST(Pool, Stopped_DoesNotGrow)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Pool pool(fake, 40);
	pool->stop();
	EXPECT_FALSE(pool->take(1, pool.taken));
	EXPECT_FALSE(pool.grown.wait(kernel::HZ / 10));
	EXPECT_EQ(pool->made(), 0u);
}

TEST(Prepare, WithoutMemory_MakesWhatItCan)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Pool pool(fake, 100);
	for_each_failed_allocation([&] {
		const u32 before = pool->made();
		const bool prepared = pool->prepare(2);
		EXPECT_EQ(pool->made() == before + 2, prepared);
		EXPECT_EQ(live_objects.registrations.read(), static_cast<long>(pool->made()));
		return prepared;
	});
}

TEST(Prepare, RefusedByTheDevice_MakesWhatItCan)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Pool pool(fake, 100);
	rpcordma_fake_fail(fake, RPCORDMA_FAKE_ALLOC_MR, 2);
	EXPECT_FALSE(pool->prepare(3));
	EXPECT_EQ(pool->made(), 1u);
	EXPECT_EQ(live_objects.registrations.read(), 1);
}

struct Device {
	const char *name;
	rpcordma_fake_limits limits;
	u32 pages;
};
constexpr rpcordma_fake_limits device_of(u32 pages, bool gaps)
{
	rpcordma_fake_limits limits = roomy;
	limits.pages = pages;
	limits.gaps = gaps;
	return limits;
}
constexpr Device devices[] = {{"OnePage", device_of(1, false), 1},
			      {"SixteenPages", device_of(16, false), 16},
			      {"MorePagesThanAnybodyNeeds", device_of(4096, false), verbs::most_registration_pages},
			      {"Gaps", device_of(16, true), 16}};

class AnyDevice : public testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(Devices, AnyDevice, testing::ValuesIn(devices),
			 [](const auto &info) { return info.param.name; });

TEST_P(AnyDevice, Limits_AreThoseOfTheDevice)
{
	Fake fake(GetParam().limits);
	ASSERT_TRUE(fake);
	const proto::RegistrationLimits limits = RegistrationPool::limits_of(fake.device());
	EXPECT_EQ(limits.pages, GetParam().pages);
	EXPECT_EQ(limits.gaps, GetParam().limits.gaps);
}

} // namespace
} // namespace rpcordma::kunit
