// SPDX-License-Identifier: GPL-2.0-only

#include "fuzz/dice.hh"

#include <array>

namespace peer {

std::uint32_t Dice::telling_word()
{
	constexpr std::array<std::uint32_t, 12> LIMITS = {
		0x7f, 0x80, 0xff, 0x100, 0x3ff, 0x400, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xfffffffc, 0xffffffff};
	constexpr std::size_t SMALL = 20;
	switch (below(3)) {
	case 0:
		return static_cast<std::uint32_t>(below(SMALL));
	case 1:
		return one_of(LIMITS);
	default:
		return word();
	}
}

} // namespace peer
