// SPDX-License-Identifier: GPL-2.0-only
#include "proto/response.hh"

#include <algorithm>

namespace rpcordma::proto {
namespace {

/// The end of an item and its roundup padding, in a stream of `size` bytes whose encoder may have left the last out.
std::uint32_t padded_end(const Item &item, std::uint32_t size) noexcept
{
	const std::uint64_t end = std::uint64_t{item.offset} + item.length;
	return static_cast<std::uint32_t>(std::min<std::uint64_t>(end + wire::roundup_padding(item.length), size));
}

} // namespace

void ReducedItems::add(Item item, const wire::WriteList &writes) noexcept
{
	if (count_ == most)
		return;
	auto chunk = writes.begin();
	for (std::uint32_t i = 0; i < count_ && chunk != writes.end(); ++i)
		++chunk;
	if (chunk == writes.end())
		return;
	const std::uint64_t begins_from =
		count_ == 0 ? 0 : std::uint64_t{items_[count_ - 1].offset} + items_[count_ - 1].length;
	// An empty Write chunk asks for its item in the Payload stream (RFC 8166, 4.3.2.3).
	const bool stays = (*chunk).count() == 0;
	if (item.offset < begins_from || (!stays && item.length > (*chunk).length()))
		misfit_ = std::min(item.offset, misfit_.value_or(item.offset));
	else
		items_[count_++] = {item.offset, stays ? 0 : item.length};
}

void ReducedItems::end_at(std::uint32_t size) noexcept
{
	for (Item &item : std::span(items_).first(count_)) {
		if (item.offset >= size)
			item = {};
	}
	if (misfit_ && *misfit_ >= size)
		misfit_.reset();
}

std::optional<Item> Remainder::next_before_item() noexcept
{
	while (at_ < size_) {
		if (items_.empty())
			return rest();
		const Item item = items_.front();
		if (item.length == 0) {
			items_ = items_.subspan(1);
			continue;
		}
		const Item before{at_, std::min(item.offset, size_) - std::min(at_, item.offset)};
		at_ = std::max(at_, padded_end(item, size_));
		items_ = items_.subspan(1);
		if (before.length != 0)
			return before;
	}
	return std::nullopt;
}

std::uint32_t reduced_size(std::uint32_t size, std::span<const Item> items) noexcept
{
	if (items.empty())
		return size;
	std::uint32_t sum = 0;
	Remainder remainder(size, items);
	while (const auto stretch = remainder.next())
		sum += stretch->length;
	return sum;
}

std::expected<ReplyPlan, ReplyPlanError> plan_reply(std::uint32_t size, const ReducedItems &items,
						    const wire::Chunks &chunks, wire::Version version,
						    std::uint32_t threshold) noexcept
{
	if (!items.can_be_sent())
		return std::unexpected(ReplyPlanError::item_too_long);
	return plan_reply(size, items.span(), chunks, version, threshold);
}

std::expected<ReplyPlan, ReplyPlanError> plan_reply(std::uint32_t size, std::span<const Item> items,
						    const wire::Chunks &chunks, wire::Version version,
						    std::uint32_t threshold) noexcept
{
	const bool all_within = std::all_of(items.begin(), items.end(), [size](const Item &item) {
		return std::uint64_t{item.offset} + item.length <= size;
	});
	if (!all_within)
		return std::unexpected(ReplyPlanError::fits_nowhere);
	const std::uint32_t reduced = reduced_size(size, items);
	const std::uint64_t header = chunks.any() ? wire::header_size(version, {chunks.writes, {}, chunks.reply}) :
						    wire::header_size(version, 0, 0, 0);

	if (header + reduced <= threshold)
		return ReplyPlan{ReplyTransfer::short_reply, reduced};
	if (chunks.reply && reduced <= chunks.reply->length() && header <= threshold)
		return ReplyPlan{ReplyTransfer::long_reply, reduced};
	return std::unexpected(ReplyPlanError::fits_nowhere);
}

} // namespace rpcordma::proto
