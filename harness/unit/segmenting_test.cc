// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include <utility>

#include "proto/segmenting.hh"

namespace rpcordma::unit {
namespace {

using namespace proto;

using Pieces = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// What a Segmenter yields: pages and length of each piece.
Pieces divide(std::span<const MemoryRun> runs, RegistrationLimits limits)
{
	Segmenter segmenter(runs, limits);
	Pieces pieces;
	while (const auto piece = segmenter.next())
		pieces.emplace_back(piece->pages, piece->length);
	EXPECT_FALSE(segmenter.next());
	EXPECT_EQ(segments_needed(runs, limits), pieces.size());
	return pieces;
}

TEST(MemoryRun, TouchesPages)
{
	EXPECT_EQ((MemoryRun{0, 0}.pages()), 0u);
	EXPECT_EQ((MemoryRun{100, 0}.pages()), 0u);
	EXPECT_EQ((MemoryRun{0, 1}.pages()), 1u);
	EXPECT_EQ((MemoryRun{0, 4096}.pages()), 1u);
	EXPECT_EQ((MemoryRun{0, 4097}.pages()), 2u);
	EXPECT_EQ((MemoryRun{4095, 1}.pages()), 1u);
	EXPECT_EQ((MemoryRun{4095, 2}.pages()), 2u);
	EXPECT_EQ((MemoryRun{1, 4096}.pages()), 2u);
	EXPECT_EQ((MemoryRun{4095, 0xffffffff}.pages()), 0x100001u);
	EXPECT_EQ(page_size, 4096u);
}

TEST(Segmenter, NothingToCover_YieldsNothing)
{
	EXPECT_EQ(divide({}, {16, false}), Pieces{});
	EXPECT_EQ(divide({}, {16, true}), Pieces{});
	const MemoryRun empty[] = {{0, 0}, {7, 0}};
	EXPECT_EQ(divide(empty, {16, false}), Pieces{});
	EXPECT_EQ(divide(empty, {16, true}), Pieces{});
}

TEST(Segmenter, RunWithinTheLimit_IsOnePiece)
{
	const MemoryRun run[] = {{100, 10000}};
	EXPECT_EQ(divide(run, {3, false}), (Pieces{{3, 10000}}));
	EXPECT_EQ(divide(run, {16, false}), (Pieces{{3, 10000}}));
	EXPECT_EQ(divide(run, {0xffffffff, true}), (Pieces{{3, 10000}}));
}

TEST(Segmenter, LongRun_IsDividedAtPageBoundaries)
{
	const MemoryRun run[] = {{100, 20000}};
	EXPECT_EQ(divide(run, {1, false}), (Pieces{{1, 3996}, {1, 4096}, {1, 4096}, {1, 4096}, {1, 3716}}));
	EXPECT_EQ(divide(run, {2, false}), (Pieces{{2, 8092}, {2, 8192}, {1, 3716}}));
	EXPECT_EQ(divide(run, {2, true}), (Pieces{{2, 8092}, {2, 8192}, {1, 3716}}));
	EXPECT_EQ(divide(run, {4, false}), (Pieces{{4, 16284}, {1, 3716}}));
	EXPECT_EQ(divide(run, {5, false}), (Pieces{{5, 20000}}));
}

TEST(Segmenter, WithoutGaps_EachRunBeginsAPiece)
{
	const MemoryRun runs[] = {{0, 4096}, {0, 8192}, {4000, 200}};
	EXPECT_EQ(divide(runs, {16, false}), (Pieces{{1, 4096}, {2, 8192}, {2, 200}}));
}

TEST(Segmenter, WithGaps_PiecesGoOnIntoTheNextRun)
{
	const MemoryRun runs[] = {{4000, 96}, {0, 8192}, {0, 50}};
	EXPECT_EQ(divide(runs, {16, true}), (Pieces{{4, 8338}}));
	EXPECT_EQ(divide(runs, {2, true}), (Pieces{{2, 4192}, {2, 4146}}));
	EXPECT_EQ(divide(runs, {3, true}), (Pieces{{3, 8288}, {1, 50}}));
}

TEST(Segmenter, EmptyRuns_AreSkipped)
{
	const MemoryRun runs[] = {{0, 0}, {0, 100}, {5, 0}, {0, 0}, {200, 300}, {0, 0}};
	EXPECT_EQ(divide(runs, {16, false}), (Pieces{{1, 100}, {1, 300}}));
	EXPECT_EQ(divide(runs, {16, true}), (Pieces{{2, 400}}));
	EXPECT_EQ(divide(runs, {1, true}), (Pieces{{1, 100}, {1, 300}}));
}

TEST(Segmenter, LimitOfZeroPages_IsTakenAsOne)
{
	const MemoryRun run[] = {{0, 8192}};
	EXPECT_EQ(divide(run, {0, false}), (Pieces{{1, 4096}, {1, 4096}}));
	EXPECT_EQ(divide(run, {0, true}), (Pieces{{1, 4096}, {1, 4096}}));
}

TEST(Segmenter, PieceLongerThan32Bits_EndsBeforeTheRunThatMakesItSo)
{
	const MemoryRun runs[] = {{0, 0xffffff00}, {0, 0xff}, {0, 1}, {0, 0xffffffff}};
	EXPECT_EQ(divide(runs, {0xffffffff, true}), (Pieces{{0x100001, 0xffffffff}, {1, 1}, {0x100000, 0xffffffff}}));
}

TEST(Segmenter, LargestRun_IsCoveredCompletely)
{
	const MemoryRun run[] = {{4095, 0xffffffff}};
	EXPECT_EQ(divide(run, {0xffffffff, false}), (Pieces{{0x100001, 0xffffffff}}));
	EXPECT_EQ(divide(run, {0x100000, false}), (Pieces{{0x100000, 0xfffff001}, {1, 0xffe}}));
}

TEST(Segmenter, AnyRuns_AreCoveredExactly)
{
	const MemoryRun runs[] = {{0, 4096}, {1, 4095}, {1, 4096}, {4095, 1}, {4095, 2}, {0, 0}, {17, 123456}};
	std::uint64_t total = 0;
	std::uint64_t pages = 0;
	for (const MemoryRun &run : runs) {
		total += run.length;
		pages += run.pages();
	}
	for (std::uint32_t limit = 1; limit <= 50; ++limit) {
		for (const bool gaps : {false, true}) {
			std::uint64_t covered = 0;
			std::uint64_t covered_pages = 0;
			for (const auto &[piece_pages, length] : divide(runs, {limit, gaps})) {
				EXPECT_GE(piece_pages, 1u);
				EXPECT_LE(piece_pages, limit);
				EXPECT_GE(length, 1u);
				covered += length;
				covered_pages += piece_pages;
			}
			EXPECT_EQ(covered, total);
			EXPECT_EQ(covered_pages, pages);
		}
	}
}

} // namespace
} // namespace rpcordma::unit
