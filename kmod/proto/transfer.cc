// SPDX-License-Identifier: GPL-2.0-only
#include "proto/transfer.hh"

#include <algorithm>

namespace rpcordma::proto {
std::expected<Placement, PlacementError> place_reply(const Stream &room, std::uint32_t inline_size,
						     std::uint32_t written) noexcept
{
	const std::uint32_t head = std::min(inline_size, room.head);
	const std::uint32_t after_head = inline_size - head;
	if (written == 0) {
		const std::uint32_t pages = std::min(after_head, room.pages);
		const std::uint32_t tail = after_head - pages;
		if (tail > room.tail)
			return std::unexpected(PlacementError::too_large);
		return Placement{head, pages, pages, 0, tail};
	}

	// The item's roundup padding was left out with it (RFC 8166, 3.4.4.4), but the upper layer looks for what
	// follows behind it.
	const std::uint32_t padding = wire::roundup_padding(written);
	const std::uint32_t fitting = after_head == 0 ? std::min(padding, room.tail) : padding;
	if (written > room.pages || std::uint64_t{fitting} + after_head > room.tail)
		return std::unexpected(PlacementError::too_large);
	return Placement{head, 0, written, fitting, after_head};
}

} // namespace rpcordma::proto
