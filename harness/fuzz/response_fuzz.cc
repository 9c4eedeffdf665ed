// SPDX-License-Identifier: GPL-2.0-only
/// How a responder sends a Reply: the items that are taken out of it, the transfer that is chosen, the chunks that are given
/// back. The end of the input says what the Reply is, the rest is what the Call offered.
#include <algorithm>

#include <fuzzer/FuzzedDataProvider.h>

#include "harness/fuzz/require.hh"
#include "harness/unit/stream_model.hh"
#include "proto/reply.hh"
#include "proto/response.hh"

using namespace rpcordma;
using fuzz::require;

namespace {

/// What is gone through byte by byte, and compared.
constexpr std::uint32_t most_compared = 4096;

constexpr wire::Xid xid{0xfeedbeef};

using Items = std::span<const proto::Item>;

std::uint32_t number(FuzzedDataProvider &input)
{
	constexpr std::uint32_t most[] = {8, 256, most_compared, 0xffffffff};
	return input.ConsumeIntegralInRange<std::uint32_t>(0, input.PickValueInArray(most));
}

proto::ReducedItems items_of(FuzzedDataProvider &input, const wire::WriteList &writes)
{
	proto::ReducedItems items;
	std::uint32_t at = 0;
	for (std::uint32_t left = input.ConsumeIntegralInRange<std::uint32_t>(0, 20); left != 0; --left) {
		const proto::Item item{input.ConsumeBool() ? at + number(input) : number(input), number(input)};
		const std::size_t before = items.span().size();
		items.add(item, writes);
		if (items.span().size() != before)
			at = item.offset + item.length;
	}
	return items;
}

void require_items(Items items, const wire::WriteList &writes)
{
	require(items.size() <= writes.count(), "an item has a Write chunk");
	std::uint64_t end = 0;
	auto chunk = writes.begin();
	for (const proto::Item &item : items) {
		require(item.length <= (*chunk++).length(), "an item fits its Write chunk");
		if (item.length == 0)
			continue;
		require(item.offset >= end, "items are in order");
		end = std::uint64_t{item.offset} + item.length;
	}
}

void require_remainder(std::uint32_t size, Items items)
{
	std::uint64_t end = 0;
	std::uint64_t sum = 0;
	std::size_t steps = 0;
	proto::Remainder remainder(size, items);
	while (const auto stretch = remainder.next()) {
		require(++steps <= items.size() + 1, "stretches are few");
		require(stretch->length != 0, "a stretch is not empty");
		require(stretch->offset >= end, "stretches are in order");
		end = std::uint64_t{stretch->offset} + stretch->length;
		require(end <= size, "a stretch is within the stream");
		sum += stretch->length;
	}
	require(proto::reduced_size(size, items) == sum, "what is left is as large as its stretches");
	if (size <= most_compared)
		require(model::walked(size, items) == model::remainder_of(size, items), "what the model leaves is "
											"left");
}

/// The size of a Reply's header, from scratch.
std::uint64_t header_size(wire::Version version, const wire::Chunks &chunks)
{
	std::uint64_t size = (version == wire::Version::one ? 16 : 20) + 3 * 4;
	for (const wire::WriteChunk chunk : chunks.writes)
		size += 4 + 4 + 16 * std::uint64_t{chunk.count()};
	if (chunks.reply)
		size += 4 + 16 * std::uint64_t{chunks.reply->count()};
	return size;
}

void require_plan(std::uint32_t size, Items items, const wire::Chunks &chunks, wire::Version version,
		  std::uint32_t threshold)
{
	const bool is_whole = std::all_of(items.begin(), items.end(), [size](const proto::Item &item) {
		return std::uint64_t{item.offset} + item.length <= size;
	});
	const std::uint64_t reduced = proto::reduced_size(size, items);
	const std::uint64_t header = header_size(version, chunks);
	const bool fits_message = header + reduced <= threshold;
	const bool fits_chunk = header <= threshold && chunks.reply && reduced <= chunks.reply->length();

	const auto plan = proto::plan_reply(size, items, chunks, version, threshold);
	require(plan.has_value() == (is_whole && (fits_message || fits_chunk)), "a Reply is sent where it fits");
	if (!plan)
		return;
	require(plan->reduced_size == reduced, "what is left is planned for");
	require((plan->transfer == proto::ReplyTransfer::short_reply) == fits_message, "a message is preferred");
}

/// Compares a chunk that is given back with the one that was offered.
void require_filled(const wire::WriteChunk &returned, const wire::WriteChunk &offered, std::uint32_t written)
{
	require(returned.count() == offered.count(), "a chunk keeps its segments");
	bool is_over = false;
	for (std::uint32_t i = 0; i < returned.count(); ++i) {
		require(returned[i].handle == offered[i].handle && returned[i].offset == offered[i].offset, "a segment "
													    "keeps "
													    "what "
													    "it names");
		require(returned[i].length <= offered[i].length, "a segment is not filled beyond its end");
		require(!is_over || returned[i].length == 0, "a chunk is filled in order");
		is_over = is_over || returned[i].length < offered[i].length;
	}
	require(returned.length() == std::min<std::uint64_t>(written, offered.length()), "all that was written is "
											 "said");
}

bool is_32_bits(const std::vector<wire::Segment> &segments)
{
	return fuzz::length_of(segments) <= 0xffffffff;
}

/// The requester that this project has offers one chunk at a time, with segments in it.
void require_accepted(const wire::Body &body, const wire::Chunks &offered)
{
	const bool is_one = offered.writes.count() + (offered.reply ? 1 : 0) == 1;
	if (!is_one)
		return;
	proto::Offer offer{};
	const auto segments = fuzz::segments_of(offered.reply ? *offered.reply : *offered.writes.begin());
	if (segments.empty() || !is_32_bits(segments))
		return;
	(offered.reply ? offer.reply_chunk : offer.write_chunk) = segments;
	const auto accepted = proto::accept_reply(body, xid, offer);
	require(accepted || accepted.error() == proto::ReplyError::payload_too_short, "a requester accepts a Reply");
}

void require_encoding(const proto::ReplyPlan &plan, Items items, const wire::Chunks &offered, wire::Version version)
{
	std::vector<std::uint32_t> written;
	for (const proto::Item &item : items)
		written.push_back(item.length);
	const bool is_long = plan.transfer == proto::ReplyTransfer::long_reply;
	const wire::ReturnedChunks chunks{offered.writes, written, offered.reply, is_long ? plan.reduced_size : 0};
	const auto encode = [&](wire::MutableBytes room) {
		return wire::encode(room, {xid, version, 1, wire::Direction::reply, is_long}, chunks);
	};

	const std::uint64_t size = header_size(version, offered);
	require(wire::header_size(version, chunks) == size, "a header is as large as planned");
	std::vector<std::byte> message(size - 1);
	require(!encode(message), "a header does not fit where it does not");
	message.resize(size);
	require(encode(message) == message.size(), "a header fits to the byte");
	if (!is_long) {
		message.resize(message.size() + std::min(plan.reduced_size, most_compared));
		if (plan.reduced_size >= 8) {
			wire::Writer payload(wire::MutableBytes(message).subspan(size));
			require(payload.u32(std::to_underlying(xid)) && payload.u32(1), "a payload fits");
		}
	}

	const auto header = wire::decode(message);
	require(header.has_value(), "a Reply can be decoded");
	const auto *msg = std::get_if<wire::Msg>(&header->body);
	require((msg == nullptr) == is_long, "a Long Reply is RDMA_NOMSG");
	require(header->fixed.version == std::to_underlying(version), "a Reply has the version of its Call");
	const wire::Chunks &returned = is_long ? std::get<wire::NoMsg>(header->body).chunks : msg->chunks;
	require(returned.reads.empty(), "a Reply has no Read list");
	require(returned.writes.count() == offered.writes.count(), "all Write chunks are given back");
	std::size_t index = 0;
	auto chunk = offered.writes.begin();
	for (const wire::WriteChunk its : returned.writes) {
		require_filled(its, *chunk++, index < written.size() ? written[index] : 0);
		++index;
	}
	require(returned.reply.has_value() == offered.reply.has_value(), "the Reply chunk is given back");
	if (returned.reply)
		require_filled(*returned.reply, *offered.reply, chunks.reply_written);
	require_accepted(header->body, offered);
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	FuzzedDataProvider input(data, size);
	const std::uint32_t reply_size = number(input);
	const std::uint32_t threshold = number(input);
	std::vector<std::uint8_t> numbers(input.ConsumeIntegralInRange<std::size_t>(0, 255));
	for (std::uint8_t &one : numbers)
		one = input.ConsumeIntegral<std::uint8_t>();
	const std::vector<std::uint8_t> rest = input.ConsumeRemainingBytes<std::uint8_t>();
	wire::Reader reader(std::as_bytes(std::span(rest)));
	const auto chunks = wire::Chunks::decode(reader);
	if (!chunks)
		return 0;

	FuzzedDataProvider for_items(numbers.data(), numbers.size());
	proto::ReducedItems reduced = items_of(for_items, chunks->writes);
	const Items items = reduced.span();
	if (for_items.ConsumeBool()) {
		reduced.end_at(reply_size);
		for (const proto::Item &item : items)
			require(item.length == 0 || item.offset < reply_size, "an item begins within the Reply");
	}
	require_items(items, chunks->writes);
	require_remainder(reply_size, items);
	for (const wire::Version version : {wire::Version::one, wire::Version::two}) {
		require_plan(reply_size, items, *chunks, version, threshold);
		if (const auto plan = proto::plan_reply(reply_size, items, *chunks, version, threshold))
			require_encoding(*plan, items, *chunks, version);
	}
	return 0;
}
