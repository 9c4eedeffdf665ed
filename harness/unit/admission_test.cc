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

/// How many connections a requester gets that wants so many at once.
std::uint32_t taken_at_once(Admission &admission, Requester requester, std::uint64_t now, std::uint32_t wanted)
{
	std::uint32_t taken = 0;
	for (std::uint32_t n = 0; n < wanted; n++)
		taken += admission.admit(requester, now, rate) ? 1 : 0;
	return taken;
}

TEST(Admission, AtOnce_IsABurst)
{
	Admission admission;
	EXPECT_EQ(taken_at_once(admission, one, 5 * second, 1000), Admission::burst);
}

TEST(Admission, AfterTheBurst_IsOneInEachInterval)
{
	Admission admission;
	EXPECT_EQ(taken_at_once(admission, one, second, Admission::burst), Admission::burst);
	EXPECT_FALSE(admission.admit(one, second + interval - 1, rate));
	EXPECT_TRUE(admission.admit(one, second + interval, rate));
	EXPECT_FALSE(admission.admit(one, second + 2 * interval - 1, rate));
	EXPECT_TRUE(admission.admit(one, second + 2 * interval, rate));
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
	EXPECT_FALSE(admission.admit(one, second, rate));
}

TEST(Admission, OfOneTooMany_TakesThePlaceOfWhoOwesLeast)
{
	Admission admission;
	EXPECT_EQ(taken_at_once(admission, one, second, 1000), Admission::burst);
	EXPECT_EQ(taken_at_once(admission, two, second, 100), 100u);
	EXPECT_EQ(taken_at_once(admission, three, second, 1000), Admission::burst);
	EXPECT_FALSE(admission.admit(one, second, rate));
	/// It took two's place, and now is in the way of two: one of them goes, and has a burst again when it comes back.
	EXPECT_TRUE(admission.admit(two, second, rate));
}

TEST(Admission, AHigherRate_HoldsAtOnce)
{
	Admission admission;
	EXPECT_EQ(taken_at_once(admission, one, second, 1000), Admission::burst);
	EXPECT_FALSE(admission.admit(one, second, 2 * rate));
	EXPECT_TRUE(admission.admit(one, second + interval / 2, 2 * rate));
	EXPECT_FALSE(admission.admit(one, second + interval / 2, 2 * rate));
}

TEST(Admission, WithoutALimit_TakesAll)
{
	Admission admission;
	for (std::uint32_t n = 0; n < 2 * Admission::burst; n++)
		EXPECT_TRUE(admission.admit(one, second, 0));
	EXPECT_EQ(taken_at_once(admission, one, second, 1000), Admission::burst);
}

} // namespace
} // namespace rpcordma::unit
