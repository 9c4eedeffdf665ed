// SPDX-License-Identifier: GPL-2.0-only
#include "wire/v2.hh"

namespace rpcordma::wire::v2 {
namespace {

Result<Body> decode_error(Reader &reader) noexcept
{
	switch (TRY(reader.u32())) {
	case RPCRDMA_V2_ERR_VERS:
		return TRY(VersionError::decode(reader));
	case RPCRDMA_V2_ERR_BAD_HEADER:
		return ChunkError{};
	case RPCRDMA_V2_ERR_INVAL_OPTION:
		return OptionError{};
	default:
		return std::unexpected(Error::unknown_error_code);
	}
}

Result<Body> decode_optional(Reader &reader) noexcept
{
	const Direction direction = TRY(decode_direction(reader));
	const std::uint32_t type = TRY(reader.u32());
	const std::uint32_t size = TRY(reader.u32());
	const auto info = reader.take(size);
	if (!info || !reader.take(roundup_padding(size)))
		return std::unexpected(Error::bad_count);
	return Optional{direction, type, *info, reader.rest()};
}

} // namespace

Result<Direction> decode_direction(Reader &reader) noexcept
{
	const Direction direction{TRY(reader.u32())};
	if (direction != Direction::call && direction != Direction::reply)
		return std::unexpected(Error::bad_direction);
	return direction;
}

Result<Body> decode_body(std::uint32_t type, Reader &reader) noexcept
{
	switch (type) {
	case RPCRDMA_V2_NOMSG: {
		const Direction direction = TRY(decode_direction(reader));
		return NoMsg{TRY(Chunks::decode(reader)), direction};
	}
	case RPCRDMA_V2_ERROR:
		return decode_error(reader);
	case RPCRDMA_V2_OPTIONAL:
		return decode_optional(reader);
	default:
		return std::unexpected(Error::unknown_type);
	}
}

Result<void> encode(const Front &front, Writer &writer) noexcept
{
	const std::uint32_t type = front.is_long ? RPCRDMA_V2_NOMSG : RPCRDMA_V2_MSG;
	TRY((FixedFields{front.xid, RPCRDMA_V2, front.credits, type}.encode(writer)));
	return writer.u32(std::to_underlying(front.direction));
}

} // namespace rpcordma::wire::v2
