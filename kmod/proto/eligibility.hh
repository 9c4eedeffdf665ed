// SPDX-License-Identifier: GPL-2.0-only
/// Which data items of Calls are DDP-eligible: what the Upper Layer Bindings of NFS say (RFC 8267), and that nothing is where
/// RPCSEC_GSS protects the arguments (rfc5666bis-04, 10.2.2.3).
#pragma once

#include <cstdint>

#include "wire/xdr.hh"

namespace rpcordma::proto {

/// Whether an item that is missing from a Call's Payload stream, `at` bytes from its beginning, may be: `payload` is what is
/// left of that without reduced items, a multiple of four in front of `at`. Of an NFSv4 COMPOUND, only the operation that
/// the item belongs to is looked at. No item of a program that has no such binding is eligible.
[[nodiscard]] bool is_eligible(wire::Bytes payload, std::uint32_t at) noexcept;

} // namespace rpcordma::proto
