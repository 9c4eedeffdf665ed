/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Included before every C++ file of the module: makes the header-only part of libstdc++ usable without a C library.
 * Where libstdc++ would throw or abort, the module reports a bug and traps, in the object at hand.
 */
#ifndef RPCORDMA_FREESTANDING_HH
#define RPCORDMA_FREESTANDING_HH

/* Else <bits/c++config.h> includes <features.h>. */
#define _GLIBCXX_OS_DEFINES 1
#include <bits/c++config.h>

/* While GCC 12's libstdc++ still takes itself for hosted: <bit> and <algorithm> disagree about __int_traits otherwise. */
#include <bit>

/* A hosted libstdc++ only declares what throws: that is defined below. Since GCC 13 a freestanding one defines it, with a
 * call of std::terminate(). */
#undef _GLIBCXX_HOSTED
#define _GLIBCXX_HOSTED 1
#include <bits/functexcept.h>

/* GCC 12 sets this when the library is built, whatever -ffreestanding says. */
#undef _GLIBCXX_HOSTED
#define _GLIBCXX_HOSTED 0
#undef _GLIBCXX_USE_WCHAR_T

#include "kernel/bug.hh"

#undef _GLIBCXX_THROW_OR_ABORT
#define _GLIBCXX_THROW_OR_ABORT(...) (::rpcordma::bug(#__VA_ARGS__))

namespace std {

[[gnu::noreturn, gnu::cold]] inline void __throw_out_of_range_fmt(const char *format, ...)
{
	::rpcordma::bug(format);
}

[[gnu::noreturn, gnu::cold]] inline void __throw_length_error(const char *what)
{
	::rpcordma::bug(what);
}

[[gnu::noreturn, gnu::cold]] inline void __throw_bad_function_call()
{
	::rpcordma::bug("bad_function_call");
}

/* Defined in <variant>. Out of line they would be weak, of which objtool does not believe that they never return. */
[[gnu::always_inline]] inline void __throw_bad_variant_access(const char *what);
[[gnu::always_inline]] inline void __throw_bad_variant_access(bool valueless);

#ifdef _GLIBCXX_ASSERTIONS
[[gnu::noreturn, gnu::cold]] inline void __glibcxx_assert_fail(const char *file, int line, const char *,
							       const char *condition) noexcept
{
	::rpcordma::bug(condition, file, line);
}
#endif

} // namespace std

#endif
