// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include "proto/admission.hh"

namespace rpcordma::unit {
namespace {

using proto::Requester;

using Admission = proto::Admission<2>;

constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint32_t rate = 10;
constexpr std::uint64_t interval = second / rate;
constexpr Requester one{1};
constexpr Requester two{2};
constexpr Requester three{3};

/// Whether a requester gets a connection that does not wait.
bool takes(Admission &admission, Requester requester, std::uint64_t now, std::uint32_t at_rate = rate)
{
	return admission.admit(requester, now, at_rate, false) == now;
}

/// How many connections a requester gets that wants so many at once, and does not wait.
std::uint32_t taken_at_once(Admission &admission, Requester requester, std::uint64_t now, std::uint32_t wanted)
{
	std::uint32_t taken = 0;
	for (std::uint32_t n = 0; n < wanted; n++)
		taken += takes(admission, requester, now) ? 1 : 0;
	return taken;
}

/// administration.rst has them.
TEST(Admission, Limits_AreAsDocumented)
{
	EXPECT_EQ(Admission::burst, 256u);
	EXPECT_EQ(Admission::longest_wait, 4 * second);
}

TEST(Admission, AtOnce_IsABurst)
{
	for (const std::uint64_t now : {std::uint64_t{0}, 5 * second}) {
		Admission admission;
		EXPECT_EQ(taken_at_once(admission, one, now, 1000), Admission::burst);
	}
}

TEST(Admission, AfterTheBurst_IsOneInEachInterval)
{
	Admission admission;
	EXPECT_EQ(taken_at_once(admission, one, second, Admission::burst), Admission::burst);
	EXPECT_FALSE(takes(admission, one, second + interval - 1));
	EXPECT_TRUE(takes(admission, one, second + interval));
	EXPECT_FALSE(takes(admission, one, second + 2 * interval - 1));
	EXPECT_TRUE(takes(admission, one, second + 2 * interval));
}

TEST(Admission, WhoWaits_GetsOneInEachInterval)
{
	Admission admission;
	constexpr std::uint64_t most = Admission::longest_wait / interval;
	EXPECT_EQ(taken_at_once(admission, one, second, Admission::burst), Admission::burst);
	for (std::uint64_t n = 1; n <= most; n++)
		EXPECT_EQ(admission.admit(one, second, rate, true), second + n * interval);
	EXPECT_EQ(admission.admit(one, second, rate, true), std::nullopt);
	/// Nobody who does not wait gets what those wait for.
	EXPECT_FALSE(takes(admission, one, second + most * interval));
	EXPECT_TRUE(takes(admission, one, second + (most + 1) * interval));
}

/// What others wait for is owed, too.
TEST(Admission, WhoCannotWait_IsGivenNothingOfWhatOthersWaitFor)
{
	Admission admission;
	EXPECT_EQ(taken_at_once(admission, one, second, Admission::burst), Admission::burst);
	EXPECT_EQ(admission.admit(one, second, rate, true), second + interval);
	EXPECT_FALSE(takes(admission, one, second));
	EXPECT_EQ(admission.admit(one, second, rate, true), second + 2 * interval);
}

TEST(Admission, WhoWaitsAtALowerRate_OwesNoMoreThanAtAHigherOne)
{
	Admission admission;
	EXPECT_EQ(taken_at_once(admission, one, second, Admission::burst), Admission::burst);
	while (admission.admit(one, second, rate, true))
		;
	EXPECT_FALSE(admission.admit(one, second, 4 * rate, true));
	EXPECT_EQ(admission.admit(one, second + interval / 4, 4 * rate, true),
		  second + interval / 4 + Admission::longest_wait);
}

/// Whoever asks again and again gets no less for that.
TEST(Admission, Refused_CostsNothing)
{
	Admission admission;
	EXPECT_EQ(taken_at_once(admission, one, second, Admission::burst + 1000), Admission::burst);
	EXPECT_EQ(taken_at_once(admission, one, second + 3 * interval, 1000), 3u);
}

TEST(Admission, ALongWait_SavesNoMoreThanABurst)
{
	Admission admission;
	EXPECT_EQ(taken_at_once(admission, one, 0, 1), 1u);
	EXPECT_EQ(taken_at_once(admission, one, 1000 * second, 1000), Admission::burst);
}

TEST(Admission, OfOne_IsNotOfAnother)
{
	Admission admission;
	EXPECT_EQ(taken_at_once(admission, one, second, 1000), Admission::burst);
	EXPECT_EQ(taken_at_once(admission, two, second, 1000), Admission::burst);
	EXPECT_FALSE(takes(admission, one, second));
}

TEST(Admission, OfOneTooMany_TakesThePlaceOfWhoOwesLeast)
{
	Admission admission;
	EXPECT_EQ(taken_at_once(admission, one, second, 1000), Admission::burst);
	EXPECT_EQ(taken_at_once(admission, two, second, 100), 100u);
	EXPECT_EQ(taken_at_once(admission, three, second, 1000), Admission::burst);
	EXPECT_FALSE(takes(admission, one, second));
	/// It took two's place, and now is in the way of two: one of them goes, and has a burst again when it comes back.
	EXPECT_TRUE(takes(admission, two, second));
}

/// But for what others may wait for.
TEST(Admission, AHigherRate_HoldsWhenNobodyWaitsAnyMore)
{
	Admission admission;
	EXPECT_EQ(taken_at_once(admission, one, second, 1000), Admission::burst);
	EXPECT_FALSE(takes(admission, one, second, 2 * rate));
	constexpr std::uint64_t then = second + Admission::longest_wait + interval / 2;
	EXPECT_FALSE(takes(admission, one, then - 1, 2 * rate));
	EXPECT_TRUE(takes(admission, one, then, 2 * rate));
	EXPECT_FALSE(takes(admission, one, then, 2 * rate));
}

TEST(Admission, WithoutALimit_TakesAll)
{
	Admission admission;
	for (std::uint32_t n = 0; n < 2 * Admission::burst; n++)
		EXPECT_TRUE(takes(admission, one, second, 0));
	EXPECT_EQ(taken_at_once(admission, one, second, 1000), Admission::burst);
}

} // namespace
} // namespace rpcordma::unit
