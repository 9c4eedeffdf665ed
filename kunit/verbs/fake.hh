/* SPDX-License-Identifier: GPL-2.0-only */
/* The fake device as tests use it, and what they have in common. */
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "kernel/glue.h"
#include "kernel/page.hh"
#include "kunit/glue/fake.h"
#include "verbs/live.hh"
#include "wire/chunk.hh"

namespace rpcordma::kunit {

using kernel::page_size;

/* A device with more of everything than a test needs. */
inline constexpr rpcordma_fake_limits roomy = {
	.send_depth = 64, .receive_depth = 64, .elements = 16, .registrations = 64, .pages = 64, .gaps = false};
/* The smallest that there is in practice. */
inline constexpr rpcordma_fake_limits small = {
	.send_depth = 8, .receive_depth = 4, .elements = 3, .registrations = 4, .pages = 2, .gaps = false};
inline constexpr rpcordma_fake_limits with_gaps = {
	.send_depth = 64, .receive_depth = 64, .elements = 3, .registrations = 64, .pages = 8, .gaps = true};

/* Tries something again and again, each time with another of its allocations failing, until none is left to fail: then it
 * must succeed. What the sanitizers allocate for themselves is hit too, and does no harm. */
template <typename Attempt> void for_each_failed_allocation(Attempt attempt)
{
	for (u32 nth = 1;; nth++) {
		rpcordma_fake_fail_allocation(nth);
		const bool succeeded = attempt();
		if (rpcordma_fake_fail_allocation(0) != 0) {
			EXPECT_TRUE(succeeded);
			return;
		}
	}
}

/* Owned by a test, and made before all that uses it. Everything has gone when it goes, and the device saw no problem. */
class Fake {
    public:
	explicit Fake(const rpcordma_fake_limits &limits = roomy)
		: fake_(rpcordma_fake_create(&limits))
	{
		EXPECT_TRUE(fake_ != nullptr);
	}
	~Fake()
	{
		if (!fake_)
			return;
		rpcordma_fake_destroy(fake_);
		EXPECT_STREQ(rpcordma_fake_problem(nullptr), expected_problem_);
		EXPECT_EQ(live_objects.registrations.read(), 0);
		EXPECT_EQ(live_objects.mapped_pages.read(), 0);
		EXPECT_EQ(live_objects.receive_buffers.read(), 0);
		EXPECT_EQ(live_objects.send_buffers.read(), 0);
		EXPECT_EQ(live_objects.transfers.read(), 0);
	}
	Fake(const Fake &) = delete;
	Fake &operator=(const Fake &) = delete;

	/* False where a test has to end at once. */
	explicit operator bool() const { return fake_ != nullptr; }
	operator rpcordma_fake *() const { return fake_; }
	[[nodiscard]] ib_device *device() const { return rpcordma_fake_device(fake_); }
	[[nodiscard]] ib_pd *pd() const { return rpcordma_fake_pd(fake_); }
	[[nodiscard]] ib_qp *qp() const { return rpcordma_fake_qp(fake_); }
	/* For tests of the device itself. */
	void expect_problem(const char *problem) { expected_problem_ = problem; }
	/* Executes all that is posted, and delivers the completions. */
	void run() const
	{
		rpcordma_fake_execute(fake_, ~0u);
		rpcordma_fake_complete(fake_);
	}
	/* Ends the connection: what is posted comes back. */
	void drain() const
	{
		rpcordma_fake_break(fake_);
		rpcordma_fake_complete(fake_);
	}
	/* The message that arrived last at the peer. */
	[[nodiscard]] wire::Bytes arrived() const
	{
		const void *message = nullptr;
		u32 size = 0;
		rpcordma_fake_arrived(fake_, &message, &size);
		return {static_cast<const std::byte *>(message), size};
	}
	[[nodiscard]] u32 arrivals() const
	{
		const void *message;
		u32 size;
		return rpcordma_fake_arrived(fake_, &message, &size);
	}
	bool deliver(wire::Bytes message, std::optional<u32> invalidate = {}) const
	{
		return rpcordma_fake_deliver(fake_, message.data(), static_cast<u32>(message.size()),
					     invalidate ? &*invalidate : nullptr);
	}

    private:
	rpcordma_fake *fake_;
	const char *expected_problem_ = nullptr;
};

/* Bytes that tell where they stand, and whose they are. */
inline std::vector<std::byte> pattern(std::size_t size, u32 seed = 1)
{
	std::vector<std::byte> bytes(size);
	for (std::size_t i = 0; i < size; i++)
		bytes[i] = static_cast<std::byte>((i * 7 + i / 251 + seed * 101) & 0xff);
	return bytes;
}

inline std::vector<std::byte> copy_of(wire::Bytes bytes)
{
	return {bytes.begin(), bytes.end()};
}

/* Pages of a payload. */
class Pages {
    public:
	explicit Pages(std::size_t count)
		: pages_(count)
	{
		for (page *&each : pages_)
			each = rpcordma_fake_page();
	}
	~Pages()
	{
		for (page *const each : pages_)
			rpcordma_fake_free_page(each);
	}
	Pages(const Pages &) = delete;
	Pages &operator=(const Pages &) = delete;

	[[nodiscard]] page *const *data() const { return pages_.data(); }
	[[nodiscard]] page *operator[](std::size_t n) const { return pages_[n]; }
	/* Copies from and to them as if they were contiguous. */
	void write(std::size_t offset, wire::Bytes bytes) const
	{
		for (const std::byte byte : bytes)
			at(offset++) = byte;
	}
	[[nodiscard]] std::vector<std::byte> read(std::size_t offset, std::size_t size) const
	{
		std::vector<std::byte> bytes(size);
		for (std::byte &byte : bytes)
			byte = at(offset++);
		return bytes;
	}

    private:
	[[nodiscard]] std::byte &at(std::size_t offset) const
	{
		return static_cast<std::byte *>(
			rpcordma_fake_page_address(pages_[offset / page_size]))[offset % page_size];
	}

	std::vector<page *> pages_;
};

} // namespace rpcordma::kunit
