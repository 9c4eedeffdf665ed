// SPDX-License-Identifier: GPL-2.0-only

#include "engine/option.hh"

#include <algorithm>

namespace peer {

namespace {

// The data in the other order; those that begin with 255 are not well-formed.
Bytes mirrored(ByteView info)
{
	if (!info.empty() && info.front() == 0xff)
		throw Malformed("rdma_optinfo begins with 255");
	return {info.rbegin(), info.rend()};
}

// No specification has defined a feature. This one is for tests of what carries them.
constexpr Feature ALL[] = {
	{.name = "mirror", .type = 0x4d495252, .may_have_payload = false, .answer = mirrored},
};

// A feature without the Payload stream that follows is not supported with one (3.3).
const Feature *feature_of(const Decoded &message, const Features &features) noexcept
{
	const auto found = std::find_if(features.begin(), features.end(), [&](const Feature *feature) {
		return feature->type == message.header.option && (feature->may_have_payload || message.payload.empty());
	});
	return found == features.end() ? nullptr : *found;
}

} // namespace

const Feature *feature_called(std::string_view name) noexcept
{
	const auto *const found = std::find_if(std::begin(ALL), std::end(ALL),
					       [&](const Feature &feature) { return feature.name == name; });
	return found == std::end(ALL) ? nullptr : found;
}

std::optional<Header> answer_to_option(const Decoded &message, const Features &features)
{
	const Header &asked = message.header;
	if (asked.version != VERSION_2 || asked.type != RDMA2_OPTIONAL || asked.direction != DIRECTION_CALL)
		return std::nullopt;
	Header answer;
	answer.xid = asked.xid;
	answer.version = asked.version;
	answer.direction = DIRECTION_REPLY;
	answer.type = RDMA_ERROR;
	answer.error = ERR_INVAL_OPTION;
	const Feature *const feature = feature_of(message, features);
	if (!feature)
		return answer;
	try {
		answer.option_info = feature->answer(asked.option_info);
		answer.option = feature->type;
		answer.type = RDMA2_OPTIONAL;
	} catch (const Malformed &) {
		answer.error = ERR_BAD_HEADER;
	}
	return answer;
}

} // namespace peer
