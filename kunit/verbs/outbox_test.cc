// SPDX-License-Identifier: GPL-2.0-only
#include "kunit/verbs/sends.hh"

#include <deque>

#include "verbs/outbox.hh"

namespace rpcordma::kunit {
namespace {

using verbs::Direction;
using verbs::Outbox;
using verbs::Posting;
using verbs::SendBuffer;
using verbs::Signal;

constexpr u32 depth = 8;
constexpr u32 longest = depth / 2;
constexpr u32 line = 64;
constexpr unsigned int success = kernel::IB_WC_SUCCESS;
constexpr wire::Segment remote{wire::Handle{RPCORDMA_FAKE_REMOTE_HANDLE}, 16, RPCORDMA_FAKE_REMOTE_OFFSET};

/* An outbox in front of a short send queue, and what is said of it. */
class Box final : private Outbox::Listener {
    public:
	explicit Box(Fake &fake)
		: fake_(fake)
		, sends(fake, depth)
		, pages(1)
	{
		pages.write(0, pattern(page_size));
		outbox.attach(*sends);
	}
	~Box()
	{
		sends.drain();
		outbox.clear();
		for (Item &item : items_) {
			transfers_.finish(item.transfers);
			if (item.message)
				sends->abandon(*item.message, 0);
		}
	}
	/* An RPC of `segments` segments, each in a cache line of its own here and behind the one before there, and maybe a
	 * message. */
	Posting &make(u32 segments, Direction direction, bool with_message)
	{
		Item &item = items_.emplace_back(*this);
		wire::Segment segment = remote;
		for (u32 i = 0; i < segments; i++) {
			const verbs::Remote by{fake_.qp(), 1, segment, direction};
			const auto next = [&](u32) { return verbs::PagePiece{pages[0], i * line, remote.length}; };
			EXPECT_TRUE(transfers_.append(by, 1, kernel::GFP_KERNEL, next, item.transfers));
			segment.offset += segment.length;
		}
		if (with_message) {
			item.message = message(static_cast<u32>(items_.size()));
			item.message_size = 100;
			item.invalidate = 77;
		}
		item.xid = wire::Xid{static_cast<u32>(items_.size())};
		return item;
	}
	Posting &make_message() { return make(0, Direction::write, true); }
	SendBuffer *message(u32 seed)
	{
		SendBuffer *const buffer = sends->take(kernel::GFP_KERNEL);
		const std::vector<std::byte> bytes = pattern(100, seed);
		std::copy(bytes.begin(), bytes.end(), buffer->bytes().begin());
		return buffer;
	}
	/* Fills what is left of the send queue with messages. */
	void fill_queue()
	{
		while (sends.send(pattern(8)))
			;
	}
	/* Executes all that is posted, and says that there is room. */
	void run()
	{
		fake_.run();
		outbox.room();
	}
	[[nodiscard]] u32 posted() const { return rpcordma_fake_sends_posted(fake_); }

    private:
	struct Item final : Posting {
		explicit Item(Box &its_box)
			: Posting([](Signal &signal) noexcept {
				Item &done = static_cast<Item &>(signal);
				done.box.done.push_back(static_cast<u32>(done.xid));
				done.box.transfers_.finish(done.transfers);
			})
			, box(its_box)
		{
		}
		Box &box;
	};

	void posting_waits(wire::Xid xid) noexcept override { waited.push_back(static_cast<u32>(xid)); }
	void outbox_is_empty() noexcept override
	{
		EXPECT_FALSE(outbox.is_crowded());
		emptied++;
	}
	void posted_in_part(const Posting &posting) noexcept override
	{
		parts++;
		if (posting.failure() != success)
			failed_parts++;
	}
	void not_prepared() noexcept override { unprepared++; }

	Fake &fake_;
	verbs::TransferPool transfers_;
	std::deque<Item> items_;

    public:
	Sends sends;
	Pages pages;
	Outbox outbox{*this};
	/* By number: what has had to wait, and what is done with. */
	std::vector<u32> waited;
	std::vector<u32> done;
	u32 emptied = 0;
	u32 parts = 0;
	u32 failed_parts = 0;
	u32 unprepared = 0;
};

using Numbers = std::vector<u32>;

TEST(Outbox, WithRoom_PostsAtOnce)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Box box(fake);
	EXPECT_TRUE(box.outbox.post(*box.message(5), 100, {}));
	box.outbox.put(box.make(2, Direction::write, true));
	EXPECT_EQ(box.posted(), 4u);
	EXPECT_FALSE(box.outbox.is_crowded());
	box.run();
	EXPECT_EQ(box.done, Numbers({1}));
	EXPECT_EQ(copy_of(fake.arrived()), pattern(100, 1));
	u32 handle = 0;
	EXPECT_TRUE(rpcordma_fake_invalidated(fake, &handle));
	EXPECT_EQ(handle, 77u);
	EXPECT_TRUE(box.waited.empty());
	EXPECT_EQ(rpcordma_fake_dma_mappings(fake), 2u);
}

TEST(Outbox, WithoutRoom_PostsWhenThereIsSome)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Box box(fake);
	box.fill_queue();
	SendBuffer *const message = box.message(5);
	EXPECT_FALSE(box.outbox.post(*message, 100, {}));
	box.sends->abandon(*message, 0);
	box.outbox.put(box.make(2, Direction::write, true));
	box.outbox.put(box.make(2, Direction::read, false));
	EXPECT_TRUE(box.outbox.is_crowded());
	EXPECT_EQ(box.posted(), depth);
	EXPECT_EQ(box.waited, Numbers({1, 2}));
	EXPECT_EQ(box.emptied, 0u);
	box.run();
	EXPECT_FALSE(box.outbox.is_crowded());
	EXPECT_EQ(box.emptied, 1u);
	EXPECT_EQ(box.posted(), 5u);
	box.run();
	EXPECT_EQ(box.done, Numbers({1, 2}));
}

TEST(Outbox, WhatWaits_HoldsNoMapping)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Box box(fake);
	box.fill_queue();
	const u32 before = rpcordma_fake_dma_mappings(fake);
	Posting &posting = box.make(3, Direction::read, false);
	box.outbox.put(posting);
	box.outbox.room();
	EXPECT_EQ(rpcordma_fake_dma_mappings(fake), before);
}

TEST(Outbox, WhoComesLater_WaitsBehindWhatWaits)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Box box(fake);
	box.fill_queue();
	box.outbox.put(box.make(longest, Direction::write, true));
	rpcordma_fake_execute(fake, 4);
	rpcordma_fake_complete(fake);
	/* There is room for these now, and not for the first. */
	SendBuffer *const message = box.message(5);
	EXPECT_FALSE(box.outbox.post(*message, 100, {}));
	box.sends->abandon(*message, 0);
	box.outbox.put(box.make_message());
	EXPECT_TRUE(box.outbox.is_crowded());
	EXPECT_EQ(box.waited, Numbers({1, 2}));
	box.run();
	box.run();
	EXPECT_EQ(box.done, Numbers({1, 2}));
	EXPECT_EQ(copy_of(fake.arrived()), pattern(100, 2));
}

/* As many requests as there are in so many parts, and the message. */
struct Long {
	const char *name;
	u32 segments;
	u32 parts;
};
constexpr Long longs[] = {
	{"ThatJustFits", longest, 0},
	{"OfOneMore", longest + 1, 1},
	{"OfTwice", 2 * longest, 1},
	{"OfFiveTimes", 5 * longest, 4},
};

class AnyLong : public testing::TestWithParam<Long> {};
INSTANTIATE_TEST_SUITE_P(Chains, AnyLong, testing::ValuesIn(longs), [](const auto &info) { return info.param.name; });

TEST_P(AnyLong, Chain_GoesInPartsOneAfterAnother)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Box box(fake);
	box.outbox.put(box.make(GetParam().segments, Direction::write, true));
	box.outbox.put(box.make_message());
	for (u32 i = 0; i < GetParam().parts; i++) {
		EXPECT_EQ(box.posted(), longest);
		EXPECT_EQ(box.parts, i);
		EXPECT_TRUE(box.outbox.is_crowded());
		box.run();
	}
	EXPECT_FALSE(box.outbox.is_crowded());
	EXPECT_EQ(box.parts, GetParam().parts);
	box.run();
	EXPECT_EQ(box.failed_parts, 0u);
	EXPECT_EQ(box.done, Numbers({1, 2}));
	EXPECT_EQ(fake.arrivals(), 2u);
	EXPECT_EQ(rpcordma_fake_dma_mappings(fake), 2u);
	for (u32 i = 0; i < GetParam().segments; i++) {
		const auto *const at = static_cast<std::byte *>(rpcordma_fake_remote(fake)) + remote.length * i;
		EXPECT_EQ(copy_of({at, remote.length}), box.pages.read(i * line, remote.length)) << i;
	}
}

TEST(Outbox, WhosePartFails_SaysSo)
{
	for (const u32 nth : {1u, longest}) {
		Fake fake;
		ASSERT_TRUE(fake);
		Box box(fake);
		rpcordma_fake_fail_request(fake, nth, kernel::IB_WC_REM_ACCESS_ERR);
		Posting &posting = box.make(2 * longest, Direction::write, true);
		box.outbox.put(posting);
		box.run();
		EXPECT_EQ(posting.failure(), static_cast<unsigned int>(kernel::IB_WC_REM_ACCESS_ERR)) << nth;
		EXPECT_EQ(box.parts, 1u);
		EXPECT_EQ(box.failed_parts, 1u);
	}
}

TEST(Outbox, UsedAgainAfterAFailure_HasNone)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Box box(fake);
	const struct {
		u32 segments;
		u32 nth;
	} failures[] = {{1, 1}, {2 * longest, 1}, {2 * longest, longest}};
	for (const auto &[segments, nth] : failures) {
		rpcordma_fake_fail_request(fake, nth, kernel::IB_WC_REM_ACCESS_ERR);
		Posting &posting = box.make(segments, Direction::write, true);
		box.outbox.put(posting);
		rpcordma_fake_execute(fake, longest);
		rpcordma_fake_mend(fake);
		box.run();
		box.run();
		EXPECT_EQ(posting.failure(), static_cast<unsigned int>(kernel::IB_WC_REM_ACCESS_ERR));
		posting.message = box.message(9);
		box.outbox.put(posting);
		box.run();
		EXPECT_EQ(posting.failure(), success);
	}
}

TEST(Outbox, WithoutRegistrations_WaitsForThem)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Box box(fake);
	rpcordma_fake_register_reads(fake, true);
	box.outbox.put(box.make(2, Direction::read, false));
	box.outbox.put(box.make_message());
	EXPECT_TRUE(box.outbox.is_crowded());
	EXPECT_EQ(box.posted(), 0u);
	box.outbox.room();
	EXPECT_EQ(box.posted(), 0u);
	rpcordma_fake_register_reads(fake, false);
	box.outbox.room();
	EXPECT_FALSE(box.outbox.is_crowded());
	box.run();
	EXPECT_EQ(box.done, Numbers({1, 2}));
}

TEST(Outbox, WhatCanNeverBePrepared_IsLetGoOf)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Box box(fake);
	rpcordma_fake_fail(fake, RPCORDMA_FAKE_DMA_MAP, 2);
	box.outbox.put(box.make(3, Direction::write, true));
	EXPECT_EQ(box.unprepared, 1u);
	EXPECT_FALSE(box.outbox.is_crowded());
	EXPECT_EQ(box.posted(), 0u);

	box.fill_queue();
	box.outbox.put(box.make(3, Direction::write, true));
	rpcordma_fake_fail(fake, RPCORDMA_FAKE_DMA_MAP, 2);
	box.run();
	EXPECT_EQ(box.unprepared, 2u);
	EXPECT_FALSE(box.outbox.is_crowded());
	EXPECT_TRUE(box.done.empty());
}

TEST(Outbox, OfAConnectionThatEnds_IsCleared)
{
	Fake fake;
	ASSERT_TRUE(fake);
	Box box(fake);
	box.outbox.put(box.make(3 * longest, Direction::write, true));
	box.outbox.put(box.make_message());
	box.sends.drain();
	box.outbox.room();
	EXPECT_TRUE(box.outbox.is_crowded());
	EXPECT_EQ(box.parts, 1u);
	box.outbox.clear();
	EXPECT_FALSE(box.outbox.is_crowded());
	EXPECT_TRUE(box.done.empty());
}

} // namespace
} // namespace rpcordma::kunit
