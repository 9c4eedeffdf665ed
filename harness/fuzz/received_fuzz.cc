// SPDX-License-Identifier: GPL-2.0-only
/// What a requester makes of a message.
#include <algorithm>

#include "harness/fuzz/require.hh"
#include "proto/received.hh"

using namespace rpcordma;
using fuzz::require;

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	const wire::Bytes message = std::as_bytes(std::span(data, size));
	const proto::Received received = proto::classify_received(message);
	if (const auto *why = std::get_if<proto::Dropped>(&received)) {
		require((*why == proto::Dropped::too_short) == (size < RPCRDMA_V1_FIXED_SIZE), "a message is too short "
											       "when its fixed fields "
											       "are cut");
		return 0;
	}

	const auto header = wire::decode(message);
	if (const auto *call = std::get_if<proto::Call>(&received)) {
		require(header.has_value(), "a Call can be decoded");
		require(call->xid == header->fixed.xid && call->credits == header->fixed.credits, "a Call is its "
												  "header's");
		require(!call->payload.empty() || !call->chunks.reads.empty(), "a Call has a Payload stream somewhere");
		require(call->is_long == call->payload.empty(), "a Long Call has its Payload stream in a chunk");
	}
	if (const auto *for_call = std::get_if<proto::ForCall>(&received)) {
		require(for_call->body.has_value() == header.has_value(), "a message for a call is as good as its "
									  "header");
		require(for_call->xid == wire::Xid{wire::load_u32(message.first<4>())}, "a message has its XID");
		const auto grant = proto::grant_of(*for_call);
		require(!grant || (header.has_value() && *grant == header->fixed.credits), "a grant is the header's");
	}
	return 0;
}
