// SPDX-License-Identifier: GPL-2.0-only
/// A number that grows, for whoever looks.
#pragma once

#include <cstdint>

#include "kernel/atomic.hh"

namespace rpcordma::kernel {

/// Its owner says who counts: one context at a time, or under one lock. Others may look. Ordered against nothing.
class Counter {
    public:
	void operator+=(std::uint64_t more) noexcept { write_once(value_, value_ + more); }
	void operator++(int) noexcept { *this += 1; }
	[[nodiscard]] std::uint64_t read() const noexcept { return read_once(value_); }

    private:
	std::uint64_t value_ = 0;
};

} // namespace rpcordma::kernel
