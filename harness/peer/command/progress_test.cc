// SPDX-License-Identifier: GPL-2.0-only

#include "command/progress.hh"

#include <sstream>

#include <gtest/gtest.h>

namespace peer {
namespace {

using namespace std::chrono_literals;

TEST(ProgressText, HasTheTimeThatIsLeft)
{
	EXPECT_EQ(progress_text(11, 20, "server/null", 10s), "11 of 20: server/null, about 10 s left");
	EXPECT_EQ(progress_text(11, 110, "server/null", 10s), "11 of 110: server/null, about 2 min left");
	EXPECT_EQ(progress_text(20, 20, "server/null", 1s), "20 of 20: server/null, about 1 s left");
}

TEST(ProgressText, HasNoTimeAtFirst)
{
	EXPECT_EQ(progress_text(1, 20, "server/null", 0s), "1 of 20: server/null");
	EXPECT_EQ(progress_text(5, 20, "server/null", 10s), "5 of 20: server/null");
}

TEST(Progress, IsOneLine)
{
	std::ostringstream out;
	{
		Progress progress(out, 3, 80);
		progress.begin("server/a");
		progress.clear();
		progress.begin("server/b");
	}
	EXPECT_EQ(out.str(), "\r\033[K1 of 3: server/a\r\033[K\r\033[K2 of 3: server/b\r\033[K");
}

TEST(Progress, CountsOnFromANumber)
{
	std::ostringstream out;
	{
		Progress progress(out, 30, 80);
		progress.at(20, "messages");
		progress.begin("messages");
	}
	EXPECT_EQ(out.str(), "\r\033[K20 of 30: messages, about 1 s left\r\033[K21 of 30: messages, about 1 s "
			     "left\r\033[K");
}

TEST(Progress, IsNoWiderThanTheTerminal)
{
	std::ostringstream out;
	Progress progress(out, 3, 10);
	progress.begin("server/a");
	EXPECT_EQ(out.str(), "\r\033[K1 of 3: …");
}

TEST(Progress, IsNothingWithoutATerminal)
{
	std::ostringstream out;
	{
		Progress progress(out, 3, 0);
		progress.begin("server/a");
		progress.clear();
	}
	EXPECT_EQ(out.str(), "");
}

} // namespace
} // namespace peer
