/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's interface as C++ sees it.
 *
 * Kernel headers cannot be included from C++. Five tables name what the module uses of them. kmod/glue/layout.c
 * compiles the tables as C against the real headers: a type, prototype or name that does not agree is a compile error
 * there, and offsets, sizes and values come out in <kernel/layout.h>. This header compiles the same tables as C++.
 *
 * functions.def   FUNCTION(ret, name, (parameters))
 *                 Declares ::name. For real functions only: what is a macro or a static inline in this or that kernel
 *                 needs a function in glue (rpcordma_...).
 *
 * inlines.def     INLINE(ret, name, (parameters), body)
 *                 Such a function, where its body is no more than the macro or the inline function: kernel/glue.h
 *                 declares it, kmod/glue/inlines.c compiles it.
 *
 * constants.def   CONSTANT(name) or CONSTANT(name, expression)
 *                 rpcordma::kernel::name, with the type of the expression in C: kernel::EIO, kernel::GFP_KERNEL.
 *
 * sizes.def       SIZE(tag)
 *                 Makes Opaque<tag> a complete type: zeroed storage for a struct tag inside a C++ object or on the
 *                 stack.   Opaque<work_struct> work;   rpcordma_queue_work(work.get());
 *                 owner_of(&Connection::work, pointer) is the object that holds it (container_of), and
 *                 nth(pointer, n) steps through an array of such structs.
 *
 * fields.def      FIELD(tag, type, member) or FIELD(tag, type, member, name)
 *                 rpcordma::kernel::field::tag::name(pointer) is a reference to the member, const if the pointee is.
 *                     field::rpc_xprt::timeout(xprt) = &timeouts;
 *                 member may be nested or in an anonymous union; one that is nested (ex.imm_data) needs a name. Arrays
 *                 (u8[16]), functions (int (*)(struct x *)) and structs (struct y) are types like any other; an enum
 *                 is written as the integer that it is, unsigned int in general. Bit-fields need glue.
 *
 * A struct tag is always written "struct tag" in the tables. Accesses are plain: use read_once() and cmpxchg() on the reference,
 * or glue, where the kernel's C would say READ_ONCE.
 */
#pragma once

#include <bit>
#include <cstddef>
#include <type_traits>

/* For a large object on the way of each message that is initialised in all of its parts: kernels have the compiler zero it before,
 * which takes longer than some initialisations do. */
#define RPCORDMA_NOT_ZEROED __attribute__((uninitialized))

#include <kernel/layout.h>

#include "kernel/types.hh"

/* At global scope, so that a struct first named in a table is the kernel's and not one of a namespace of ours. */
#define FUNCTION(ret, name, parameters) extern "C" ret name parameters;
#include "kernel/functions.def"
#undef FUNCTION

#define FIRST(first, ...) first
#define FIELD_TYPE(tag, type, name) \
	struct tag;                 \
	using rpcordma_type_##tag##_##name = type;
#define EXPAND(macro, ...) macro(__VA_ARGS__)
#define FIELD(tag, type, member, ...) EXPAND(FIELD_TYPE, tag, type, FIRST(__VA_ARGS__ __VA_OPT__(, ) member, ))
#include "kernel/fields.def"
#undef FIELD

#define SIZE(tag) struct tag;
#include "kernel/sizes.def"
#undef SIZE

namespace rpcordma::kernel {

/* The size and alignment of a struct of the kernel's: defined for those in sizes.def. */
template <typename T> struct Layout;

#define SIZE(tag)                                                              \
	template <> struct Layout<::tag> {                                     \
		static constexpr std::size_t size = RPCORDMA_SIZE_##tag;       \
		static constexpr std::size_t alignment = RPCORDMA_ALIGN_##tag; \
	};
#include "kernel/sizes.def"
#undef SIZE

/* Room for one T, which stays where it is: the kernel keeps pointers into its structs. */
template <typename T> class Opaque {
    public:
	constexpr Opaque() = default;
	~Opaque() = default;
	Opaque(const Opaque &) = delete;
	Opaque &operator=(const Opaque &) = delete;

	T *get() noexcept { return reinterpret_cast<T *>(bytes); }

	const T *get() const noexcept { return reinterpret_cast<const T *>(bytes); }

    private:
	alignas(Layout<T>::alignment) std::byte bytes[Layout<T>::size]{};
};

/* The object whose Opaque member is at the given address. */
template <typename T, typename Owner> Owner *owner_of(Opaque<T> Owner::*member, T *address) noexcept
{
	/* The value of a pointer to a data member is its offset (Itanium C++ ABI, 2.3.1). */
	return reinterpret_cast<Owner *>(reinterpret_cast<char *>(address) - std::bit_cast<std::ptrdiff_t>(member));
}

/* The n-th of an array of the kernel's structs. */
template <typename T> T *nth(T *array, std::size_t n) noexcept
{
	using Bytes = std::conditional_t<std::is_const_v<T>, const char, char>;
	return reinterpret_cast<T *>(reinterpret_cast<Bytes *>(array) + n * Layout<std::remove_const_t<T>>::size);
}

/* An integer type by its size in bytes, negative for the signed ones: those that constants have. */
template <int Size> struct IntegerOfSize;
template <> struct IntegerOfSize<4> : std::type_identity<u32> {
};
template <> struct IntegerOfSize<8> : std::type_identity<u64> {
};
template <> struct IntegerOfSize<-4> : std::type_identity<s32> {
};
template <> struct IntegerOfSize<-8> : std::type_identity<s64> {
};

#define CONSTANT(name, ...)          \
	inline constexpr auto name = \
		static_cast<typename IntegerOfSize<RPCORDMA_KIND_##name>::type>(RPCORDMA_VALUE_##name);
#include "kernel/constants.def"
#undef CONSTANT

#define FIELD_ACCESSORS(tag, name)                                                                                   \
	namespace field::tag {                                                                                       \
	inline auto &name(::tag *object) noexcept                                                                    \
	{                                                                                                            \
		using Type = ::rpcordma_type_##tag##_##name;                                                         \
		return *reinterpret_cast<Type *>(reinterpret_cast<char *>(object) + RPCORDMA_OFFSET_##tag##_##name); \
	}                                                                                                            \
	inline auto &name(const ::tag *object) noexcept                                                              \
	{                                                                                                            \
		using Type = const ::rpcordma_type_##tag##_##name;                                                   \
		return *reinterpret_cast<Type *>(reinterpret_cast<const char *>(object) +                            \
						 RPCORDMA_OFFSET_##tag##_##name);                                    \
	}                                                                                                            \
	}
#define FIELD(tag, type, member, ...) EXPAND(FIELD_ACCESSORS, tag, FIRST(__VA_ARGS__ __VA_OPT__(, ) member, ))
#include "kernel/fields.def"
#undef FIELD

#undef FIELD_ACCESSORS
#undef FIELD_TYPE
#undef EXPAND
#undef FIRST

} // namespace rpcordma::kernel
