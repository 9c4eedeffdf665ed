// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include <array>
#include <utility>

#include "proto/segmenting.hh"

namespace rpcordma::unit {
namespace {

using namespace proto;

constexpr std::uint32_t page = kernel::page_size;
/// Of pages: what 32 bits can say, rounded down.
constexpr std::uint32_t most_full_pages = 0xffffffff / page;

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
	if (runs.size() == 1) {
		EXPECT_EQ(segments_needed(runs.front(), limits), pieces.size());
	}
	return pieces;
}

TEST(MemoryRun, TouchesPages)
{
	EXPECT_EQ((MemoryRun{0, 0}.pages()), 0u);
	EXPECT_EQ((MemoryRun{100, 0}.pages()), 0u);
	EXPECT_EQ((MemoryRun{0, 1}.pages()), 1u);
	EXPECT_EQ((MemoryRun{0, page}.pages()), 1u);
	EXPECT_EQ((MemoryRun{0, page + 1}.pages()), 2u);
	EXPECT_EQ((MemoryRun{page - 1, 1}.pages()), 1u);
	EXPECT_EQ((MemoryRun{page - 1, 2}.pages()), 2u);
	EXPECT_EQ((MemoryRun{1, page}.pages()), 2u);
	EXPECT_EQ((MemoryRun{page - 1, 0xffffffff}.pages()), most_full_pages + 2);
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
	const MemoryRun run[] = {{100, 2 * page + 1808}};
	EXPECT_EQ(divide(run, {3, false}), (Pieces{{3, 2 * page + 1808}}));
	EXPECT_EQ(divide(run, {16, false}), (Pieces{{3, 2 * page + 1808}}));
	EXPECT_EQ(divide(run, {0xffffffff, true}), (Pieces{{3, 2 * page + 1808}}));
}

TEST(Segmenter, LongRun_IsDividedAtPageBoundaries)
{
	const MemoryRun run[] = {{100, 4 * page + 3616}};
	EXPECT_EQ(divide(run, {1, false}), (Pieces{{1, page - 100}, {1, page}, {1, page}, {1, page}, {1, 3716}}));
	EXPECT_EQ(divide(run, {2, false}), (Pieces{{2, 2 * page - 100}, {2, 2 * page}, {1, 3716}}));
	EXPECT_EQ(divide(run, {2, true}), (Pieces{{2, 2 * page - 100}, {2, 2 * page}, {1, 3716}}));
	EXPECT_EQ(divide(run, {4, false}), (Pieces{{4, 4 * page - 100}, {1, 3716}}));
	EXPECT_EQ(divide(run, {5, false}), (Pieces{{5, 4 * page + 3616}}));
}

TEST(Segmenter, WithoutGaps_EachRunBeginsAPiece)
{
	const MemoryRun runs[] = {{0, page}, {0, 2 * page}, {page - 96, 200}};
	EXPECT_EQ(divide(runs, {16, false}), (Pieces{{1, page}, {2, 2 * page}, {2, 200}}));
}

TEST(Segmenter, WithGaps_PiecesGoOnIntoTheNextRun)
{
	const MemoryRun runs[] = {{page - 96, 96}, {0, 2 * page}, {0, 50}};
	EXPECT_EQ(divide(runs, {16, true}), (Pieces{{4, 2 * page + 146}}));
	EXPECT_EQ(divide(runs, {2, true}), (Pieces{{2, page + 96}, {2, page + 50}}));
	EXPECT_EQ(divide(runs, {3, true}), (Pieces{{3, 2 * page + 96}, {1, 50}}));
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
	const MemoryRun run[] = {{0, 2 * page}};
	EXPECT_EQ(divide(run, {0, false}), (Pieces{{1, page}, {1, page}}));
	EXPECT_EQ(divide(run, {0, true}), (Pieces{{1, page}, {1, page}}));
}

TEST(Segmenter, PieceLongerThan32Bits_EndsBeforeTheRunThatMakesItSo)
{
	const MemoryRun runs[] = {{0, 0xffffff00}, {0, 0xff}, {0, 1}, {0, 0xffffffff}};
	EXPECT_EQ(divide(runs, {0xffffffff, true}),
		  (Pieces{{most_full_pages + 2, 0xffffffff}, {1, 1}, {most_full_pages + 1, 0xffffffff}}));
}

TEST(Segmenter, LargestRun_IsCoveredCompletely)
{
	const MemoryRun run[] = {{page - 1, 0xffffffff}};
	EXPECT_EQ(divide(run, {0xffffffff, false}), (Pieces{{most_full_pages + 2, 0xffffffff}}));
	EXPECT_EQ(divide(run, {most_full_pages + 1, false}),
		  (Pieces{{most_full_pages + 1, most_full_pages * page + 1}, {1, page - 2}}));
}

TEST(Segmenter, AnyRuns_AreCoveredExactly)
{
	const MemoryRun runs[] = {{0, page}, {1, page - 1},	   {1, page}, {page - 1, 1}, {page - 1, 2},
				  {0, 0},    {17, 30 * page + 576}};
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

TEST(SegmentsNeeded, AreCountedAcrossRuns_OnlyWhereGapsAreAllowed)
{
	const std::array<MemoryRun, 3> stream{{{100, 200}, {0, 3 * page}, {8, 4}}};
	EXPECT_EQ(segments_needed(stream, {2, false}), 4u);
	EXPECT_EQ(segments_needed(stream, {2, true}), 3u);
	EXPECT_EQ(segments_needed(std::span(stream).subspan(1, 1), {2, false}), 2u);
	EXPECT_EQ(segments_needed(std::array<MemoryRun, 3>{{{0, 0}, {0, 0}, {0, 0}}}, {2, false}), 0u);
}

} // namespace
} // namespace rpcordma::unit
