// SPDX-License-Identifier: GPL-2.0-only
//
// What both ends say of themselves while they connect (RFC 8797).

#pragma once

#include <optional>

#include "codec/xdr.hh"

namespace peer {

constexpr std::uint32_t DEFAULT_INLINE_THRESHOLD = 1024;

/// The private message of RFC 8797, section 4.
struct PrivateData {
	std::uint32_t send_size = DEFAULT_INLINE_THRESHOLD; // bytes, a multiple of 1024 up to 262144
	std::uint32_t receive_size = DEFAULT_INLINE_THRESHOLD;
	bool remote_invalidation = false; // the R flag
	std::uint8_t reserved = 0; // flags that are to be zero, of what was received

	bool operator==(const PrivateData &) const = default;
};

/// The message's eight bytes.
[[nodiscard]] Bytes encode(const PrivateData &data);

/// Looks for the message in CM private data, at any offset (section 5.2). Nothing where it is not there: then the
/// defaults are in force.
[[nodiscard]] std::optional<PrivateData> find_private_data(ByteView received);

} // namespace peer
