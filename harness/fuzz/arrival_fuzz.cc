// SPDX-License-Identifier: GPL-2.0-only
/// What a responder makes of a message, up to the last byte of a Call that it puts together. The end of the input says what
/// it has room for.
#include <algorithm>

#include <fuzzer/FuzzedDataProvider.h>

#include "harness/fuzz/require.hh"
#include "harness/unit/stream_model.hh"
#include "proto/assembly.hh"
#include "proto/reverse.hh"

using namespace rpcordma;
using fuzz::require;

namespace {

/// What is put together byte by byte, and compared.
constexpr std::uint32_t most_compared = 65536;

proto::CallLimits limits_of(FuzzedDataProvider &input)
{
	constexpr std::uint32_t streams[] = {0xffffffff, most_compared, 1024, 100};
	constexpr std::uint32_t segments[] = {0xffffffff, 260, 4, 1};
	constexpr std::uint32_t thresholds[] = {0xffffffff, 4096, 1024, 100};
	return {input.PickValueInArray(streams), input.PickValueInArray(segments), input.PickValueInArray(segments),
		input.PickValueInArray(thresholds)};
}

std::uint64_t all_lengths(const wire::ReadList &reads)
{
	std::uint64_t length = 0;
	for (const wire::ReadSegment segment : reads)
		length += segment.target.length;
	return length;
}

/// What an item's count says, in front of where it stands.
std::uint32_t count_before(wire::Bytes payload, std::uint32_t position)
{
	return wire::load_u32(payload.first(position).last<wire::xdr_unit>());
}

void require_pieces(const proto::Call &call, const proto::Assembly &assembly)
{
	std::uint64_t end = 0;
	std::uint64_t sum = 0;
	std::size_t steps = 0;
	proto::Pieces pieces = assembly.pieces();
	while (const auto piece = pieces.next()) {
		require(++steps <= 2 * std::size_t{call.chunks.reads.count()} + 1, "pieces are few");
		require(piece->length != 0, "a piece is not empty");
		require(piece->offset >= end && piece->offset - end <= 3, "pieces follow each other, but for padding");
		end = std::uint64_t{piece->offset} + piece->length;
		require(end <= assembly.filled(), "a piece is inside the memory");
		sum += piece->length;
		if (const auto *bytes = std::get_if<wire::Bytes>(&piece->source)) {
			require(bytes->size() == piece->length, "a piece is as long as its bytes");
			require(bytes->data() >= call.payload.data() &&
					bytes->data() + bytes->size() <= call.payload.data() + call.payload.size(),
				"bytes are those of the payload");
		} else {
			require(std::get<wire::Segment>(piece->source).length == piece->length, "a piece is as long as "
												"its segment");
		}
	}
	require(!pieces.next(), "the last piece is the last");
	require(assembly.filled() - end <= 3, "memory is filled, but for padding");
	const bool is_copied = assembly.shape() == proto::CallShape::contiguous;
	require(sum == all_lengths(call.chunks.reads) + (is_copied ? call.payload.size() : 0), "nothing is lost");
}

void require_shape(const proto::Call &call, const proto::Assembly &assembly, const proto::CallLimits &limits)
{
	require(assembly.size() <= limits.stream, "a Call keeps its limit");
	require(assembly.size() != 0, "a Call is not empty");
	switch (assembly.shape()) {
	case proto::CallShape::in_message:
		require(!call.is_long && assembly.size() == call.payload.size(), "all is in the message");
		require(assembly.filled() == 0, "there is nothing to fill");
		break;
	case proto::CallShape::one_item:
		require(!call.is_long && assembly.position() <= call.payload.size(), "an item is within the payload");
		require(assembly.position() >= proto::smallest_rpc_call, "an item is behind the RPC header");
		require(assembly.filled() + call.payload.size() == assembly.size(), "an item and the payload are all");
		require(count_before(call.payload, assembly.position()) <= all_lengths(call.chunks.reads), "an item is "
													   "all in its "
													   "chunk");
		break;
	case proto::CallShape::contiguous:
		require(assembly.filled() == assembly.size(), "all is to be filled");
		break;
	}
}

void require_call(const proto::Call &call, const proto::CallLimits &limits)
{
	const auto assembly = proto::Assembly::of(call, limits);
	if (assembly) {
		require_shape(call, *assembly, limits);
		require_pieces(call, *assembly);
	}
	if (limits.stream > most_compared)
		return;
	const auto expected = model::stream_of(call, limits.stream);
	require(!assembly || expected, "the model takes what is taken");
	if (!assembly) {
		const bool is_about_segments = assembly.error() == proto::CallError::too_many_segments ||
					       assembly.error() == proto::CallError::no_room_for_reply;
		require(is_about_segments || !expected, "the model refuses what is refused");
		return;
	}
	const model::Assembled assembled = model::assembled(call, *assembly);
	require(assembled.problem == nullptr, assembled.problem);
	require(assembled.stream == *expected, "a Call is put together as the model does it");
	require(assembly->size() == expected->size(), "a Call is as large as it says");
}

void require_handle(const wire::Chunks &chunks)
{
	std::vector<wire::Handle> handles;
	const auto add = [&](const wire::Segment &segment) {
		if (segment.length != 0)
			handles.push_back(segment.handle);
	};
	for (const wire::ReadSegment segment : chunks.reads)
		add(segment.target);
	for (const wire::WriteChunk chunk : chunks.writes)
		std::ranges::for_each(fuzz::segments_of(chunk), add);
	if (chunks.reply)
		std::ranges::for_each(fuzz::segments_of(*chunks.reply), add);
	const bool is_one = !handles.empty() && std::count(handles.begin(), handles.end(), handles.front()) ==
							static_cast<std::ptrdiff_t>(handles.size());
	const auto handle = proto::handle_to_invalidate(chunks);
	require(handle.has_value() == is_one, "a handle is invalidated where it is the only one");
	require(!handle || *handle == handles.front(), "a handle is the Call's");
}

/// An answer fits the smallest of buffers, and is an error of the message's version that can be decoded.
void require_refusal(const proto::Refused &refused, wire::Version highest)
{
	std::byte room[28];
	const auto size = proto::encode_refusal(room, refused, 1, highest);
	require(size.has_value(), "an answer fits");
	const auto answer = wire::decode(wire::Bytes(room).first(*size));
	require(answer && answer->fixed.is_error(), "an answer is an error");
	require(answer->fixed.xid == refused.xid && answer->fixed.version == refused.version, "an answer is to its "
											      "message");
	require(std::holds_alternative<proto::Ignored>(
			proto::classify_arrival(wire::Bytes(room).first(*size), highest)),
		"an answer gets none");
}

void require_arrival(const proto::Arrival &arrival, const wire::FixedFields &fixed, wire::Bytes message,
		     wire::Version highest)
{
	const bool is_error = fixed.is_error();
	const bool is_short = message.size() < wire::smallest_header;
	const bool is_done = fixed.version == RPCRDMA_V1 && fixed.type == RPCRDMA_V1_DONE;
	const auto *ignored = std::get_if<proto::Ignored>(&arrival);
	const bool is_reply = ignored &&
			      (*ignored == proto::Ignored::reply || *ignored == proto::Ignored::optional_reply);
	require((ignored != nullptr) == (is_error || is_short || is_done || is_reply), "errors, RDMA_DONE and what is "
										       "too short are ignored");
	require(!is_reply || (fixed.version == RPCRDMA_V2 && wire::load_u32(message.subspan<16, 4>()) == 1),
		"a Reply is ignored where the header says that it is one");
	const auto refused_call = proto::refused_call(message);
	require(!refused_call || (is_error && *refused_call == fixed.xid), "an error ends the Call that it names");
	if (const auto *refused = std::get_if<proto::Refused>(&arrival)) {
		require(refused->xid == fixed.xid && refused->version == fixed.version, "an answer is to its message");
		require_refusal(*refused, highest);
		const bool is_spoken = fixed.version >= 1 && fixed.version <= std::to_underlying(highest);
		require((refused->with == proto::Refusal::version) == !is_spoken, "a version is refused as such");
		require(refused->with != proto::Refusal::option || fixed.type == RPCRDMA_V2_OPTIONAL, "an option is "
												      "refused as "
												      "such");
	}
	if (const auto *reply = std::get_if<proto::ReverseReply>(&arrival)) {
		const wire::Chunks &chunks = reply->chunks;
		const bool has_chunks = !chunks.reads.empty() || !chunks.writes.empty() || chunks.reply;
		require(reply->xid == fixed.xid && reply->credits == fixed.credits, "a Reply is its header's");
		require(has_chunks || proto::may_be_reverse_reply(message), "a quick look finds a Reply");
	}
	if (const auto *call = std::get_if<proto::Call>(&arrival)) {
		require(call->xid == fixed.xid && call->credits == fixed.credits &&
				std::to_underlying(call->version) == fixed.version,
			"a Call is its header's");
		require(call->is_long == (fixed.type == RPCRDMA_V1_NOMSG), "a Long Call is RDMA_NOMSG");
		require(call->is_long ? call->payload.empty() : proto::payload_is_call(call->payload, call->xid),
			"a Call has an XID and says what it is");
	}
}

void require_handled(wire::Bytes message, const proto::CallLimits &limits, wire::Version highest)
{
	const proto::Arrival arrival = proto::classify_arrival(message, highest);
	wire::Reader reader(message);
	const auto fixed = wire::FixedFields::decode(reader);
	if (!fixed) {
		const auto *ignored = std::get_if<proto::Ignored>(&arrival);
		require(ignored != nullptr && *ignored == proto::Ignored::too_short, "a message is too short when its "
										     "fixed fields are cut");
		return;
	}
	require_arrival(arrival, *fixed, message, highest);
	if (const auto *call = std::get_if<proto::Call>(&arrival)) {
		require_call(*call, limits);
		require_handle(call->chunks);
	}
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	FuzzedDataProvider input(data, size);
	const proto::CallLimits limits = limits_of(input);
	const std::vector<std::uint8_t> rest = input.ConsumeRemainingBytes<std::uint8_t>();
	const wire::Bytes message = std::as_bytes(std::span(rest));

	require_handled(message, limits, wire::Version::one);
	require_handled(message, limits, wire::Version::two);
	return 0;
}
