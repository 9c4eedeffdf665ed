// SPDX-License-Identifier: GPL-2.0-only
/// Words that two contexts share without a lock, under the kernel's memory model (Documentation/memory-barriers.txt and
/// atomic_t.txt there), not that of C++. C code of the kernel's shares memory with ours, so operations have its names and strengths:
/// read_once(), set() (WRITE_ONCE) and what is called relaxed order nothing, acquire and release order one way, and whatever else
/// returns a value is a full barrier before and after itself. Needs nothing of the kernel: unit tests run it on any machine.
#pragma once

#include <type_traits>

namespace rpcordma::kernel {

/// A full barrier: smp_mb(). Also between processors and, as all barriers here, for KCSAN.
inline void smp_mb() noexcept
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/// A full barrier behind an atomic operation of the kernel's that orders nothing by itself, such as set_bit():
/// smp_mb__after_atomic(). On x86 such an operation is one already.
inline void smp_mb_after_atomic() noexcept
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
	asm volatile("" ::: "memory");
#else
	smp_mb();
#endif
}

/// READ_ONCE(): what depends on the address that was read comes after it.
template <typename T> [[nodiscard]] inline T read_once(const T &value) noexcept
{
	static_assert(std::is_scalar_v<T>);
	return const_cast<const volatile T &>(value);
}

/// WRITE_ONCE().
template <typename T> inline void write_once(T &word, std::type_identity_t<T> value) noexcept
{
	static_assert(std::is_scalar_v<T>);
	const_cast<volatile T &>(word) = value;
}

/// The machine's read-modify-write instructions, as full barriers: `operation` takes the order of C++ that it has to have. What is
/// called sequentially consistent there is a full barrier on x86. On arm64 what follows may be done before what it stores; the
/// kernel's own operations there are a release and a barrier behind it.
template <typename Operation> inline auto fully_ordered(Operation operation) noexcept
{
#ifdef __x86_64__
	return operation(std::integral_constant<int, __ATOMIC_SEQ_CST>{});
#else
	const auto result = operation(std::integral_constant<int, __ATOMIC_RELEASE>{});
	smp_mb();
	return result;
#endif
}

/// Stores `value` where `expected` stands: cmpxchg(). Return: whether it did; a full barrier if so.
template <typename T> [[nodiscard]] inline bool cmpxchg(T &word, T expected, T value) noexcept
{
	return fully_ordered([&](auto order) {
		return __atomic_compare_exchange_n(&word, &expected, value, false, order, __ATOMIC_RELAXED);
	});
}

/// A word of up to eight bytes. Whoever declares one says what its accesses are ordered against. Any context.
template <typename T> class Atomic {
    public:
	static_assert(std::is_scalar_v<T>);

	constexpr Atomic() = default;
	constexpr explicit Atomic(T value) noexcept
		: value_(value)
	{
	}
	Atomic(const Atomic &) = delete;
	Atomic &operator=(const Atomic &) = delete;

	/// READ_ONCE() and WRITE_ONCE().
	[[nodiscard]] T read() const noexcept { return read_once(value_); }
	void set(T value) noexcept { write_once(value_, value); }

	/// smp_load_acquire(): what comes behind it is done after it.
	[[nodiscard]] T load_acquire() const noexcept { return __atomic_load_n(&value_, __ATOMIC_ACQUIRE); }
	/// smp_store_release(): what stands before it is done before it.
	void store_release(T value) noexcept { __atomic_store_n(&value_, value, __ATOMIC_RELEASE); }

	/// atomic_xchg(), a full barrier. Returns what was there.
	T xchg(T value) noexcept
	{
		return fully_ordered([&](auto order) { return __atomic_exchange_n(&value_, value, order); });
	}
	/// As the function above.
	[[nodiscard]] bool cmpxchg(T expected, T value) noexcept { return kernel::cmpxchg(value_, expected, value); }
	/// atomic_fetch_add() and atomic_fetch_sub(), full barriers. Return what was there.
	T fetch_add(T value) noexcept
	{
		return fully_ordered([&](auto order) { return __atomic_fetch_add(&value_, value, order); });
	}
	T fetch_sub(T value) noexcept
	{
		return fully_ordered([&](auto order) { return __atomic_fetch_sub(&value_, value, order); });
	}
	/// atomic_fetch_add_relaxed().
	T fetch_add_relaxed(T value) noexcept { return __atomic_fetch_add(&value_, value, __ATOMIC_RELAXED); }
	/// atomic_add() and atomic_sub(), which order nothing.
	void add(T value) noexcept { (void)fetch_add_relaxed(value); }
	void sub(T value) noexcept { (void)__atomic_fetch_sub(&value_, value, __ATOMIC_RELAXED); }

    private:
	T value_{};
};

} // namespace rpcordma::kernel
