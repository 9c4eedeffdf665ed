// SPDX-License-Identifier: GPL-2.0-only
/// The judgement of a Reply against what was offered. The end of the input says what that was: something of its own, or
/// what the message returns, with segments that much longer.
#include <algorithm>

#include <fuzzer/FuzzedDataProvider.h>

#include "harness/fuzz/require.hh"
#include "proto/reply.hh"
#include "proto/transfer.hh"

using namespace rpcordma;
using fuzz::require;

namespace {

constexpr std::size_t most_segments = 5;
/// Keeps the sum of all lengths within 32 bits, as that of a real offer is.
constexpr std::uint32_t longest_segment = 0xffffffff / most_segments;

using Segments = std::vector<wire::Segment>;

Segments made_up(FuzzedDataProvider &input)
{
	Segments segments(input.ConsumeIntegralInRange<std::size_t>(0, most_segments));
	for (wire::Segment &segment : segments)
		segment = {wire::Handle{input.ConsumeIntegral<std::uint32_t>()},
			   input.ConsumeIntegralInRange<std::uint32_t>(0, longest_segment),
			   input.ConsumeIntegral<std::uint64_t>()};
	return segments;
}

/// Each longer by one of a few bytes of the input.
Segments longer(const wire::WriteChunk &chunk, std::span<const std::uint8_t> by)
{
	Segments segments = fuzz::segments_of(chunk);
	if (segments.size() > most_segments)
		segments.resize(most_segments);
	for (std::size_t i = 0; i < segments.size(); ++i)
		segments[i].length = std::min(segments[i].length, longest_segment - 255) + by[i];
	return segments;
}

const wire::Chunks *chunks_of(const wire::Body &body)
{
	if (const auto *msg = std::get_if<wire::Msg>(&body))
		return &msg->chunks;
	if (const auto *nomsg = std::get_if<wire::NoMsg>(&body))
		return &nomsg->chunks;
	return nullptr;
}

void require_placed(std::uint32_t inline_size, std::uint32_t written)
{
	const proto::Stream room{.head = 128, .pages = written, .tail = 256, .pages_are_ddp_eligible = true};
	const auto placement = proto::place_reply(room, inline_size, written);
	if (!placement)
		return;
	require(placement->head + placement->pages + placement->tail == inline_size, "all that came is placed");
}

void require_judged(wire::Bytes payload, wire::Xid xid)
{
	const bool has_its_xid = wire::Xid{wire::load_u32(payload.first<4>())} == xid;
	const auto judged = proto::payload_is_reply(payload, xid);
	require(!judged || has_its_xid, "a Reply has the XID of its Call");
	require(has_its_xid || judged.error() == proto::ReplyError::xid_mismatch, "another XID is called that");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	FuzzedDataProvider input(data, size);
	const bool as_returned = input.ConsumeBool();
	const Segments own_write = as_returned ? Segments{} : made_up(input);
	const Segments own_reply = as_returned ? Segments{} : made_up(input);
	std::uint8_t by[2 * most_segments] = {};
	for (std::uint8_t &bytes : by)
		bytes = as_returned ? input.ConsumeIntegral<std::uint8_t>() : 0;
	const std::vector<std::uint8_t> rest = input.ConsumeRemainingBytes<std::uint8_t>();
	const wire::Bytes message = std::as_bytes(std::span(rest));

	const auto header = wire::decode(message);
	if (!header)
		return 0;
	Segments write = own_write;
	Segments reply = own_reply;
	const wire::Chunks *chunks = chunks_of(header->body);
	if (as_returned && chunks != nullptr) {
		if (!chunks->writes.empty())
			write = longer(*chunks->writes.begin(), std::span(by).first(most_segments));
		if (chunks->reply)
			reply = longer(*chunks->reply, std::span(by).last(most_segments));
	}

	const auto accepted = proto::accept_reply(header->body, header->fixed.xid, {write, reply});
	if (!accepted)
		return 0;
	require(chunks == nullptr || chunks->reads.empty(), "a Reply has no Read list");
	if (const auto *by_message = std::get_if<proto::ShortReply>(&*accepted)) {
		require(by_message->written <= fuzz::length_of(write), "no more is written than was offered");
		require(by_message->payload.size() >= proto::smallest_rpc_reply, "a Payload stream can be a Reply");
		require(chunks->writes.count() <= (write.empty() ? 0 : 1), "no more chunks are used than were offered");
		require_judged(by_message->payload, header->fixed.xid);
		require_placed(static_cast<std::uint32_t>(by_message->payload.size()), by_message->written);
	}
	if (const auto *by_chunk = std::get_if<proto::LongReply>(&*accepted)) {
		require(by_chunk->length <= fuzz::length_of(reply), "no more is written than was offered");
		require(by_chunk->length >= proto::smallest_rpc_reply, "a Payload stream can be a Reply");
	}
	return 0;
}
