// SPDX-License-Identifier: GPL-2.0-only
#include <gtest/gtest.h>

#include <optional>

#include "kernel/sync.hh"
#include "kunit/glue/thread.h"
#include "server/room.hh"

namespace rpcordma::kunit {
namespace {

using server::RoomQueue;
using Outcome = RoomQueue::Outcome;

/* Longer than any of this takes. */
constexpr unsigned long for_ever = 60 * kernel::HZ;

/* A thread's way through the queue; `attempt` is told how many there were before. */
struct Visit {
	template <typename Attempt> Outcome acquire(RoomQueue &queue, unsigned long patience, Attempt attempt)
	{
		return queue.acquire(
			patience, [&] { return attempt(attempts++); }, [&] { ends++; });
	}
	u32 attempts = 0;
	u32 ends = 0;
};

TEST(RoomQueue, WhereNobodyWaits_GrantsAtOnce)
{
	RoomQueue queue;
	Visit visit;
	EXPECT_EQ(visit.acquire(queue, 1, [](u32) { return true; }), Outcome::granted);
	EXPECT_EQ(visit.attempts, 1u);
	EXPECT_EQ(visit.ends, 0u);
}

TEST(RoomQueue, ThatHasNothing_IsWaitedForNoLongerThanPatienceLasts)
{
	RoomQueue queue;
	Visit visit;
	const auto nothing = [&](u32 before) {
		EXPECT_EQ(queue.is_crowded(), before != 0);
		return false;
	};
	EXPECT_EQ(visit.acquire(queue, 2, nothing), Outcome::timed_out);
	EXPECT_EQ(visit.ends, 1u);
	EXPECT_FALSE(queue.is_crowded());
}

TEST(RoomQueue, WithRoomFromDuringAnAttempt_TriesAgain)
{
	RoomQueue queue;
	Visit visit;
	const auto too_early = [&](u32 before) {
		queue.room();
		return before == 3;
	};
	EXPECT_EQ(visit.acquire(queue, for_ever, too_early), Outcome::granted);
	EXPECT_EQ(visit.ends, 1u);
	EXPECT_FALSE(queue.is_crowded());
}

TEST(RoomQueue, ThatEnds_GrantsNothingToWhoWaitsOrComes)
{
	RoomQueue queue;
	Visit visit;
	const auto the_end = [&](u32 before) {
		if (before == 1)
			queue.end();
		return false;
	};
	EXPECT_EQ(visit.acquire(queue, for_ever, the_end), Outcome::ended);
	EXPECT_EQ(visit.attempts, 2u);
	EXPECT_EQ(visit.acquire(queue, for_ever, the_end), Outcome::ended);
	EXPECT_EQ(visit.ends, 2u);
	EXPECT_FALSE(queue.is_crowded());
}

/* Waits in a thread of its own for so long: in vain, unless an attempt of this number is granted. */
struct First {
	First(RoomQueue &its_queue, unsigned long its_patience, u32 granted = ~u32{0})
		: queue(its_queue)
		, patience(its_patience)
		, granted_attempt(granted)
		, thread(rpcordma_kunit_thread_start(run, this))
	{
	}
	static void run(void *data)
	{
		auto &first = *static_cast<First *>(data);
		Visit visit;
		first.outcome = visit.acquire(first.queue, first.patience, [&](u32 before) {
			if (before == 1)
				first.has_turn.complete();
			return before == first.granted_attempt;
		});
	}
	RoomQueue &queue;
	unsigned long patience;
	u32 granted_attempt;
	kernel::Completion has_turn;
	Outcome outcome = Outcome::granted;
	rpcordma_kunit_thread *thread;
};

void come_second(unsigned long own_patience)
{
	RoomQueue queue;
	const unsigned long patience = kernel::HZ / 2;
	const unsigned long start = rpcordma_jiffies();
	First first(queue, patience);
	ASSERT_TRUE(first.thread != nullptr);
	first.has_turn.wait();
	Visit second;
	unsigned long waited = 0;
	const auto at_once = [&](u32) {
		waited = rpcordma_jiffies() - start;
		return true;
	};
	EXPECT_EQ(second.acquire(queue, own_patience, at_once), Outcome::granted);
	EXPECT_EQ(second.attempts, 1u);
	EXPECT_GE(waited, patience);
	EXPECT_LT(waited, for_ever);
	rpcordma_kunit_thread_join(first.thread);
	EXPECT_EQ(first.outcome, Outcome::timed_out);
}

TEST(RoomQueue, WhereOneWaits_GrantsNothingToWhoComesLaterBeforeThatOneHasGone)
{
	come_second(for_ever);
}

TEST(RoomQueue, OfWhoHasNotHadItsTurn_CountsNoPatience)
{
	come_second(1);
}

TEST(RoomQueue, WhoseFirstAttemptWasInVain_WakesWhoHasComeMeanwhile)
{
	RoomQueue queue;
	std::optional<First> meanwhile;
	const auto attempt = [&](u32 before) {
		if (before != 0)
			return true;
		meanwhile.emplace(queue, for_ever, 2);
		meanwhile->has_turn.wait();
		return false;
	};
	Visit visit;
	EXPECT_EQ(visit.acquire(queue, for_ever, attempt), Outcome::granted);
	ASSERT_TRUE(meanwhile.has_value());
	rpcordma_kunit_thread_join(meanwhile->thread);
	EXPECT_EQ(meanwhile->outcome, Outcome::granted);
}

TEST(RoomQueue, ThatEnds_WakesEachWhoWaits)
{
	RoomQueue queue;
	First first(queue, for_ever);
	ASSERT_TRUE(first.thread != nullptr);
	first.has_turn.wait();
	queue.end();
	rpcordma_kunit_thread_join(first.thread);
	EXPECT_EQ(first.outcome, Outcome::ended);
}

} // namespace
} // namespace rpcordma::kunit
