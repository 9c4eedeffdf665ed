// SPDX-License-Identifier: GPL-2.0-only
/// How memory is divided into the segments of a chunk. Any boundaries are legal (RFC 8166, 3.4.4); what decides here is
/// what one registration of the device can cover.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "kernel/page.hh"
#include "proto/transfer.hh"

namespace rpcordma::proto {

/// Bytes that are contiguous but for page boundaries: all pages but the first begin at offset zero, and all but the
/// last are full.
struct MemoryRun {
	/// The offset in the first page, less than kernel::page_size.
	std::uint32_t offset;
	/// In bytes; zero is an empty run.
	std::uint32_t length;

	/// The number of pages that the run touches.
	[[nodiscard]] constexpr std::uint32_t pages() const noexcept
	{
		if (length == 0)
			return 0;
		return static_cast<std::uint32_t>((std::uint64_t{offset} + length + kernel::page_size - 1) /
						  kernel::page_size);
	}
};

/// What one registration can cover.
struct RegistrationLimits {
	/// The number of pages, at least 1.
	std::uint32_t pages;
	/// Gaps between pages are allowed (IBK_SG_GAPS_REG), so that a registration can go on into the next run.
	bool gaps;
};

/// Divides runs into segments, one registration each, in order.
class Segmenter {
    public:
	constexpr Segmenter(std::span<const MemoryRun> runs, RegistrationLimits limits) noexcept
		: runs_(runs)
		, limits_{limits.pages == 0 ? 1 : limits.pages, limits.gaps}
	{
	}

	struct Piece {
		/// The number of pages, over run boundaries where gaps are allowed.
		std::uint32_t pages;
		/// In bytes.
		std::uint32_t length;
	};

	/// The next piece; none when all is covered. Its length always fits: a piece ends before a run that would make
	/// it longer than 32 bits can say.
	[[nodiscard]] std::optional<Piece> next() noexcept
	{
		if (runs_.empty())
			return std::nullopt;
		return is_one_piece() ? whole_run() : next_of_rest();
	}

    private:
	/// Whether the first of runs_ is one piece, as it mostly is: of such a run nothing has been handed out.
	[[nodiscard]] bool is_one_piece() const noexcept
	{
		const std::uint32_t pages = runs_.front().pages();
		return !limits_.gaps && pages != 0 && pages <= limits_.pages;
	}
	[[nodiscard]] Piece whole_run() noexcept
	{
		const MemoryRun &run = runs_.front();
		runs_ = runs_.subspan(1);
		return {run.pages(), run.length};
	}
	[[nodiscard]] std::optional<Piece> next_of_rest() noexcept;
	/// What is left of the first of runs_, up to `most` pages.
	[[nodiscard]] inline Piece front(std::uint32_t most) const noexcept;
	/// Hands out `pages` pages of the first of runs_.
	inline void advance(std::uint32_t pages) noexcept;

	std::span<const MemoryRun> runs_;
	RegistrationLimits limits_;
	/// Pages of the first of runs_ that were handed out already.
	std::uint32_t pages_done_ = 0;
};

/// The number of pieces that a Segmenter yields of one run, and of several.
[[nodiscard]] constexpr std::uint32_t segments_needed(const MemoryRun &run, RegistrationLimits limits) noexcept
{
	const std::uint32_t most = std::max(limits.pages, 1u);
	const std::uint32_t pages = run.pages();
	return pages / most + (pages % most != 0 ? 1 : 0);
}
[[nodiscard]] std::uint32_t segments_needed(std::span<const MemoryRun> runs, RegistrationLimits limits) noexcept;

} // namespace rpcordma::proto
