// SPDX-License-Identifier: GPL-2.0-only
#include "proto/option.hh"

#include <algorithm>

namespace rpcordma::proto {

const OptionalFeature *feature_of(const wire::Optional &message, OptionalFeatures features) noexcept
{
	const auto found = std::find_if(features.begin(), features.end(), [&](const OptionalFeature &feature) {
		return feature.type == message.type && (feature.may_carry_payload || message.payload.empty());
	});
	return found == features.end() ? nullptr : &*found;
}

wire::Result<std::size_t> answer_option(wire::MutableBytes room, const Option &option, std::uint32_t credits) noexcept
{
	if (room.size() < wire::option_info_offset)
		return std::unexpected(wire::Error::no_room);
	const auto size = option.feature->answer(option.xid, option.message, room.subspan(wire::option_info_offset));
	if (!size)
		return wire::encode_error(room, option.xid, RPCRDMA_V2, credits, wire::ChunkError{});
	return wire::encode_option(room, option.xid, credits, wire::Direction::reply, option.feature->type, *size);
}

void tell_of_refusal(wire::Bytes message, OptionalFeatures features) noexcept
{
	const auto header = wire::decode(message);
	if (!header || !std::holds_alternative<wire::OptionError>(header->body))
		return;
	for (const OptionalFeature &feature : features)
		feature.refused(header->fixed.xid);
}

} // namespace rpcordma::proto
