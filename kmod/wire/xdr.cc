// SPDX-License-Identifier: GPL-2.0-only
#include "wire/xdr.hh"

namespace rpcordma::wire {

Result<std::uint64_t> Reader::u64() noexcept
{
	const Bytes bytes = TRY(take(2 * xdr_unit));
	return load_u64(bytes.first<2 * xdr_unit>());
}

Result<bool> Reader::boolean() noexcept
{
	const Bytes before = bytes_;
	const std::uint32_t value = TRY(u32());
	if (value > 1) {
		bytes_ = before;
		return std::unexpected(Error::bad_discriminator);
	}
	return value == 1;
}

Result<void> Writer::u64(std::uint64_t value) noexcept
{
	const MutableBytes bytes = TRY(take(2 * xdr_unit));
	store_u32(bytes.first<xdr_unit>(), static_cast<std::uint32_t>(value >> 32));
	store_u32(bytes.last<xdr_unit>(), static_cast<std::uint32_t>(value));
	return {};
}

} // namespace rpcordma::wire
