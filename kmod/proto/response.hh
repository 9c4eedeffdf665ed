// SPDX-License-Identifier: GPL-2.0-only
/// How a Reply travels (RFC 8166, 3.5.3; rfc5666bis-04, 4.5.3 and 5.3).
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>

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
	static constexpr std::uint32_t most = 16;

	/// Takes the next item, if a Write chunk is left for it; an empty one leaves its chunk unused. False where the chunk
	/// is too short, or the item begins before the end of the last: such a Reply cannot be sent.
	[[nodiscard]] bool add(Item item, const wire::WriteList &writes) noexcept;

	/// The Reply turned out to have no more than `size` bytes: what would begin behind it is no part of it.
	void end_at(std::uint32_t size) noexcept;

	[[nodiscard]] std::span<const Item> span() const noexcept
	{
		return std::span(items_).first(count_);
	}

    private:
	Item items_[most];
	std::uint32_t count_ = 0;
};

/// Goes through what is left of a Payload stream without its reduced items and their roundup padding.
class Remainder {
    public:
	constexpr Remainder(std::uint32_t size, std::span<const Item> items) noexcept
		: size_(size)
		, items_(items)
	{
	}
	/// The next stretch, never empty; none at the end.
	[[nodiscard]] std::optional<Item> next() noexcept;

    private:
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

/// One Reply's transfers.
struct ReplyPlan {
	ReplyTransfer transfer;
	/// The size of the reduced Payload stream, in bytes.
	std::uint32_t reduced_size;
};

enum class ReplyPlanError : std::uint8_t {
	/// It fits neither a message nor the Reply chunk: answered with ERR_CHUNK (rfc5666bis-04, 5.5.3).
	fits_nowhere,
};

/// Chooses how a Reply of `size` bytes travels, whose `items` travel by Write chunks. A message is preferred: it costs
/// no RDMA Write. `threshold` is the largest Reply in a message, header included (RFC 8166, 3.3.2).
[[nodiscard]] std::expected<ReplyPlan, ReplyPlanError> plan_reply(std::uint32_t size, std::span<const Item> items,
								  const wire::Chunks &chunks,
								  std::uint32_t threshold) noexcept;

} // namespace rpcordma::proto
