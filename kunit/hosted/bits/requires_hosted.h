/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * libstdc++ from GCC 13 on has this refuse its containers where there is no operating system. What they take of one, the
 * tests have: memory. Some only name what streams are read with.
 */
#pragma once

namespace std {
template <typename> struct char_traits;
template <typename Character, typename = char_traits<Character>> class istreambuf_iterator;
} // namespace std
