// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include "kernel/atomic.hh"

namespace rpcordma::unit {
namespace {

using kernel::Atomic;

enum class Colour : std::uint8_t { red, green };

TEST(Atomic, HoldsWhatWasSet)
{
	Atomic<bool> flag{false};
	EXPECT_FALSE(flag.read());
	flag.set(true);
	EXPECT_TRUE(flag.read());
	EXPECT_TRUE(flag.load_acquire());
	flag.store_release(false);
	EXPECT_FALSE(flag.load_acquire());

	Atomic<Colour> colour;
	EXPECT_EQ(colour.read(), Colour::red);
	colour.set(Colour::green);
	EXPECT_EQ(colour.read(), Colour::green);
}

TEST(Atomic, ReturnsWhatWasThere)
{
	Atomic<std::uint32_t> count{7};
	EXPECT_EQ(count.fetch_add(3), 7u);
	EXPECT_EQ(count.fetch_sub(1), 10u);
	EXPECT_EQ(count.fetch_add_relaxed(2), 9u);
	EXPECT_EQ(count.xchg(40), 11u);
	EXPECT_EQ(count.read(), 40u);
}

TEST(Atomic, CountsBothWays)
{
	Atomic<long> count{0};
	count.sub(5);
	EXPECT_EQ(count.read(), -5);
	count.add(6);
	EXPECT_EQ(count.read(), 1);
}

TEST(Atomic, CountsBeyondItsEnd)
{
	Atomic<std::uint32_t> count{~0u};
	EXPECT_EQ(count.fetch_add(2), ~0u);
	EXPECT_EQ(count.read(), 1u);
	EXPECT_EQ(count.fetch_sub(2), 1u);
	EXPECT_EQ(count.read(), ~0u);
}

TEST(Atomic, IsExchangedWhereItIsAsExpected)
{
	int one = 1;
	int other = 2;
	int *pointer = nullptr;
	EXPECT_TRUE(kernel::cmpxchg<int *>(pointer, nullptr, &one));
	EXPECT_EQ(kernel::read_once(pointer), &one);
	EXPECT_FALSE(kernel::cmpxchg<int *>(pointer, nullptr, &other));
	EXPECT_EQ(kernel::read_once(pointer), &one);
	EXPECT_TRUE(kernel::cmpxchg<int *>(pointer, &one, &other));
	EXPECT_EQ(kernel::read_once(pointer), &other);

	Atomic<std::uint32_t> word{1};
	EXPECT_FALSE(word.cmpxchg(2, 3));
	EXPECT_TRUE(word.cmpxchg(1, 3));
	EXPECT_EQ(word.read(), 3u);
}

} // namespace
} // namespace rpcordma::unit
