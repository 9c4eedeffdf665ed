// SPDX-License-Identifier: GPL-2.0-only

#include "command/nearest.hh"

#include <gtest/gtest.h>

namespace peer {
namespace {

const std::vector<std::string> COMMANDS = {"conform", "run", "serve", "ping"};

TEST(Distance, CountsLetters)
{
	EXPECT_EQ(distance("", ""), 0U);
	EXPECT_EQ(distance("ping", "ping"), 0U);
	EXPECT_EQ(distance("", "ping"), 4U);
	EXPECT_EQ(distance("ping", ""), 4U);
	EXPECT_EQ(distance("png", "ping"), 1U);
	EXPECT_EQ(distance("pinng", "ping"), 1U);
	EXPECT_EQ(distance("pong", "ping"), 1U);
	EXPECT_EQ(distance("pign", "ping"), 1U);
	EXPECT_EQ(distance("kitten", "sitting"), 3U);
}

TEST(Nearest, IsWhatDiffersLeast)
{
	EXPECT_EQ(nearest("comform", COMMANDS), "conform");
	EXPECT_EQ(nearest("serv", COMMANDS), "serve");
	EXPECT_EQ(nearest("nur", COMMANDS), "");
	EXPECT_EQ(nearest("rnu", COMMANDS), "run");
}

TEST(Nearest, IsWhatBeginsSo)
{
	EXPECT_EQ(nearest("conf", COMMANDS), "conform");
}

TEST(Nearest, IsNothingForAnotherWord)
{
	EXPECT_EQ(nearest("bogus", COMMANDS), "");
	EXPECT_EQ(nearest("", COMMANDS), "");
	EXPECT_EQ(nearest("ping", {}), "");
}

TEST(Suggestion, IsAQuestion)
{
	EXPECT_EQ(suggestion("pong", COMMANDS), "; did you mean ping?");
	EXPECT_EQ(suggestion("bogus", COMMANDS), "");
}

} // namespace
} // namespace peer
