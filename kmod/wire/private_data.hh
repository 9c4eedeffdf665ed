// SPDX-License-Identifier: GPL-2.0-only
/// CM private data of version 1 (RFC 8797).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "uapi/rpcrdma_v1.h"
#include "wire/xdr.hh"

namespace rpcordma::wire {

/// What a peer says of itself when a connection is set up. As constructed: what a peer that says nothing supports
/// (RFC 8797, 5.1).
struct PrivateData {
	/// The largest message that this peer sends, in bytes: a multiple of 1024 from 1024 to 262144.
	std::uint32_t send_size = RPCRDMA_V1_DEFAULT_INLINE;
	/// The largest message that this peer receives, in bytes: a multiple of 1024 from 1024 to 262144.
	std::uint32_t receive_size = RPCRDMA_V1_DEFAULT_INLINE;
	/// This peer's handles may all be invalidated remotely, and it can invalidate others' (the R field).
	bool remote_invalidation = false;

	friend bool operator==(const PrivateData &, const PrivateData &) = default;

	/// Sizes are rounded down to a multiple of 1024 and kept within the range above.
	[[nodiscard]] std::array<std::byte, RPCRDMA_CM_SIZE> encode() const noexcept;

	/// Finds the format identifier at any offset of what the CM delivered (RFC 8797, 5.2), and checks the format's
	/// version and that the whole of it is there; the first place that passes is taken. None where it is absent or bad.
	[[nodiscard]] static std::optional<PrivateData> find(Bytes received) noexcept;
	/// What holds for a peer that sent this: absent or bad private data gives the defaults.
	[[nodiscard]] static PrivateData decode(Bytes received) noexcept
	{
		return find(received).value_or(PrivateData{});
	}
};

} // namespace rpcordma::wire
