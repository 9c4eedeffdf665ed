// SPDX-License-Identifier: GPL-2.0-only
/// How a Reply travels (RFC 8166, 3.5.3; rfc5666bis-04, 4.5.3 and 5.3).
#pragma once

#include <algorithm>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <utility>

#include "wire/header.hh"

namespace rpcordma::proto {

/// A DDP-eligible data item of a Reply, in bytes from the beginning of its Payload stream.
struct Item {
	std::uint32_t offset = 0;
	std::uint32_t length = 0;
};

/// The items of a Reply that travel by Write chunks: the n-th by the n-th chunk (RFC 8166, 3.4.6). Items that come later
/// than there are chunks, or than this can hold, stay in the Payload stream.
class ReducedItems {
    public:
	/// As many as nfsd takes operations in a COMPOUND.
	static constexpr std::uint32_t most = 50;

	/// There are none, as at first.
	void clear() noexcept
	{
		count_ = 0;
		misfit_.reset();
	}

	/// Takes the next item, if a Write chunk is left for it; an empty one leaves its chunk unused. Where the chunk is empty,
	/// the item stays in the Payload stream (RFC 8166, 4.3.2.3). Where it is too short, or the item begins before the end
	/// of the last, the Reply cannot be sent.
	void add(Item item, const wire::WriteList &writes) noexcept;

	/// The Reply turned out to have no more than `size` bytes: what would begin behind it is no part of it.
	void end_at(std::uint32_t size) noexcept;

	/// False where one of the items cannot be: ask when the end is known.
	[[nodiscard]] bool can_be_sent() const noexcept { return !misfit_; }

	[[nodiscard]] std::span<const Item> span() const noexcept { return std::span(items_).first(count_); }
	[[nodiscard]] std::span<Item> span() noexcept { return std::span(items_).first(count_); }

    private:
	Item items_[most];
	std::uint32_t count_ = 0;
	/// Where the first item begins that cannot be sent.
	std::optional<std::uint32_t> misfit_;
};

/// Whether an item was named by where its count stands: `before` is the word in front of its offset, `at` the one there.
[[nodiscard]] constexpr bool begins_at_its_count(const Item &item, std::uint32_t before, std::uint32_t at) noexcept
{
	return before != item.length && at == item.length;
}

/// Goes through what is left of a Payload stream without its reduced items and their roundup padding.
class Remainder {
    public:
	constexpr Remainder(std::uint32_t size, std::span<const Item> items) noexcept
		: size_(size)
		, items_(items)
	{
	}
	/// How many items are left out from here on, some of them empty.
	[[nodiscard]] constexpr std::size_t items() const noexcept { return items_.size(); }
	/// The next stretch, never empty; none at the end.
	[[nodiscard]] std::optional<Item> next() noexcept
	{
		if (!items_.empty())
			return next_before_item();
		return at_ < size_ ? std::optional(rest()) : std::nullopt;
	}

    private:
	[[nodiscard]] std::optional<Item> next_before_item() noexcept;
	/// All that is left, without another item.
	[[nodiscard]] Item rest() noexcept
	{
		const std::uint32_t from = std::exchange(at_, size_);
		return {from, size_ - from};
	}

	std::uint32_t size_;
	std::span<const Item> items_;
	std::uint32_t at_ = 0;
};

/// The size of that remainder, in bytes.
[[nodiscard]] std::uint32_t reduced_size(std::uint32_t size, std::span<const Item> items) noexcept;

enum class ReplyTransfer : std::uint8_t {
	/// RDMA_MSG: the reduced Payload stream follows the header.
	short_reply,
	/// RDMA_NOMSG: it goes to the Reply chunk.
	long_reply,
};

/// For trace events and the log: scripts look for these words (Documentation/administration.rst).
[[nodiscard]] inline const char *name_of(ReplyTransfer transfer) noexcept
{
	static constexpr const char *names[] = {"RDMA_MSG", "RDMA_NOMSG"};
	return names[std::to_underlying(transfer)];
}

/// Fills a chunk's segments in order (RFC 8166, 3.4.6): calls `visit` for each that is written to, with as much of it as is
/// written, until one says no. The chunk has room for `length` bytes. Whether none said no.
template <typename Visitor>
bool for_each_written(const wire::WriteChunk &chunk, std::uint32_t length, Visitor visit) noexcept
{
	for (std::uint32_t i = 0; length != 0; ++i) {
		wire::Segment segment = chunk[i];
		segment.length = std::min(segment.length, length);
		length -= segment.length;
		if (segment.length != 0 && !visit(segment))
			return false;
	}
	return true;
}

/// One Reply's transfers.
struct ReplyPlan {
	ReplyTransfer transfer;
	/// The size of the reduced Payload stream, in bytes.
	std::uint32_t reduced_size;
};

enum class ReplyPlanError : std::uint8_t {
	/// It fits neither a message nor the Reply chunk: answered with ERR_CHUNK (rfc5666bis-04, 5.5.3).
	fits_nowhere,
	/// A Write chunk is too short for its item: the same.
	item_too_long,
};

/// For trace events and the log: scripts look for these words (Documentation/administration.rst).
[[nodiscard]] inline const char *name_of(ReplyPlanError error) noexcept
{
	static constexpr const char *names[] = {"reply fits neither a message nor its chunks", "result longer than its "
											       "write chunk"};
	return names[std::to_underlying(error)];
}

/// Chooses how a Reply of `size` bytes travels, whose `items` travel by Write chunks. A message is preferred: it costs
/// no RDMA Write. `threshold` is the largest Reply in a message, header included (RFC 8166, 3.3.2); `version` is the Call's.
[[nodiscard]] std::expected<ReplyPlan, ReplyPlanError> plan_reply(std::uint32_t size, const ReducedItems &items,
								  const wire::Chunks &chunks, wire::Version version,
								  std::uint32_t threshold) noexcept;
[[nodiscard]] std::expected<ReplyPlan, ReplyPlanError> plan_reply(std::uint32_t size, std::span<const Item> items,
								  const wire::Chunks &chunks, wire::Version version,
								  std::uint32_t threshold) noexcept;

} // namespace rpcordma::proto
