/* SPDX-License-Identifier: GPL-2.0-only */
/* Objects and buffers in the kernel's memory. A failed allocation is a null pointer, never more. */
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "kernel/glue.h"

namespace rpcordma::kernel {

/* A base of what is made with new: there is no global operator new. */
struct Heap {
	static void *operator new(std::size_t size, gfp_t gfp) noexcept { return rpcordma_alloc(size, gfp); }
	/* Near to the device that works with it. */
	static void *operator new(std::size_t size, gfp_t gfp, ib_device *device) noexcept
	{
		return rpcordma_alloc_near(device, size, gfp);
	}
	static void operator delete(void *memory) noexcept { kfree(memory); }
	static void operator delete(void *memory, gfp_t) noexcept { kfree(memory); }
	static void operator delete(void *memory, gfp_t, ib_device *) noexcept { kfree(memory); }
};

/* The only owner of an object made with new, or of none. */
template <typename T> class Owned {
    public:
	Owned() noexcept = default;
	explicit Owned(T *object) noexcept
		: object_(object)
	{
	}
	Owned(Owned &&other) noexcept
		: object_(std::exchange(other.object_, nullptr))
	{
	}
	Owned &operator=(Owned &&other) noexcept
	{
		if (this != &other)
			reset(std::exchange(other.object_, nullptr));
		return *this;
	}
	~Owned() { delete object_; }

	explicit operator bool() const noexcept { return object_ != nullptr; }
	T *operator->() const noexcept { return object_; }
	T &operator*() const noexcept { return *object_; }
	[[nodiscard]] T *get() const noexcept { return object_; }
	void reset(T *object = nullptr) noexcept { delete std::exchange(object_, object); }
	/* Hands the object over to the caller. */
	[[nodiscard]] T *release() noexcept { return std::exchange(object_, nullptr); }

    private:
	T *object_ = nullptr;
};

/* A negative errno in place of a pointer, as the kernel's C returns it. */
template <typename T> T *error_pointer(int error) noexcept
{
	return reinterpret_cast<T *>(static_cast<long>(error));
}

/* A block of bytes, or none. */
class Block {
    public:
	Block() noexcept = default;
	/* Zeroed. Empty where there is no memory. */
	Block(std::size_t size, gfp_t gfp) noexcept
		: bytes_(static_cast<std::byte *>(rpcordma_alloc(size, gfp)))
		, size_(bytes_ ? size : 0)
	{
	}
	/* The same, near to the device that works with it. */
	Block(std::size_t size, gfp_t gfp, ib_device *device) noexcept
		: bytes_(static_cast<std::byte *>(rpcordma_alloc_near(device, size, gfp)))
		, size_(bytes_ ? size : 0)
	{
	}
	Block(Block &&other) noexcept
		: bytes_(std::exchange(other.bytes_, nullptr))
		, size_(std::exchange(other.size_, 0))
	{
	}
	Block &operator=(Block &&other) noexcept
	{
		std::swap(bytes_, other.bytes_);
		std::swap(size_, other.size_);
		return *this;
	}
	~Block()
	{
		/* Most have been moved from: those need no call. */
		if (bytes_)
			kfree(bytes_);
	}

	explicit operator bool() const noexcept { return bytes_ != nullptr; }
	[[nodiscard]] std::byte *data() const noexcept { return bytes_; }
	[[nodiscard]] std::size_t size() const noexcept { return size_; }
	[[nodiscard]] std::span<std::byte> span() const noexcept { return {bytes_, size_}; }

    private:
	std::byte *bytes_ = nullptr;
	std::size_t size_ = 0;
};

} // namespace rpcordma::kernel
