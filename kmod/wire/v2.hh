// SPDX-License-Identifier: GPL-2.0-only
/// The codec of version 2, revision 01 (draft-cel-nfsv4-rpcrdma-version-two-01, 4.2). A later revision is a codec of its own.
/// Where the draft's text and its XDR differ (rpcrdma2_chunks and rpcrdma2_chunk_lists, a direction in rpcrdma2_error), the
/// XDR decides.
#pragma once

#include "wire/header.hh"

namespace rpcordma::wire::v2 {

/// Decodes what stands behind the fixed fields of what carries an RPC message. Errors: truncated, bad_direction.
[[nodiscard]] Result<Direction> decode_direction(Reader &reader) noexcept;
/// Decodes what follows the fixed fields of all but RDMA2_MSG. Errors: unknown_type, truncated, bad_discriminator, bad_count,
/// bad_direction, unknown_error_code.
[[nodiscard]] Result<Body> decode_body(std::uint32_t type, Reader &reader) noexcept;
/// Errors: no_room.
[[nodiscard]] Result<void> encode(const Front &front, Writer &writer) noexcept;

} // namespace rpcordma::wire::v2
