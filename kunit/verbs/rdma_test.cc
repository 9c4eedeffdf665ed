// SPDX-License-Identifier: GPL-2.0-only
#include "kunit/verbs/sends.hh"

#include "verbs/transfer.hh"

namespace rpcordma::kunit {
namespace {

using verbs::Chain;
using verbs::Direction;
using verbs::PagePiece;
using verbs::Signal;
using verbs::Transfer;
using verbs::TransferPool;
using verbs::Transfers;

constexpr wire::Segment remote{wire::Handle{RPCORDMA_FAKE_REMOTE_HANDLE}, 0, RPCORDMA_FAKE_REMOTE_OFFSET};

verbs::Remote by(Fake &fake, Direction direction, const wire::Segment &segment = remote)
{
	return {fake.qp(), 1, segment, direction};
}

/* Of a send queue for transfers. */
constexpr u32 depth = 60;

/* Posts a transfer's requests and has them executed; returns how many they were. */
u32 run(Sends &sends, Transfer &transfer)
{
	Chain chain;
	transfer.append_to(chain);
	Signal done([](Signal &) noexcept {});
	done.watch(*sends, chain);
	sends.run(chain, done);
	return chain.count;
}

struct Shape {
	const char *name;
	u32 offset;
	u32 pieces;
	u32 piece_length;
};
constexpr Shape shapes[] = {
	{"OneByte", 5, 1, 1},		{"OnePage", 0, 1, page_size},
	{"ThreePieces", 100, 3, 1000},	{"TenPieces", 1, 10, page_size - 1},
	{"TenPages", 0, 10, page_size},
};

class AnyShape : public testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(Shapes, AnyShape, testing::ValuesIn(shapes), [](const auto &info) { return info.param.name; });

TEST_P(AnyShape, Written_IsInThePeersMemory)
{
	Fake fake(with_gaps);
	ASSERT_TRUE(fake);
	const Shape &shape = GetParam();
	Sends sends(fake, depth);
	Pages pages(shape.pieces);
	Transfer transfer;
	ASSERT_TRUE(transfer.begin(by(fake, Direction::write), shape.pieces, kernel::GFP_KERNEL));
	std::vector<std::byte> content;
	for (u32 i = 0; i < shape.pieces; i++) {
		const std::vector<std::byte> piece = pattern(shape.piece_length, i);
		pages.write(i * page_size + shape.offset, piece);
		content.insert(content.end(), piece.begin(), piece.end());
		transfer.add({pages[i], shape.offset, shape.piece_length});
	}
	ASSERT_EQ(transfer.prepare(), 0);
	run(sends, transfer);
	transfer.finish();
	EXPECT_EQ(sends.failures, 0u);
	EXPECT_EQ(copy_of({static_cast<std::byte *>(rpcordma_fake_remote(fake)), content.size()}), content);
	EXPECT_EQ(rpcordma_fake_dma_mappings(fake), 0u);
}

TEST_P(AnyShape, Read_IsInOurMemory)
{
	Fake fake(with_gaps);
	ASSERT_TRUE(fake);
	const Shape &shape = GetParam();
	Sends sends(fake, depth);
	Pages pages(shape.pieces);
	const std::vector<std::byte> content = pattern(shape.pieces * shape.piece_length, 3);
	std::copy(content.begin(), content.end(), static_cast<std::byte *>(rpcordma_fake_remote(fake)));
	Transfer transfer;
	ASSERT_TRUE(transfer.begin(by(fake, Direction::read), shape.pieces, kernel::GFP_KERNEL));
	for (u32 i = 0; i < shape.pieces; i++)
		transfer.add({pages[i], shape.offset, shape.piece_length});
	ASSERT_EQ(transfer.prepare(), 0);
	run(sends, transfer);
	transfer.finish();
	EXPECT_EQ(sends.failures, 0u);
	for (u32 i = 0; i < shape.pieces; i++) {
		const auto expected = std::span(content).subspan(i * shape.piece_length, shape.piece_length);
		EXPECT_EQ(pages.read(i * page_size + shape.offset, shape.piece_length), copy_of(expected)) << i;
	}
	EXPECT_EQ(rpcordma_fake_dma_mappings(fake), 0u);
}

TEST(Written, MemoryThatFollows_IsOnePiece)
{
	Fake fake(with_gaps);
	ASSERT_TRUE(fake);
	Sends sends(fake, depth);
	Pages pages(2);
	pages.write(0, pattern(page_size));
	Transfer transfer;
	ASSERT_TRUE(transfer.begin(by(fake, Direction::write), 4, kernel::GFP_KERNEL));
	/* Not at the end of a page, not at the beginning of one, and another page altogether. */
	transfer.add({pages[0], 0, 100});
	transfer.add({pages[0], 100, 100});
	transfer.add({pages[1], 0, 100});
	ASSERT_EQ(transfer.prepare(), 0);
	EXPECT_EQ(rpcordma_fake_dma_mappings(fake), 3u);
	transfer.finish();
}

TEST(Written, MuchThatFollows_IsNoPieceLargerThanBounceBuffersAre)
{
	constexpr u32 size = 256 * 1024;
	Fake fake(with_gaps);
	ASSERT_TRUE(fake);
	Sends sends(fake, depth);
	const kernel::Block block(size, kernel::GFP_KERNEL);
	ASSERT_TRUE(block);
	Transfer transfer;
	ASSERT_TRUE(transfer.begin(by(fake, Direction::write), size / page_size, kernel::GFP_KERNEL));
	for (u32 at = 0; at < size; at += page_size)
		transfer.add({rpcordma_page_of(block.data() + at), 0, page_size});
	ASSERT_EQ(transfer.prepare(), 0);
	EXPECT_EQ(rpcordma_fake_dma_mappings(fake), 2u);
	transfer.finish();
}

TEST(Transfer, UsedAgain_IsOfItsNewPiecesOnly)
{
	Fake fake(with_gaps);
	ASSERT_TRUE(fake);
	Sends sends(fake, depth);
	Pages pages(9);
	Transfer transfer;
	for (const u32 count : {9u, 1u, 5u}) {
		ASSERT_TRUE(transfer.begin(by(fake, Direction::read), count, kernel::GFP_KERNEL));
		for (u32 i = 0; i < count; i++)
			transfer.add({pages[i], 8, 16});
		ASSERT_EQ(transfer.prepare(), 0);
		EXPECT_EQ(rpcordma_fake_dma_mappings(fake), count);
		const u32 requests = transfer.requests();
		EXPECT_EQ(run(sends, transfer), requests);
		EXPECT_EQ(requests, (count + with_gaps.elements - 1) / with_gaps.elements);
		transfer.finish();
		EXPECT_EQ(rpcordma_fake_dma_mappings(fake), 0u);
	}
}

TEST(Transfer, BeyondThePeersMemory_IsAFailure)
{
	Fake fake(with_gaps);
	ASSERT_TRUE(fake);
	Sends sends(fake, depth);
	Pages pages(1);
	Transfer transfer;
	wire::Segment elsewhere = remote;
	elsewhere.offset += RPCORDMA_FAKE_REMOTE_SIZE - 15;
	ASSERT_TRUE(transfer.begin(by(fake, Direction::write, elsewhere), 1, kernel::GFP_KERNEL));
	transfer.add({pages[0], 0, 16});
	ASSERT_EQ(transfer.prepare(), 0);
	run(sends, transfer);
	transfer.finish();
	EXPECT_GE(sends.failures, 1u);
}

TEST(Transfer, WithoutMapping_HoldsNothing)
{
	Fake fake(with_gaps);
	ASSERT_TRUE(fake);
	Pages pages(3);
	Transfer transfer;
	for (const u32 nth : {1u, 3u}) {
		ASSERT_TRUE(transfer.begin(by(fake, Direction::write), 3, kernel::GFP_KERNEL));
		for (u32 i = 0; i < 3; i++)
			transfer.add({pages[i], 0, 16});
		rpcordma_fake_fail(fake, RPCORDMA_FAKE_DMA_MAP, nth);
		EXPECT_LT(transfer.prepare(), 0);
		EXPECT_EQ(rpcordma_fake_dma_mappings(fake), 0u);
	}
}

TEST(Transfer, WithoutMemory_CanBeBegunAgain)
{
	Fake fake(with_gaps);
	ASSERT_TRUE(fake);
	Pages pages(6);
	Transfer transfer;
	for_each_failed_allocation([&] {
		if (!transfer.begin(by(fake, Direction::write), 6, kernel::GFP_KERNEL))
			return false;
		for (u32 i = 0; i < 6; i++)
			transfer.add({pages[i], 0, 16});
		const int error = transfer.prepare();
		if (error == 0)
			transfer.finish();
		EXPECT_EQ(rpcordma_fake_dma_mappings(fake), 0u);
		return error == 0;
	});
}

/* What append() makes of a segment whose memory is in so many pieces, none of which follows another. */
struct Cut {
	const char *name;
	u32 pieces;
	u32 transfers;
};
constexpr Cut cuts[] = {
	{"OnePiece", 1, 1},
	{"AsManyAsThereCanBe", verbs::most_pieces, 1},
	{"OneMore", verbs::most_pieces + 1, 2},
	{"ThreeTimesAsMany", 3 * verbs::most_pieces, 3},
};

class AnyCut : public testing::TestWithParam<Cut> {};
INSTANTIATE_TEST_SUITE_P(Cuts, AnyCut, testing::ValuesIn(cuts), [](const auto &info) { return info.param.name; });

TEST_P(AnyCut, Transfers_FollowOneAnother)
{
	constexpr u32 length = 64;
	const u32 pieces = GetParam().pieces;
	rpcordma_fake_limits limits = with_gaps;
	limits.send_depth = verbs::most_pieces;
	Fake fake(limits);
	ASSERT_TRUE(fake);
	Sends sends(fake, limits.send_depth);
	Pages pages(pieces);
	std::vector<std::byte> content;
	for (u32 i = 0; i < pieces; i++) {
		const std::vector<std::byte> piece = pattern(length, i);
		pages.write(i * page_size + 8, piece);
		content.insert(content.end(), piece.begin(), piece.end());
	}
	TransferPool pool;
	Transfers all;
	wire::Segment segment = remote;
	segment.length = pieces * length;
	const auto next = [&, i = 0u](u32 left) mutable {
		EXPECT_EQ(left, (pieces - i) * length);
		return PagePiece{pages[i++], 8, length};
	};
	/* More pieces are expected than there are. */
	ASSERT_TRUE(pool.append(by(fake, Direction::write, segment), pieces + 3, kernel::GFP_KERNEL, next, all));
	EXPECT_EQ(all.size(), GetParam().transfers);
	all.for_each([&](Transfer &transfer) {
		EXPECT_EQ(transfer.prepare(), 0);
		run(sends, transfer);
	});
	EXPECT_EQ(sends.failures, 0u);
	EXPECT_EQ(copy_of({static_cast<std::byte *>(rpcordma_fake_remote(fake)), content.size()}), content);
	pool.finish(all);
	EXPECT_EQ(rpcordma_fake_dma_mappings(fake), 0u);
}

/* An IOMMU may join the pages, and they would not fit one registration then. */
TEST(Pool, ReadsThatTakeRegistrations_HaveNoMorePagesThanOneCovers)
{
	constexpr u32 covered = 4;
	rpcordma_fake_limits limits = with_gaps;
	limits.pages = covered;
	Fake fake(limits);
	ASSERT_TRUE(fake);
	Pages pages(covered + 1);
	TransferPool pool;
	wire::Segment segment = remote;
	segment.length = (covered + 1) * page_size;
	const auto transfers_for = [&](Direction direction) {
		Transfers all;
		const auto next = [&, i = 0u](u32) mutable { return PagePiece{pages[i++], 0, page_size}; };
		EXPECT_TRUE(pool.append(by(fake, direction, segment), covered + 1, kernel::GFP_KERNEL, next, all));
		const u32 count = all.size();
		pool.finish(all);
		return count;
	};
	EXPECT_EQ(transfers_for(Direction::read), 1u);
	rpcordma_fake_register_reads(fake, true);
	EXPECT_EQ(transfers_for(Direction::read), 2u);
	EXPECT_EQ(transfers_for(Direction::write), 1u);
}

TEST(Pool, WithoutMemoryForTheSecond_KeepsTheFirst)
{
	constexpr u32 pieces = verbs::most_pieces + 1;
	Fake fake(with_gaps);
	ASSERT_TRUE(fake);
	Pages pages(1);
	TransferPool pool;
	wire::Segment segment = remote;
	segment.length = pieces * 16;
	const u32 before = static_cast<u32>(live_objects.transfers.read());
	for_each_failed_allocation([&] {
		Transfers all;
		const bool appended = pool.append(
			by(fake, Direction::read, segment), pieces, kernel::GFP_KERNEL,
			[&](u32) {
				return PagePiece{pages[0], 0, 16};
			},
			all);
		EXPECT_EQ(appended, all.size() == 2);
		/* Nobody has to keep it: the next attempt needs as much memory. */
		while (Transfer *const transfer = all.pop_front())
			delete transfer;
		EXPECT_EQ(static_cast<u32>(live_objects.transfers.read()), before);
		return appended;
	});
}

TEST(Pool, KeepsSome)
{
	Fake fake(with_gaps);
	ASSERT_TRUE(fake);
	TransferPool pool;
	Transfers many;
	for (u32 i = 0; i < 200; i++) {
		Transfer *const one = pool.take(kernel::GFP_KERNEL);
		ASSERT_TRUE(one);
		many.push_back(*one);
	}
	EXPECT_EQ(live_objects.transfers.read(), 200);
	pool.give_back(many);
	EXPECT_EQ(live_objects.transfers.read(), 128);
	Transfer *const kept = pool.take(kernel::GFP_KERNEL);
	ASSERT_TRUE(kept);
	many.push_back(*kept);
	EXPECT_EQ(live_objects.transfers.read(), 128);
	pool.give_back(many);
}

} // namespace
} // namespace rpcordma::kunit
