// SPDX-License-Identifier: GPL-2.0-only
//
// What a fuzzer chooses by: a seed's numbers, which are the same in each run.

#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

namespace peer {

class Dice {
    public:
	explicit Dice(std::uint64_t seed)
		: numbers_(seed)
	{
	}

	/// From 0 to @limit - 1; @limit is at least 1.
	[[nodiscard]] std::size_t below(std::size_t limit) { return numbers_() % limit; }
	/// True once in @times, which is at least 1.
	[[nodiscard]] bool one_in(std::size_t times) { return below(times) == 0; }
	[[nodiscard]] std::uint32_t word() { return static_cast<std::uint32_t>(numbers_()); }
	/// One that decoders have to think of: small, near the end of a range of numbers, or any other.
	[[nodiscard]] std::uint32_t telling_word();
	/// One of a container's elements; the container is not empty.
	[[nodiscard]] auto &one_of(auto &choices) { return choices[below(choices.size())]; }

    private:
	// Its numbers are the same with each library; those of the library's distributions are not.
	std::mt19937_64 numbers_;
};

} // namespace peer
