/* SPDX-License-Identifier: GPL-2.0-only */
/* Included before every C++ file of the tests: what std::vector and its like throw without memory. They have all there is. */
#pragma once

#include "kernel/bug.hh"

namespace std {

/* Out of line objtool would not believe that they never return. */
[[gnu::noreturn, gnu::cold, gnu::always_inline]] inline void __throw_bad_alloc()
{
	::rpcordma::bug("bad_alloc");
}

[[gnu::noreturn, gnu::cold, gnu::always_inline]] inline void __throw_bad_array_new_length()
{
	::rpcordma::bug("bad_array_new_length");
}

} // namespace std
