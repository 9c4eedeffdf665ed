// SPDX-License-Identifier: GPL-2.0-only
#include "wire/header.hh"

namespace rpcordma::wire {
namespace {

Result<Body> decode_msgp(Reader &reader) noexcept
{
	const std::uint32_t align = TRY(reader.u32());
	const std::uint32_t threshold = TRY(reader.u32());
	const Chunks chunks = TRY(Chunks::decode(reader));
	return MsgP{align, threshold, chunks, reader.rest()};
}

Result<Body> decode_version_error(Reader &reader) noexcept
{
	const std::uint32_t low = TRY(reader.u32());
	const std::uint32_t high = TRY(reader.u32());
	return VersionError{low, high};
}

Result<Body> decode_error(Reader &reader) noexcept
{
	const std::uint32_t code = TRY(reader.u32());
	switch (code) {
	case RPCRDMA_V1_ERR_VERS:
		return decode_version_error(reader);
	case RPCRDMA_V1_ERR_CHUNK:
		return ChunkError{};
	default:
		return std::unexpected(Error::unknown_error_code);
	}
}

/// The one message that can be understood whatever its version: only the ERR_VERS arm of RDMA_ERROR is immutable
/// (rfc5666bis-04, 5.1.3).
Result<Body> decode_other_version(const FixedFields &fixed, Reader &reader) noexcept
{
	if (fixed.type != RPCRDMA_V1_ERROR || TRY(reader.u32()) != RPCRDMA_V1_ERR_VERS)
		return std::unexpected(Error::unsupported_version);
	return decode_version_error(reader);
}

template <typename Lists>
Result<std::size_t> encode_with_chunks(MutableBytes room, const FixedFields &fixed, const Lists &chunks) noexcept
{
	Writer writer(room);
	TRY(fixed.encode(writer));
	TRY(chunks.encode(writer));
	return writer.size();
}

} // namespace

Result<FixedFields> FixedFields::decode(Reader &reader) noexcept
{
	const auto bytes = TRY(reader.take<RPCRDMA_V1_FIXED_SIZE>());
	return FixedFields{
		.xid = Xid{load_word<0>(bytes)},
		.version = load_word<1>(bytes),
		.credits = load_word<2>(bytes),
		.type = load_word<3>(bytes),
	};
}

Result<void> FixedFields::encode(Writer &writer) const noexcept
{
	const auto bytes = TRY(writer.take<RPCRDMA_V1_FIXED_SIZE>());
	store_word<0>(bytes, std::to_underlying(xid));
	store_word<1>(bytes, version);
	store_word<2>(bytes, credits);
	store_word<3>(bytes, type);
	return {};
}

Result<Body> decode_body(const FixedFields &fixed, Reader &reader) noexcept
{
	if (fixed.version != RPCRDMA_V1)
		return decode_other_version(fixed, reader);
	switch (fixed.type) {
	case RPCRDMA_V1_MSG: {
		const Chunks chunks = TRY(Chunks::decode(reader));
		return Msg{chunks, reader.rest()};
	}
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

Result<Header> decode(Bytes message) noexcept
{
	Reader reader(message);
	const FixedFields fixed = TRY(FixedFields::decode(reader));
	return Header{fixed, TRY(decode_body(fixed, reader))};
}

Result<std::size_t> encode_msg(MutableBytes room, Xid xid, std::uint32_t credits, const ChunksToSend &chunks) noexcept
{
	return encode_with_chunks(room, {xid, RPCRDMA_V1, credits, RPCRDMA_V1_MSG}, chunks);
}

Result<std::size_t> encode_nomsg(MutableBytes room, Xid xid, std::uint32_t credits, const ChunksToSend &chunks) noexcept
{
	return encode_with_chunks(room, {xid, RPCRDMA_V1, credits, RPCRDMA_V1_NOMSG}, chunks);
}

Result<std::size_t> encode_returned_msg(MutableBytes room, Xid xid, std::uint32_t credits,
					const ReturnedChunks &chunks) noexcept
{
	return encode_with_chunks(room, {xid, RPCRDMA_V1, credits, RPCRDMA_V1_MSG}, chunks);
}

Result<std::size_t> encode_returned_nomsg(MutableBytes room, Xid xid, std::uint32_t credits,
					  const ReturnedChunks &chunks) noexcept
{
	return encode_with_chunks(room, {xid, RPCRDMA_V1, credits, RPCRDMA_V1_NOMSG}, chunks);
}

Result<std::size_t> encode_error(MutableBytes room, Xid xid, std::uint32_t version, std::uint32_t credits,
				 VersionError range) noexcept
{
	Writer writer(room);
	TRY((FixedFields{xid, version, credits, RPCRDMA_V1_ERROR}.encode(writer)));
	TRY(writer.u32(RPCRDMA_V1_ERR_VERS));
	TRY(writer.u32(range.low));
	TRY(writer.u32(range.high));
	return writer.size();
}

Result<std::size_t> encode_error(MutableBytes room, Xid xid, std::uint32_t version, std::uint32_t credits,
				 ChunkError) noexcept
{
	Writer writer(room);
	TRY((FixedFields{xid, version, credits, RPCRDMA_V1_ERROR}.encode(writer)));
	TRY(writer.u32(RPCRDMA_V1_ERR_CHUNK));
	return writer.size();
}

} // namespace rpcordma::wire
