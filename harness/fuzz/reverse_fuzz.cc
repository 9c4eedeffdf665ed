// SPDX-License-Identifier: GPL-2.0-only
/// A responder's own Calls, in the reverse direction: how one travels, and which messages may be the answer to it. The end of
/// the input says what is sent and to whom, the rest is what comes.
#include <fuzzer/FuzzedDataProvider.h>

#include "harness/fuzz/require.hh"
#include "proto/arrival.hh"
#include "proto/reverse.hh"

using namespace rpcordma;
using fuzz::require;
using proto::ReverseChunks;

namespace {

/// A Reply chunk of one segment has its count and four words.
constexpr std::uint64_t reply_chunk = 20;

std::uint32_t number(FuzzedDataProvider &input)
{
	constexpr std::uint32_t most[] = {64, 1100, 4200, 0xffffffff};
	return input.ConsumeIntegralInRange<std::uint32_t>(0, input.PickValueInArray(most));
}

void require_plan(std::uint32_t call, std::uint32_t reply, const proto::ReverseRoom &room)
{
	// Four fixed words, in version 2 a direction, and three empty lists.
	const std::uint64_t header = room.version == wire::Version::one ? 28 : 32;
	const auto plan = proto::plan_reverse_call(call, reply, room);
	const bool may = room.chunks != ReverseChunks::never;
	if (!plan) {
		const std::uint64_t smallest = header + call;
		require(!may || !room.reads, "a Call that cannot be sent could not be read either");
		require(smallest + (may ? reply_chunk : 0) > room.thresholds.reply, "a Call that fits is sent");
		return;
	}
	const std::uint64_t in_message = header + (plan->has_reply_chunk ? reply_chunk : 0) + call;
	require(may || (!plan->is_long && !plan->has_reply_chunk), "no chunk is offered to those who get none");
	require(!plan->is_long || room.reads, "a peer that does not read has nothing to read");
	require(plan->is_long || in_message <= room.thresholds.reply, "a message keeps the threshold");
	require(!may || plan->has_reply_chunk || header + reply <= room.thresholds.call, "a Reply has room");
	if (room.chunks == ReverseChunks::as_needed) {
		require(!plan->is_long || in_message > room.thresholds.reply, "a Call is long where it must be");
		require(!plan->has_reply_chunk || header + reply > room.thresholds.call, "a Reply chunk is needed");
	}
}

/// What a responder does with the same bytes when no Call of its own is under way decides what cannot be an answer.
void require_answer(wire::Bytes bytes)
{
	const auto message = wire::decode(bytes);
	if (!message)
		return;
	const bool may = proto::may_answer_reverse_call(*message);
	const proto::Arrival arrival = proto::classify_arrival(bytes, wire::Version::two);
	const bool is_of_one = message->fixed.version == RPCRDMA_V1;
	const auto *call = std::get_if<proto::Call>(&arrival);
	const bool is_empty = is_of_one && call != nullptr && call->is_long && call->chunks.reads.empty();
	require(!may || call == nullptr || is_empty, "a Call is no answer, but for one of no bytes");
	require(may || !std::holds_alternative<proto::ReverseReply>(arrival), "a Reply is one");
	const bool is_option_error = std::holds_alternative<wire::OptionError>(message->body);
	const bool is_error = message->fixed.is_error() && !is_option_error;
	require(may || !is_error, "an error is one");
	require(!may || !is_option_error, "an error about an option is none");
	require(proto::refused_call(bytes).has_value() == is_error, "an error ends its Call");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	FuzzedDataProvider input(data, size);
	const std::uint32_t call = number(input);
	const std::uint32_t reply = number(input);
	proto::ReverseRoom room{
		.thresholds = {.call = number(input), .reply = number(input)},
		.chunks =
			input.PickValueInArray({ReverseChunks::never, ReverseChunks::as_needed, ReverseChunks::always}),
		.reads = input.ConsumeBool(),
	};
	for (const wire::Version version : {wire::Version::one, wire::Version::two}) {
		room.version = version;
		require_plan(call, reply, room);
	}

	const std::vector<std::uint8_t> rest = input.ConsumeRemainingBytes<std::uint8_t>();
	require_answer(std::as_bytes(std::span(rest)));
	return 0;
}
