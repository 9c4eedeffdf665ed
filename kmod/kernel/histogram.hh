// SPDX-License-Identifier: GPL-2.0-only
/// How often something took how long.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "kernel/atomic.hh"

namespace rpcordma::kernel {

/// Counts times, in nanoseconds, in intervals that double: below 1024, below 2048, and so on; the last takes the rest. Its owner
/// says who records: one at a time. Others may look, and find no number half-written.
template <std::size_t Size> class Histogram {
    public:
	/// Times below this one are not told from each other.
	static constexpr unsigned finest_bits = 10;

	/// A clock that is behind another processor's is no reason to fail: a negative time counts as none.
	constexpr void record(std::int64_t nanoseconds) noexcept
	{
		const auto time = static_cast<std::uint64_t>(std::max<std::int64_t>(nanoseconds, 0));
		counts_[std::min<std::size_t>(std::bit_width(time >> finest_bits), Size - 1)]++;
		sum_ += time;
	}
	[[nodiscard]] std::array<std::uint64_t, Size> counts() const noexcept
	{
		std::array<std::uint64_t, Size> copy;
		std::ranges::transform(counts_, copy.begin(),
				       [](const std::uint64_t &count) { return read_once(count); });
		return copy;
	}
	/// Of all times.
	[[nodiscard]] std::uint64_t sum() const noexcept { return read_once(sum_); }

    private:
	std::array<std::uint64_t, Size> counts_{};
	std::uint64_t sum_ = 0;
};

} // namespace rpcordma::kernel
