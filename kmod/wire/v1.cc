// SPDX-License-Identifier: GPL-2.0-only
#include "wire/v1.hh"

namespace rpcordma::wire::v1 {
namespace {

Result<Body> decode_msgp(Reader &reader) noexcept
{
	const std::uint32_t align = TRY(reader.u32());
	const std::uint32_t threshold = TRY(reader.u32());
	const Chunks chunks = TRY(Chunks::decode(reader));
	return MsgP{align, threshold, chunks, reader.rest()};
}

Result<Body> decode_error(Reader &reader) noexcept
{
	switch (TRY(reader.u32())) {
	case RPCRDMA_V1_ERR_VERS:
		return TRY(VersionError::decode(reader));
	case RPCRDMA_V1_ERR_CHUNK:
		return ChunkError{};
	default:
		return std::unexpected(Error::unknown_error_code);
	}
}

} // namespace

Result<Body> decode_body(std::uint32_t type, Reader &reader) noexcept
{
	switch (type) {
	case RPCRDMA_V1_NOMSG:
		return NoMsg{TRY(Chunks::decode(reader))};
	case RPCRDMA_V1_MSGP:
		return decode_msgp(reader);
	case RPCRDMA_V1_DONE:
		return Done{};
	case RPCRDMA_V1_ERROR:
		return decode_error(reader);
	default:
		return std::unexpected(Error::unknown_type);
	}
}

Result<void> encode(const Front &front, Writer &writer) noexcept
{
	const std::uint32_t type = front.is_long ? RPCRDMA_V1_NOMSG : RPCRDMA_V1_MSG;
	return FixedFields{front.xid, RPCRDMA_V1, front.credits, type}.encode(writer);
}

} // namespace rpcordma::wire::v1
