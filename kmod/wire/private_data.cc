// SPDX-License-Identifier: GPL-2.0-only
#include "wire/private_data.hh"

#include <algorithm>

namespace rpcordma::wire {
namespace {

/// Sizes are counted in units of 1024 bytes, of which one is implied (RFC 8797, 4.2).
constexpr std::uint32_t size_unit = 1024;
constexpr std::uint32_t largest_size = 256 * size_unit;

constexpr std::byte encode_size(std::uint32_t size) noexcept
{
	return static_cast<std::byte>(std::clamp(size, size_unit, largest_size) / size_unit - 1);
}

constexpr std::uint32_t decode_size(std::byte encoded) noexcept
{
	return (std::to_integer<std::uint32_t>(encoded) + 1) * size_unit;
}

static_assert(decode_size(std::byte{0}) == RPCRDMA_V1_DEFAULT_INLINE);
static_assert(decode_size(std::byte{255}) == largest_size);

using Candidate = std::span<const std::byte, RPCRDMA_CM_SIZE>;

constexpr bool is_private_data(Candidate bytes) noexcept
{
	return load_u32(bytes.first<xdr_unit>()) == RPCRDMA_CM_MAGIC &&
	       std::to_integer<std::uint32_t>(bytes[4]) == RPCRDMA_CM_VERSION;
}

} // namespace

std::array<std::byte, RPCRDMA_CM_SIZE> PrivateData::encode() const noexcept
{
	const std::uint32_t flags = remote_invalidation ? RPCRDMA_CM_FLAG_REMOTE_INVALIDATION : 0;
	std::array<std::byte, RPCRDMA_CM_SIZE> bytes;
	store_u32(std::span(bytes).first<xdr_unit>(), RPCRDMA_CM_MAGIC);
	bytes[4] = std::byte{RPCRDMA_CM_VERSION};
	bytes[5] = static_cast<std::byte>(flags);
	bytes[6] = encode_size(send_size);
	bytes[7] = encode_size(receive_size);
	return bytes;
}

std::optional<PrivateData> PrivateData::find(Bytes received) noexcept
{
	for (; received.size() >= RPCRDMA_CM_SIZE; received = received.subspan(1)) {
		const Candidate bytes = received.first<RPCRDMA_CM_SIZE>();
		if (!is_private_data(bytes))
			continue;
		const std::uint32_t flags = std::to_integer<std::uint32_t>(bytes[5]);
		return PrivateData{
			.send_size = decode_size(bytes[6]),
			.receive_size = decode_size(bytes[7]),
			.remote_invalidation = (flags & RPCRDMA_CM_FLAG_REMOTE_INVALIDATION) != 0,
		};
	}
	return std::nullopt;
}

} // namespace rpcordma::wire
