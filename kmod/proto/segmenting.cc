// SPDX-License-Identifier: GPL-2.0-only
#include "proto/segmenting.hh"

#include <algorithm>
#include <limits>

namespace rpcordma::proto {
namespace {

/// The number of bytes in the first `pages` pages of a run.
std::uint32_t bytes_in(const MemoryRun &run, std::uint32_t pages) noexcept
{
	if (pages == 0)
		return 0;
	const std::uint64_t to_last_page_end = std::uint64_t{pages} * kernel::page_size - run.offset;
	return static_cast<std::uint32_t>(std::min<std::uint64_t>(to_last_page_end, run.length));
}

} // namespace

inline Segmenter::Piece Segmenter::front(std::uint32_t most) const noexcept
{
	const MemoryRun &run = runs_.front();
	const std::uint32_t pages = std::min(most, run.pages() - pages_done_);
	return {
		.pages = pages,
		.length = bytes_in(run, pages_done_ + pages) - bytes_in(run, pages_done_),
	};
}

inline void Segmenter::advance(std::uint32_t pages) noexcept
{
	pages_done_ += pages;
	if (pages_done_ < runs_.front().pages())
		return;
	runs_ = runs_.subspan(1);
	pages_done_ = 0;
}

std::optional<Segmenter::Piece> Segmenter::next_of_rest() noexcept
{
	constexpr std::uint32_t longest = std::numeric_limits<std::uint32_t>::max();
	Piece piece{};
	while (!runs_.empty() && piece.pages < limits_.pages) {
		const Piece part = front(limits_.pages - piece.pages);
		if (part.length > longest - piece.length)
			break;
		piece.pages += part.pages;
		piece.length += part.length;
		advance(part.pages);
		if (piece.pages != 0 && !limits_.gaps)
			break;
	}
	if (piece.pages == 0)
		return std::nullopt;
	return piece;
}

std::uint32_t segments_needed(std::span<const MemoryRun> runs, RegistrationLimits limits) noexcept
{
	std::uint32_t segments = 0;
	if (limits.gaps) {
		Segmenter segmenter(runs, limits);
		while (segmenter.next())
			++segments;
		return segments;
	}
	// No piece goes on into the next run.
	for (const MemoryRun &run : runs)
		segments += segments_needed(run, limits);
	return segments;
}

} // namespace rpcordma::proto
