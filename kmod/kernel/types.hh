/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's integer types, as its C headers define them on x86-64: the tables of kernel.hh use them in both
 * languages, and the C compiler checks them there.
 */
#pragma once

#include <cstddef>

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using s32 = int;
using s64 = long long;

using __be32 = u32;

/* The kernel's word for a function that something outside of the compiled source calls: with -fwhole-program the compiler
 * takes all others for its own. */
#if __has_cpp_attribute(gnu::externally_visible)
#define __visible __attribute__((externally_visible))
#else
#define __visible
#endif

using size_t = std::size_t;
using gfp_t = unsigned int;
