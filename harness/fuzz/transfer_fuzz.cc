// SPDX-License-Identifier: GPL-2.0-only
/// The choice of transfers and the placement of Replies, for any sizes.
#include <fuzzer/FuzzedDataProvider.h>

#include "harness/fuzz/require.hh"
#include "proto/transfer.hh"

using namespace rpcordma;
using namespace rpcordma::proto;
using fuzz::require;

namespace {

/// Any number, but often one of those where something changes.
std::uint32_t number(FuzzedDataProvider &input)
{
	constexpr std::uint32_t common[] = {0,	  1,	2,     3,	4,	    100,       996,
					    1024, 4096, 65536, 1048576, 0xfffffffc, 0xffffffff};
	const std::uint32_t base = input.PickValueInArray(common);
	return base + input.ConsumeIntegralInRange<std::uint32_t>(0, input.ConsumeBool() ? 0xffffffff : 8);
}

Stream stream(FuzzedDataProvider &input)
{
	return {number(input), number(input), number(input), input.ConsumeBool()};
}

/// The number of segments that registering each Extent takes.
struct SegmentCounts {
	std::uint32_t pages;
	std::uint32_t whole;

	std::uint32_t operator()(Extent extent) const { return extent == Extent::pages ? pages : whole; }
};

/// The size of a header without a segment, from scratch: four fixed fields, in version 2 a direction, three ends of lists.
std::uint64_t bare_header(wire::Version version)
{
	return version == wire::Version::one ? 28 : 32;
}

void require_plan(const Stream &call, const Stream &reply, const Terms &terms, Reduction reduction, const Plan &plan)
{
	const InlineThresholds &thresholds = terms.thresholds;
	require(std::uint64_t{plan.header_size} + plan.inline_size <= thresholds.call, "a Call keeps its threshold");
	const std::uint64_t parts =
		bare_header(terms.version) + 24ull * plan.read_segments + 16ull * plan.room_segments;
	require(plan.header_size >= parts, "a header has room for its fields, lists and segments");
	require(plan.tail_skip <= call.tail && plan.tail_skip <= 3, "no more than padding is left out");
	if (plan.call == CallTransfer::inline_message)
		require(plan.inline_size == call.size(), "all of a Call is inline");
	if (plan.call == CallTransfer::read_chunk) {
		require(plan.inline_size + std::uint64_t{call.pages} + plan.tail_skip == call.size(), "nothing is "
												      "lost");
		require(call.head != 0 && call.head % 4 == 0, "a Position is a multiple of four");
		require(reduction == Reduction::allowed && call.pages_are_ddp_eligible, "a reduced item may be");
	}
	if (plan.call == CallTransfer::position_zero)
		require(plan.inline_size == 0 && plan.tail_skip == 0, "a long Call leaves nothing inline");
	if (plan.reply == ReplyRoom::inline_message)
		require(bare_header(terms.version) + reply.size() <= thresholds.reply, "a Reply keeps its threshold");
	if (plan.reply == ReplyRoom::write_chunk)
		require(reduction == Reduction::allowed && reply.pages_are_ddp_eligible, "a reduced item may be");
}

void require_placement(const Stream &room, std::uint32_t inline_size, std::uint32_t written)
{
	const auto placement = place_reply(room, inline_size, written);
	if (!placement)
		return;
	require(placement->head <= room.head, "the head has room");
	require(placement->pages <= placement->pages_filled, "pages are filled by copying or by writing");
	require(placement->pages_filled <= room.pages, "the pages have room");
	require(std::uint64_t{placement->tail_padding} + placement->tail <= room.tail, "the tail has room");
	require(std::uint64_t{placement->head} + placement->pages + placement->tail == inline_size, "all that came in "
												    "the message is "
												    "placed");
	require(written == 0 || (placement->pages_filled == written && placement->pages == 0), "a written item keeps "
											       "the pages");
	require(placement->tail_padding <= 3, "no more than padding goes in front of the tail");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	FuzzedDataProvider input(data, size);
	const Stream call = stream(input);
	const Stream reply = stream(input);
	const SegmentCounts call_segments{number(input), number(input)};
	const SegmentCounts reply_segments{number(input), number(input)};
	const InlineThresholds thresholds{number(input), number(input)};
	const Reduction reduction = input.ConsumeBool() ? Reduction::allowed : Reduction::forbidden;

	for (const wire::Version version : {wire::Version::one, wire::Version::two}) {
		const Terms terms{version, thresholds};
		const auto plan = plan_transfer(call, call_segments, reply, reply_segments, terms, reduction);
		if (plan)
			require_plan(call, reply, terms, reduction, *plan);
	}
	require_placement(reply, number(input), number(input));
	return 0;
}
