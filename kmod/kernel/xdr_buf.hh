/* SPDX-License-Identifier: GPL-2.0-only */
/* Copies to and from an xdr_buf. sunrpc's own functions take head, pages and tail apart first, where in most messages the head
 * has all. */
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernel/kernel.hh"

namespace rpcordma::kernel {

/* Copies what begins `offset` bytes into the buffer, which has that much and as much as `to` holds behind it. */
inline void copy_out(const xdr_buf &buffer, std::uint32_t offset, std::span<std::byte> to) noexcept
{
	const auto *const head = static_cast<const std::byte *>(field::xdr_buf::head(&buffer));
	if (offset + to.size() <= field::xdr_buf::head_length(&buffer)) [[likely]]
		__builtin_memcpy(to.data(), head + offset, to.size());
	else
		read_bytes_from_xdr_buf(&buffer, offset, to.data(), static_cast<unsigned int>(to.size()));
}

/* Copies to the buffer's beginning; the buffer has as much room. */
inline void copy_in(xdr_buf &buffer, std::span<const std::byte> from) noexcept
{
	if (from.size() <= field::xdr_buf::head_length(&buffer)) [[likely]]
		__builtin_memcpy(field::xdr_buf::head(&buffer), from.data(), from.size());
	else
		write_bytes_to_xdr_buf(&buffer, 0, const_cast<std::byte *>(from.data()),
				       static_cast<unsigned int>(from.size()));
}

} // namespace rpcordma::kernel
