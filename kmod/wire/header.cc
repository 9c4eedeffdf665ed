// SPDX-License-Identifier: GPL-2.0-only
#include "wire/header.hh"

#include <algorithm>

#include "wire/v1.hh"
#include "wire/v2.hh"

namespace rpcordma::wire {
namespace {

/// The one message that can be understood whatever its version.
Result<Body> decode_other_version(const FixedFields &fixed, Reader &reader) noexcept
{
	if (!fixed.is_error() || TRY(reader.u32()) != RPCRDMA_V1_ERR_VERS)
		return std::unexpected(Error::unsupported_version);
	return TRY(VersionError::decode(reader));
}
static_assert(RPCRDMA_V1_ERROR == RPCRDMA_V2_ERROR && RPCRDMA_V1_ERR_VERS == RPCRDMA_V2_ERR_VERS);

Result<void> encode_front(const Front &front, Writer &writer) noexcept
{
	return front.version == Version::one ? v1::encode(front, writer) : v2::encode(front, writer);
}

// Each one function with all that it calls in it: then the writer is in registers.

[[gnu::flatten]] Result<std::size_t> encode_plain(MutableBytes room, const Front &front) noexcept
{
	Writer writer(room);
	TRY(encode_front(front, writer));
	TRY(encode_list_ends(writer));
	return writer.size();
}

template <typename Lists>
[[gnu::flatten]] Result<std::size_t> encode_with_chunks(MutableBytes room, const Front &front,
							const Lists &chunks) noexcept
{
	Writer writer(room);
	TRY(encode_front(front, writer));
	TRY(chunks.encode(writer));
	return writer.size();
}

template <typename Lists>
Result<std::size_t> encode_header(MutableBytes room, const Front &front, const Lists &chunks) noexcept
{
	return chunks.any() ? encode_with_chunks(room, front, chunks) : encode_plain(room, front);
}

/// RDMA_ERROR and its code.
Result<Writer> begin_error(MutableBytes room, const FixedFields &fixed, std::uint32_t code) noexcept
{
	Writer writer(room);
	TRY(fixed.encode(writer));
	TRY(writer.u32(code));
	return writer;
}

} // namespace

Result<VersionError> VersionError::decode(Reader &reader) noexcept
{
	const std::uint32_t low = TRY(reader.u32());
	const std::uint32_t high = TRY(reader.u32());
	return VersionError{low, high};
}

std::optional<Direction> direction_said(const FixedFields &fixed, Reader reader) noexcept
{
	const bool has_direction = fixed.type == RPCRDMA_V2_MSG || fixed.type == RPCRDMA_V2_NOMSG ||
				   fixed.type == RPCRDMA_V2_OPTIONAL;
	if (fixed.version != RPCRDMA_V2 || !has_direction)
		return std::nullopt;
	const auto direction = v2::decode_direction(reader);
	return direction ? std::optional(*direction) : std::nullopt;
}

// For each message with chunks: one function with the lists' decoders in it.
[[gnu::flatten]] Result<Msg> decode_msg(const FixedFields &fixed, Reader reader) noexcept
{
	std::optional<Direction> direction;
	if (fixed.version == RPCRDMA_V2)
		direction = TRY(v2::decode_direction(reader));
	const Chunks chunks = TRY(Chunks::decode(reader));
	return Msg{chunks, reader.rest(), direction};
}

Result<Body> decode_body(const FixedFields &fixed, Reader reader) noexcept
{
	if (is_msg(fixed))
		return TRY(decode_msg(fixed, reader));
	switch (fixed.version) {
	case RPCRDMA_V1:
		return v1::decode_body(fixed.type, reader);
	case RPCRDMA_V2:
		return v2::decode_body(fixed.type, reader);
	default:
		return decode_other_version(fixed, reader);
	}
}

Result<Header> decode(Bytes message) noexcept
{
	Reader reader(message);
	const FixedFields fixed = TRY(FixedFields::decode(reader));
	return Header{fixed, TRY(decode_body(fixed, reader))};
}

Result<std::size_t> encode(MutableBytes room, const Front &front, const ChunksToSend &chunks) noexcept
{
	return encode_header(room, front, chunks);
}

Result<std::size_t> encode(MutableBytes room, const Front &front, const ReturnedChunks &chunks) noexcept
{
	return encode_header(room, front, chunks);
}

Result<std::size_t> translate(Bytes message, Version version, MutableBytes room) noexcept
{
	const Header header = TRY(decode(message));
	const auto *const msg = std::get_if<Msg>(&header.body);
	const auto *const nomsg = std::get_if<NoMsg>(&header.body);
	if (!msg && !nomsg)
		return std::unexpected(Error::unknown_type);
	const Direction direction = (msg ? msg->direction : nomsg->direction).value_or(Direction::call);
	Writer writer(room);
	TRY(encode_front({header.fixed.xid, version, header.fixed.credits, direction, !msg}, writer));
	const Bytes rest = message.subspan(front_size(Version{header.fixed.version}));
	TRY(writer.bytes(rest));
	return writer.size();
}

Result<std::size_t> encode_error(MutableBytes room, Xid xid, std::uint32_t version, std::uint32_t credits,
				 VersionError range) noexcept
{
	Writer writer = TRY(begin_error(room, {xid, version, credits, RPCRDMA_V1_ERROR}, RPCRDMA_V1_ERR_VERS));
	TRY(writer.u32(range.low));
	TRY(writer.u32(range.high));
	return writer.size();
}

Result<std::size_t> encode_error(MutableBytes room, Xid xid, std::uint32_t version, std::uint32_t credits,
				 ChunkError) noexcept
{
	static_assert(RPCRDMA_V1_ERR_CHUNK == RPCRDMA_V2_ERR_BAD_HEADER);
	return TRY(begin_error(room, {xid, version, credits, RPCRDMA_V1_ERROR}, RPCRDMA_V1_ERR_CHUNK)).size();
}

Result<std::size_t> encode_error(MutableBytes room, Xid xid, std::uint32_t credits, OptionError) noexcept
{
	return TRY(begin_error(room, {xid, RPCRDMA_V2, credits, RPCRDMA_V2_ERROR}, RPCRDMA_V2_ERR_INVAL_OPTION)).size();
}

Result<std::size_t> encode_option(MutableBytes room, Xid xid, std::uint32_t credits, Direction direction,
				  std::uint32_t type, std::size_t info_size) noexcept
{
	Writer writer(room);
	const auto front = TRY(writer.take<option_info_offset>());
	store_word<0>(front, std::to_underlying(xid));
	store_word<1>(front, RPCRDMA_V2);
	store_word<2>(front, credits);
	store_word<3>(front, RPCRDMA_V2_OPTIONAL);
	store_word<4>(front, std::to_underlying(direction));
	store_word<5>(front, type);
	store_word<6>(front, static_cast<std::uint32_t>(info_size));
	const MutableBytes rest = room.subspan(writer.size());
	const std::size_t padding = roundup_padding(static_cast<std::uint32_t>(info_size));
	if (rest.size() < padding || rest.size() - padding < info_size)
		return std::unexpected(Error::no_room);
	std::fill_n(rest.begin() + static_cast<std::ptrdiff_t>(info_size), padding, std::byte{0});
	return writer.size() + info_size + padding;
}

} // namespace rpcordma::wire
