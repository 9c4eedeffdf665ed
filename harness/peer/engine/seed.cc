// SPDX-License-Identifier: GPL-2.0-only

#include "engine/seed.hh"

#include <random>

namespace peer {

namespace {

struct Sequence {
	std::uint32_t seed;
	std::uint32_t connections = 0;
};

Sequence &sequence()
{
	static Sequence all = {.seed = std::random_device{}()};
	return all;
}

} // namespace

void set_seed(std::uint32_t seed) noexcept
{
	sequence() = {.seed = seed};
}

std::uint32_t seed()
{
	return sequence().seed;
}

// Not at random for each connection: a server remembers for a while which Calls have cost it a connection.
std::uint32_t first_xid()
{
	constexpr std::uint32_t CALLS = 0x10000;
	// Small seeds are far apart, too.
	constexpr std::uint32_t SPREAD = 0x9e3779b1;
	Sequence &all = sequence();
	return (all.seed * SPREAD & ~(CALLS - 1)) + ++all.connections * CALLS;
}

} // namespace peer
