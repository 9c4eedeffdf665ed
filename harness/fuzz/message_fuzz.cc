// SPDX-License-Identifier: GPL-2.0-only
/// Whole messages: all header types.
#include <algorithm>

#include "harness/fuzz/require.hh"
#include "wire/header.hh"

using namespace rpcordma;
using fuzz::require;

namespace {

void require_same(wire::Result<std::size_t> size, wire::Bytes encoded, wire::Bytes message)
{
	require(size == encoded.size(), "an error is encoded in as many bytes as it came in");
	require(std::equal(encoded.begin(), encoded.end(), message.begin()), "an error is encoded as it came");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	const wire::Bytes message = std::as_bytes(std::span(data, size));
	const auto header = wire::decode(message);
	if (!header)
		return 0;

	const auto &[xid, version, credits, type] = header->fixed;
	const bool is_of_two = version == RPCRDMA_V2;
	/* An error has no direction in version 2 either. */
	const std::size_t front = is_of_two && !header->fixed.is_error() ? wire::front_size(wire::Version::two) :
									   wire::front_size(wire::Version::one);
	const wire::Bytes behind_fixed = message.subspan(front);
	if (const auto *msg = std::get_if<wire::Msg>(&header->body)) {
		require(type == RPCRDMA_V1_MSG, "RDMA_MSG has its type");
		fuzz::require_round_trip(msg->chunks, behind_fixed.first(behind_fixed.size() - msg->payload.size()));
	}
	if (const auto *msgp = std::get_if<wire::MsgP>(&header->body)) {
		require(type == RPCRDMA_V1_MSGP, "RDMA_MSGP has its type");
		const std::size_t chunks_end = behind_fixed.size() - msgp->payload.size();
		fuzz::require_round_trip(msgp->chunks, behind_fixed.first(chunks_end).subspan(8));
	}
	if (std::holds_alternative<wire::NoMsg>(header->body))
		require(type == RPCRDMA_V1_NOMSG, "RDMA_NOMSG has its type");
	if (const auto *range = std::get_if<wire::VersionError>(&header->body)) {
		std::byte room[28];
		require_same(wire::encode_error(room, xid, version, credits, *range), room, message);
	} else if (std::holds_alternative<wire::ChunkError>(header->body)) {
		std::byte room[20];
		require_same(wire::encode_error(room, xid, version, credits, wire::ChunkError{}), room, message);
	} else if (std::holds_alternative<wire::OptionError>(header->body)) {
		std::byte room[20];
		require(is_of_two, "optional messages are version 2's");
		require_same(wire::encode_error(room, xid, credits, wire::OptionError{}), room, message);
	} else {
		require(version == RPCRDMA_V1 || is_of_two, "other versions are not decoded");
	}
	if (const auto *optional = std::get_if<wire::Optional>(&header->body)) {
		const std::size_t info = wire::rounded_up(optional->info.size());
		require(is_of_two && type == RPCRDMA_V2_OPTIONAL, "optional messages are version 2's");
		require(28 + info + optional->payload.size() == message.size(), "nothing of an optional message is "
										"lost");
	}
	return 0;
}
