// SPDX-License-Identifier: GPL-2.0-only
/// Whole messages: all header types; and what they are in another version.
#include <algorithm>
#include <optional>

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

std::optional<wire::Direction> direction_in(const wire::Body &body)
{
	const auto *const msg = std::get_if<wire::Msg>(&body);
	return msg ? msg->direction : std::get<wire::NoMsg>(body).direction;
}

bool carries_a_message(const wire::Body &body)
{
	return std::holds_alternative<wire::Msg>(body) || std::holds_alternative<wire::NoMsg>(body);
}

std::vector<std::byte> translated(wire::Bytes message, wire::Version version)
{
	/* One byte more than is needed, or may be. */
	std::vector<std::byte> room(message.size() + wire::xdr_unit + 1);
	const auto size = wire::translate(message, version, room);
	require(size.has_value(), "what carries an RPC message can be translated");
	room.resize(*size);
	std::vector<std::byte> less(*size - 1);
	require(wire::translate(message, version, less) == std::unexpected(wire::Error::no_room), "room is kept to");
	return room;
}

/// The same message in that version, but for what that cannot say.
void require_translation(wire::Bytes message, const wire::Header &header, wire::Version version)
{
	const wire::Version from{header.fixed.version};
	const std::vector<std::byte> other = translated(message, version);
	require(other.size() + wire::front_size(from) == message.size() + wire::front_size(version), "only the front "
												     "of a "
												     "header differs");
	require(std::ranges::equal(std::span(other).subspan(wire::front_size(version)),
				   message.subspan(wire::front_size(from))),
		"chunks and payload are the same");
	const auto again = wire::decode(other);
	require(again.has_value() && again->body.index() == header.body.index(), "a translation is of the same kind");
	require(again->fixed.xid == header.fixed.xid && again->fixed.credits == header.fixed.credits &&
			again->fixed.version == std::to_underlying(version),
		"XID and credits are the same");
	const auto direction = direction_in(header.body).value_or(wire::Direction::call);
	const bool has_direction = version == wire::Version::two;
	require(direction_in(again->body) == (has_direction ? std::optional(direction) : std::nullopt), "the direction "
													"is "
													"the same");
	const bool is_lost = from == wire::Version::two && !has_direction && direction == wire::Direction::reply;
	require(is_lost || std::ranges::equal(translated(other, from), message), "there and back is nowhere");
}

void require_translations(wire::Bytes message)
{
	const auto header = wire::decode(message);
	for (const wire::Version version : {wire::Version::one, wire::Version::two}) {
		if (header && carries_a_message(header->body)) {
			require_translation(message, *header, version);
			continue;
		}
		std::vector<std::byte> room(message.size() + wire::xdr_unit);
		const auto size = wire::translate(message, version, room);
		require(size == std::unexpected(header ? wire::Error::unknown_type : header.error()), "nothing else "
												      "can be "
												      "translated");
	}
}

/// The short way to a message without a chunk finds all of them, and nothing else.
void require_plain(wire::Bytes message, const wire::Result<wire::Header> &header)
{
	wire::Reader reader(message);
	const auto fixed = wire::FixedFields::decode(reader);
	if (!fixed)
		return;
	const auto plain = wire::plain_msg(*fixed, reader);
	const auto *const msg = header ? std::get_if<wire::Msg>(&header->body) : nullptr;
	require(plain.has_value() == (msg && !msg->chunks.any()), "a plain message is one without a chunk");
	if (!plain)
		return;
	require(plain->direction == msg->direction, "a plain message has its direction");
	const bool is_same = plain->payload.data() == msg->payload.data() &&
			     plain->payload.size() == msg->payload.size();
	require(is_same, "a plain message has its payload");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	const wire::Bytes message = std::as_bytes(std::span(data, size));
	const auto header = wire::decode(message);
	require_plain(message, header);
	require_translations(message);
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
