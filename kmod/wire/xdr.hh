// SPDX-License-Identifier: GPL-2.0-only
/// XDR cursors (RFC 4506) over bytes that somebody else owns. Neither ever touches a byte outside its span.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "wire/result.hh"

namespace rpcordma::wire {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

/// The size of every XDR unit, in bytes.
inline constexpr std::size_t xdr_unit = 4;

/// The number of roundup bytes that follow an item of `size` bytes (RFC 8166, 2.2.4.2): 0 to 3.
[[nodiscard]] constexpr std::uint32_t roundup_padding(std::uint32_t size) noexcept
{
	return (0u - size) & 3u;
}

/// The size of an item with its roundup bytes. `size` is below 2^64 - 3.
[[nodiscard]] constexpr std::uint64_t rounded_up(std::uint64_t size) noexcept
{
	return (size + (xdr_unit - 1)) & ~std::uint64_t{xdr_unit - 1};
}

/// An unsigned integer and an unsigned hyper as they stand on the wire (RFC 4506, 4.2 and 4.5), for bytes that are known
/// to be there.
[[nodiscard]] constexpr std::uint32_t load_u32(std::span<const std::byte, xdr_unit> bytes) noexcept
{
	// Written out, this is one load; compilers make a loop of a loop.
	return std::to_integer<std::uint32_t>(bytes[0]) << 24 | std::to_integer<std::uint32_t>(bytes[1]) << 16 |
	       std::to_integer<std::uint32_t>(bytes[2]) << 8 | std::to_integer<std::uint32_t>(bytes[3]);
}

[[nodiscard]] constexpr std::uint64_t load_u64(std::span<const std::byte, 2 * xdr_unit> bytes) noexcept
{
	return std::uint64_t{load_u32(bytes.first<xdr_unit>())} << 32 | load_u32(bytes.last<xdr_unit>());
}

/// The `n`-th of unsigned integers that follow each other, from zero on.
template <std::size_t n, std::size_t size>
[[nodiscard]] constexpr std::uint32_t load_word(std::span<const std::byte, size> bytes) noexcept
{
	return load_u32(bytes.template subspan<n * xdr_unit, xdr_unit>());
}

/// The other way.
constexpr void store_u32(std::span<std::byte, xdr_unit> bytes, std::uint32_t value) noexcept
{
	bytes[0] = static_cast<std::byte>(value >> 24);
	bytes[1] = static_cast<std::byte>(value >> 16);
	bytes[2] = static_cast<std::byte>(value >> 8);
	bytes[3] = static_cast<std::byte>(value);
}

constexpr void store_u64(std::span<std::byte, 2 * xdr_unit> bytes, std::uint64_t value) noexcept
{
	store_u32(bytes.first<xdr_unit>(), static_cast<std::uint32_t>(value >> 32));
	store_u32(bytes.last<xdr_unit>(), static_cast<std::uint32_t>(value));
}

template <std::size_t n, std::size_t size>
constexpr void store_word(std::span<std::byte, size> bytes, std::uint32_t value) noexcept
{
	store_u32(bytes.template subspan<n * xdr_unit, xdr_unit>(), value);
}

/// Whether one of the unsigned integers in a span has that value.
[[nodiscard]] constexpr bool has_word(Bytes bytes, std::uint32_t value) noexcept
{
	bool found = false;
	for (constexpr std::size_t four = 4 * xdr_unit; bytes.size() >= four; bytes = bytes.subspan(four)) {
		const auto words = bytes.first<four>();
		found |= load_word<0>(words) == value || load_word<1>(words) == value || load_word<2>(words) == value ||
			 load_word<3>(words) == value;
	}
	for (; bytes.size() >= xdr_unit; bytes = bytes.subspan(xdr_unit))
		found |= load_u32(bytes.first<xdr_unit>()) == value;
	return found;
}

/// Reads XDR items from the front of a span. A failed read leaves the cursor where it was.
class Reader {
    public:
	constexpr explicit Reader(Bytes bytes) noexcept
		: bytes_(bytes)
	{
	}

	/// The next unsigned integer. Errors: truncated.
	[[nodiscard]] Result<std::uint32_t> u32() noexcept;
	/// The next boolean, or the discriminator of optional-data. Errors: truncated, bad_discriminator.
	[[nodiscard]] Result<bool> boolean() noexcept;
	/// The next `size` bytes, without roundup. Errors: truncated.
	[[nodiscard]] Result<Bytes> take(std::size_t size) noexcept;
	template <std::size_t size> [[nodiscard]] Result<std::span<const std::byte, size>> take() noexcept
	{
		return TRY(take(size)).template first<size>();
	}
	/// All that has not been read.
	[[nodiscard]] constexpr Bytes rest() const noexcept { return bytes_; }

    private:
	Bytes bytes_;
};

/// Writes XDR items to the front of a span. A failed write leaves the cursor where it was.
class Writer {
    public:
	constexpr explicit Writer(MutableBytes room) noexcept
		: room_(room)
	{
	}

	/// Errors: no_room.
	[[nodiscard]] Result<void> u32(std::uint32_t value) noexcept;
	/// Room for items of `size` bytes together, which the caller writes. Errors: no_room.
	template <std::size_t size> [[nodiscard]] Result<std::span<std::byte, size>> take() noexcept;
	/// Items that are encoded already. Errors: no_room.
	[[nodiscard]] Result<void> bytes(Bytes items) noexcept;
	/// The number of bytes written.
	[[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }

    private:
	MutableBytes room_;
	std::size_t size_ = 0;
};

// In every message by the dozen: not worth a call each.

inline Result<Bytes> Reader::take(std::size_t size) noexcept
{
	if (size > bytes_.size()) [[unlikely]]
		return std::unexpected(Error::truncated);
	const Bytes taken = bytes_.first(size);
	bytes_ = bytes_.subspan(size);
	return taken;
}

inline Result<std::uint32_t> Reader::u32() noexcept
{
	return load_u32(TRY(take<xdr_unit>()));
}

inline Result<bool> Reader::boolean() noexcept
{
	if (bytes_.size() < xdr_unit) [[unlikely]]
		return std::unexpected(Error::truncated);
	const std::uint32_t value = load_u32(bytes_.first<xdr_unit>());
	if (value > 1) [[unlikely]]
		return std::unexpected(Error::bad_discriminator);
	bytes_ = bytes_.subspan(xdr_unit);
	return value == 1;
}

template <std::size_t size> inline Result<std::span<std::byte, size>> Writer::take() noexcept
{
	if (size > room_.size()) [[unlikely]]
		return std::unexpected(Error::no_room);
	const auto taken = room_.first<size>();
	room_ = room_.subspan(size);
	size_ += size;
	return taken;
}

inline Result<void> Writer::bytes(Bytes items) noexcept
{
	if (items.size() > room_.size())
		return std::unexpected(Error::no_room);
	std::copy(items.begin(), items.end(), room_.begin());
	room_ = room_.subspan(items.size());
	size_ += items.size();
	return {};
}

inline Result<void> Writer::u32(std::uint32_t value) noexcept
{
	store_u32(TRY(take<xdr_unit>()), value);
	return {};
}

} // namespace rpcordma::wire
