// SPDX-License-Identifier: GPL-2.0-only

#include "suite/recorder.hh"

#include <gtest/gtest.h>

namespace peer {
namespace {

TEST(Recorder, KeepsMessages)
{
	CaseResult result;
	Recorder recorder(result);
	recorder.note("main", true, Bytes{1, 2});
	recorder.note("other", false, Bytes{3}, 7);
	ASSERT_EQ(result.messages.size(), 2U);
	EXPECT_TRUE(result.messages[0].is_sent);
	EXPECT_EQ(result.messages[0].bytes, (Bytes{1, 2}));
	EXPECT_EQ(result.messages[0].invalidates, std::nullopt);
	EXPECT_EQ(result.messages[1].connection, "other");
	EXPECT_FALSE(result.messages[1].is_sent);
	EXPECT_EQ(result.messages[1].invalidates, 7U);
	EXPECT_LE(result.messages[0].seconds, result.messages[1].seconds);
}

TEST(Recorder, KeepsTheFirstAndTheLastOfMany)
{
	CaseResult result;
	Recorder recorder(result);
	constexpr std::size_t ALL = Recorder::FIRST + Recorder::LAST + 3;
	for (std::size_t i = 0; i < ALL; i++)
		recorder.note("main", true, Bytes{static_cast<std::uint8_t>(i)});
	ASSERT_EQ(result.messages.size(), Recorder::FIRST + Recorder::LAST);
	EXPECT_EQ(result.messages_left_out, 3U);
	EXPECT_EQ(result.messages[Recorder::FIRST - 1].bytes[0], Recorder::FIRST - 1);
	EXPECT_EQ(result.messages[Recorder::FIRST].bytes[0], Recorder::FIRST + 3);
	EXPECT_EQ(result.messages.back().bytes[0], ALL - 1);
}

TEST(Recorder, BeginsAnew)
{
	CaseResult result;
	Recorder(result).note("main", true, Bytes{1});
	result.messages_left_out = 4;
	const Recorder another(result);
	EXPECT_TRUE(result.messages.empty());
	EXPECT_EQ(result.messages_left_out, 0U);
}

} // namespace
} // namespace peer
