// SPDX-License-Identifier: GPL-2.0-only
#include "wire/xdr.hh"

namespace rpcordma::wire
{

Result<std::uint32_t> Reader::u32() noexcept
{
	const Bytes bytes = TRY(take(xdr_unit));
	return load_u32(bytes.first<xdr_unit>());
}

Result<std::uint64_t> Reader::u64() noexcept
{
	const Bytes bytes = TRY(take(2 * xdr_unit));
	const std::uint64_t high = load_u32(bytes.first<xdr_unit>());
	return high << 32 | load_u32(bytes.last<xdr_unit>());
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

Result<Bytes> Reader::take(std::size_t size) noexcept
{
	if (size > bytes_.size())
		return std::unexpected(Error::truncated);
	const Bytes taken = bytes_.first(size);
	bytes_ = bytes_.subspan(size);
	return taken;
}

Result<void> Writer::u32(std::uint32_t value) noexcept
{
	if (room_.size() < xdr_unit)
		return std::unexpected(Error::no_room);
	for (std::size_t i = 0; i < xdr_unit; ++i)
		room_[i] = static_cast<std::byte>(value >> (24 - 8 * i));
	room_ = room_.subspan(xdr_unit);
	size_ += xdr_unit;
	return {};
}

Result<void> Writer::u64(std::uint64_t value) noexcept
{
	if (room_.size() < 2 * xdr_unit)
		return std::unexpected(Error::no_room);
	TRY(u32(static_cast<std::uint32_t>(value >> 32)));
	return u32(static_cast<std::uint32_t>(value));
}

} // namespace rpcordma::wire
