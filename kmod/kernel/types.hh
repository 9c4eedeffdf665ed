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

using size_t = std::size_t;
using gfp_t = unsigned int;
