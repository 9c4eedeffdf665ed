// SPDX-License-Identifier: GPL-2.0-only
/// Two decoders, the module's and the peer's, written from the specifications independently of each other: where they
/// disagree, one of them has misread something.
#include <algorithm>
#include <optional>

#include "harness/fuzz/require.hh"
#include "harness/peer/codec/header.hh"
#include "harness/peer/codec/private_data.hh"
#include "wire/header.hh"
#include "wire/private_data.hh"

using namespace rpcordma;
using fuzz::require;

namespace {

std::optional<peer::Decoded> decoded_by_the_peer(peer::ByteView message)
{
	try {
		return peer::decode(message);
	} catch (const peer::Malformed &) {
		return std::nullopt;
	}
}

peer::Segment as_peers(const wire::Segment &segment)
{
	return {static_cast<std::uint32_t>(segment.handle), segment.length, segment.offset};
}

peer::Chunk as_peers(const wire::WriteChunk &chunk)
{
	peer::Chunk segments;
	for (const wire::Segment &segment : fuzz::segments_of(chunk))
		segments.push_back(as_peers(segment));
	return segments;
}

void require_same(const wire::Chunks &chunks, const peer::Header &header)
{
	std::vector<peer::ReadSegment> reads;
	for (const wire::ReadSegment segment : chunks.reads)
		reads.push_back({static_cast<std::uint32_t>(segment.position), as_peers(segment.target)});
	require(reads == header.reads, "both find the same Read list");
	std::vector<peer::Chunk> writes;
	for (const wire::WriteChunk chunk : chunks.writes)
		writes.push_back(as_peers(chunk));
	require(writes == header.writes, "both find the same Write list");
	require(chunks.reply.has_value() == header.reply.has_value(), "both find a Reply chunk, or none");
	if (chunks.reply)
		require(as_peers(*chunks.reply) == *header.reply, "both find the same Reply chunk");
}

void require_same(wire::Bytes ours, const peer::Bytes &its)
{
	const wire::Bytes payload = std::as_bytes(std::span(its));
	require(std::ranges::equal(ours, payload), "both find the same Payload stream");
}

void require_same(std::optional<wire::Direction> direction, const peer::Header &header)
{
	require(direction.has_value() == (header.version == RPCRDMA_V2), "version 2 says which way a message goes");
	require(!direction || static_cast<std::uint32_t>(*direction) == header.direction, "both find the same "
											  "direction");
}

void require_same(const wire::Header &ours, const peer::Decoded &its)
{
	const peer::Header &header = its.header;
	const wire::FixedFields &fixed = ours.fixed;
	require(static_cast<std::uint32_t>(fixed.xid) == header.xid && fixed.version == header.version &&
			fixed.credits == header.credits && fixed.type == header.type,
		"both find the same fixed fields");
	if (const auto *msg = std::get_if<wire::Msg>(&ours.body)) {
		require_same(msg->direction, header);
		require_same(msg->chunks, header);
		require_same(msg->payload, its.payload);
	}
	if (const auto *nomsg = std::get_if<wire::NoMsg>(&ours.body)) {
		require_same(nomsg->direction, header);
		require_same(nomsg->chunks, header);
	}
	if (const auto *optional = std::get_if<wire::Optional>(&ours.body)) {
		require_same(optional->direction, header);
		require(optional->type == header.option, "both find the same option");
		require_same(optional->info, header.option_info);
		require_same(optional->payload, its.payload);
	}
	if (const auto *msgp = std::get_if<wire::MsgP>(&ours.body)) {
		require(msgp->align == header.align && msgp->threshold == header.threshold, "both find the same "
											    "alignment");
		require_same(msgp->chunks, header);
		require_same(msgp->payload, its.payload);
	}
	if (const auto *range = std::get_if<wire::VersionError>(&ours.body))
		require(header.error == peer::ERR_VERS && range->low == header.version_low &&
				range->high == header.version_high,
			"both find the same versions");
	if (std::holds_alternative<wire::ChunkError>(ours.body))
		require(header.error == peer::ERR_CHUNK, "both find ERR_CHUNK");
	if (std::holds_alternative<wire::OptionError>(ours.body))
		require(header.error == peer::ERR_INVAL_OPTION, "both find ERR_INVAL_OPTION");
}

void require_same_private_data(peer::ByteView received)
{
	// The module takes absence for the defaults (RFC 8797, 5.1).
	const peer::PrivateData its = peer::find_private_data(received).value_or(peer::PrivateData{});
	const wire::PrivateData ours = wire::PrivateData::decode(std::as_bytes(received));
	require(ours.send_size == its.send_size && ours.receive_size == its.receive_size &&
			ours.remote_invalidation == its.remote_invalidation,
		"both find the same private data");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	const peer::ByteView message(data, size);
	require_same_private_data(message);

	const auto ours = wire::decode(std::as_bytes(message));
	const auto its = decoded_by_the_peer(message);
	// The peer takes other versions for version 1, and leaves them for cases to judge. ERR_VERS is the same in each.
	const bool is_known =
		size < RPCRDMA_V1_FIXED_SIZE ||
		wire::is_spoken(wire::load_u32(std::as_bytes(message).subspan<4, 4>()), wire::Version::two);
	const bool is_judged_by_both = is_known || (ours && std::holds_alternative<wire::VersionError>(ours->body));
	if (!is_judged_by_both)
		return 0;
	require(ours.has_value() == its.has_value(), "what one can decode, the other can");
	if (ours)
		require_same(*ours, *its);
	/* The padding of an option's data may be anything. */
	if (its && its->header.type != peer::RDMA_DONE && its->header.type != peer::RDMA2_OPTIONAL) {
		const peer::Bytes again = peer::encode(its->header);
		require(std::equal(again.begin(), again.end(), message.begin()), "the peer encodes what it decoded");
	}
	return 0;
}
