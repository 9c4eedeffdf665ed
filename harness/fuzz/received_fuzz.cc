// SPDX-License-Identifier: GPL-2.0-only
/// What a requester makes of a message.
#include <algorithm>

#include "harness/fuzz/require.hh"
#include "proto/received.hh"

using namespace rpcordma;
using fuzz::require;

namespace {

void require_received(wire::Bytes message, wire::Version highest)
{
	const std::size_t size = message.size();
	const proto::Received received = proto::classify_received(message, highest);
	if (const auto *why = std::get_if<proto::Dropped>(&received)) {
		const bool is_error = size >= RPCRDMA_V1_FIXED_SIZE &&
				      wire::load_u32(message.subspan<12, 4>()) == RPCRDMA_V1_ERROR;
		const std::size_t smallest = is_error ? RPCRDMA_V1_FIXED_SIZE : wire::smallest_header;
		require((*why == proto::Dropped::too_short) == (size < smallest), "a message is too short when it "
										  "cannot "
										  "have a whole header");
		require(*why != proto::Dropped::reserved_type || wire::decode(message).has_value(), "a reserved type "
												    "is known by its "
												    "header");
		return;
	}

	const auto header = wire::decode(message);
	if (const auto *refused = std::get_if<proto::Refused>(&received); refused && !header) {
		wire::Reader reader(message);
		const auto fixed = wire::FixedFields::decode(reader);
		require(refused->with == proto::Refusal::malformed && fixed->version == RPCRDMA_V2 &&
				!reader.boolean().value_or(true),
			"what cannot be decoded is refused where version 2 says that it is a Call");
		return;
	}
	require(header.has_value(), "anything else that cannot be decoded is dropped");
	require(!std::holds_alternative<wire::MsgP>(header->body) && !std::holds_alternative<wire::Done>(header->body),
		"a reserved type is dropped");
	require(header->fixed.version <= std::to_underlying(highest) ||
			std::holds_alternative<wire::VersionError>(header->body),
		"a version that is not spoken says which are");
	if (const auto *call = std::get_if<proto::Call>(&received)) {
		require(call->xid == header->fixed.xid && call->credits == header->fixed.credits, "a Call is its "
												  "header's");
		require(header->fixed.version == RPCRDMA_V2 || !call->payload.empty() || !call->chunks.reads.empty(),
			"a Call has a Payload stream somewhere");
		require(call->is_long == (header->fixed.type == RPCRDMA_V1_NOMSG), "a Long Call is RDMA_NOMSG");
	}
	if (const auto *refused = std::get_if<proto::Refused>(&received)) {
		require(refused->with == proto::Refusal::option && header->fixed.type == RPCRDMA_V2_OPTIONAL,
			"an unknown option is refused, and nothing else");
	}
	if (const auto *for_call = std::get_if<proto::ForCall>(&received)) {
		require(for_call->body.index() == header->body.index(), "a message for a call is what its header says");
		require(for_call->xid == header->fixed.xid, "a message has its XID");
		const auto grant = proto::grant_of(*for_call);
		require(!grant || *grant == header->fixed.credits, "a grant is the header's");
		require(!grant || !header->fixed.is_error() || header->fixed.version == RPCRDMA_V2, "an error grants "
												    "nothing but in "
												    "version 2");
	}
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	const wire::Bytes message = std::as_bytes(std::span(data, size));
	require_received(message, wire::Version::one);
	require_received(message, wire::Version::two);
	return 0;
}
