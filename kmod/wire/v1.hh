// SPDX-License-Identifier: GPL-2.0-only
/// The codec of version 1 (RFC 8166; rfc5666bis-04, 5.1).
#pragma once

#include "wire/header.hh"

namespace rpcordma::wire::v1 {

/// Decodes what follows the fixed fields of all but RDMA_MSG.
/// Errors: unknown_type, truncated, bad_discriminator, bad_count, unknown_error_code.
[[nodiscard]] Result<Body> decode_body(std::uint32_t type, Reader &reader) noexcept;
/// Errors: no_room.
[[nodiscard]] Result<void> encode(const Front &front, Writer &writer) noexcept;

} // namespace rpcordma::wire::v1
