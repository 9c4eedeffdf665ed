// SPDX-License-Identifier: GPL-2.0-only
/// Errors are values: a function that can fail returns a Result, and TRY hands an error on.
#pragma once

#include <cstdint>
#include <expected>

namespace rpcordma::wire {

/// Why bytes are not what they should be.
enum class Error : std::uint8_t {
	/// The bytes end before the item does.
	truncated,
	/// rdma_vers is not one that the decoder knows.
	unsupported_version,
	/// rdma_proc is none of the version's header types.
	unknown_type,
	/// An XDR optional-data discriminator or boolean is neither 0 nor 1 (RFC 4506, 4.4 and 4.19).
	bad_discriminator,
	/// A counted array says that it has more elements than bytes are left for.
	bad_count,
	/// rdma_direction or rdma_optdir is neither CALL nor REPLY.
	bad_direction,
	/// rdma_err is none of the version's error codes.
	unknown_error_code,
	/// The output has no room for the item.
	no_room,
};

template <typename T> using Result = std::expected<T, Error>;

} // namespace rpcordma::wire

/// The value of a Result-like expression; where it holds an error, the calling function returns that error.
#define TRY(expression)                                             \
	__extension__({                                             \
		auto &&try_result = (expression);                   \
		if (!try_result) [[unlikely]]                       \
			return std::unexpected(try_result.error()); \
		*std::move(try_result);                             \
	})
