// SPDX-License-Identifier: GPL-2.0-only
/// Does KCSAN know what kernel::Atomic orders? It reports a missing barrier only then, and none that is there.
#include "kernel/atomic.hh"

#include <cstdint>

#include <gtest/gtest.h>

#include "kunit/glue/thread.h"
#include "kunit/kcsan/delayed.h"

namespace rpcordma::kunit {
namespace {

using kernel::Atomic;

constexpr int tries = 100;

/// Of so many tries, those in which a write before `operation` is still under way behind it.
template <typename Operation> int delayed_beyond(Operation operation)
{
	int delayed = 0;
	const char byte = 0;
	for (int i = 0; i < tries; i++) {
		rpcordma_kunit_delay_write(&byte);
		operation();
		delayed += rpcordma_kunit_is_delayed(&byte);
	}
	return delayed;
}

TEST(KcsanTest, KnowsWhatOrdersAWriteBeforeIt)
{
	Atomic<std::uint32_t> word;
	EXPECT_EQ(delayed_beyond([] { kernel::smp_mb(); }), 0);
	EXPECT_EQ(delayed_beyond([] { kernel::smp_mb_after_atomic(); }), 0);
	EXPECT_EQ(delayed_beyond([&] { word.store_release(1); }), 0);
	EXPECT_EQ(delayed_beyond([&] { (void)word.xchg(1); }), 0);
	EXPECT_EQ(delayed_beyond([&] { (void)word.cmpxchg(1, 1); }), 0);
	EXPECT_EQ(delayed_beyond([&] { (void)word.fetch_add(1); }), 0);
	EXPECT_EQ(delayed_beyond([&] { (void)word.fetch_sub(1); }), 0);
}

TEST(KcsanTest, KnowsWhatDoesNot)
{
	Atomic<std::uint32_t> word;
	EXPECT_GT(delayed_beyond([] {}), 0);
	EXPECT_GT(delayed_beyond([&] { (void)word.read(); }), 0);
	EXPECT_GT(delayed_beyond([&] { word.set(1); }), 0);
	EXPECT_GT(delayed_beyond([&] { (void)word.load_acquire(); }), 0);
	EXPECT_GT(delayed_beyond([&] { (void)word.fetch_add_relaxed(1); }), 0);
	EXPECT_GT(delayed_beyond([&] { word.add(1); }), 0);
	EXPECT_GT(delayed_beyond([&] { word.sub(1); }), 0);
}

/// A plain word that travels from one thread to the other, behind a flag of its own for either way.
struct Letter {
	static constexpr std::uint32_t rounds = 20000;

	std::uint32_t text = 0;
	Atomic<std::uint32_t> sent{0};
	Atomic<std::uint32_t> read{0};
	std::uint32_t wrong = 0;
};

void await(const Atomic<std::uint32_t> &flag, std::uint32_t round)
{
	while (flag.load_acquire() != round)
		rpcordma_kunit_let_others_run();
}

void read_all(void *data)
{
	auto &letter = *static_cast<Letter *>(data);
	for (std::uint32_t round = 1; round <= Letter::rounds; round++) {
		await(letter.sent, round);
		letter.wrong += letter.text != round;
		letter.read.store_release(round);
	}
}

TEST(KcsanTest, ReportsNothingWhereAFlagIsReleasedAndAcquired)
{
	Letter letter;
	rpcordma_kunit_thread *reader = rpcordma_kunit_thread_start(read_all, &letter);
	ASSERT_TRUE(reader != nullptr);
	for (std::uint32_t round = 1; round <= Letter::rounds; round++) {
		letter.text = round;
		letter.sent.store_release(round);
		await(letter.read, round);
	}
	rpcordma_kunit_thread_join(reader);
	EXPECT_EQ(letter.wrong, 0u);
}

} // namespace
} // namespace rpcordma::kunit
