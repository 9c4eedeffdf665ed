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
	const wire::Bytes behind_fixed = message.subspan(RPCRDMA_V1_FIXED_SIZE);
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
	} else {
		require(version == RPCRDMA_V1, "other versions are not decoded");
	}
	return 0;
}
