// SPDX-License-Identifier: GPL-2.0-only

#include "command/usage.hh"

#include <algorithm>

#include <gtest/gtest.h>

#include "command/command.hh"
#include "command/conform.hh"

namespace peer {
namespace {

// What is said of these words.
std::string said_of(const std::string &words)
{
	Invocation invocation;
	CLI::App app("", "rpcordma-peer");
	app.fallthrough();
	app.require_subcommand(1);
	add_conform(app, invocation);
	add_run(app, invocation);
	add_serve(app, invocation);
	try {
		app.parse(words);
	} catch (const CLI::Error &error) {
		const std::string text = explain(&app, error);
		return text.substr(0, text.find('\n'));
	}
	return "fine";
}

TEST(Usage, NamesAnUnknownCommand)
{
	EXPECT_EQ(said_of("comform"), "no such command: comform; did you mean conform?");
	EXPECT_EQ(said_of("comform server --only x"), "no such command: comform; did you mean conform?");
	EXPECT_EQ(said_of("bogus"), "no such command: bogus; there are conform, run, serve");
}

TEST(Usage, NamesAnUnknownOption)
{
	EXPECT_EQ(said_of("conform --onyl null server"), "no such option: --onyl; did you mean --only?");
	EXPECT_EQ(said_of("conform server --trase"), "no such option: --trase; did you mean --trace?");
	EXPECT_EQ(said_of("run --sever=x"), "no such option: --sever; did you mean --server?");
	EXPECT_EQ(said_of("conform server --bogus"), "no such option: --bogus");
}

TEST(Usage, NamesAWordTooMany)
{
	EXPECT_EQ(said_of("conform server other"), "unexpected argument: other");
}

TEST(Usage, SaysWhatIsMissing)
{
	EXPECT_EQ(said_of(""), "A subcommand is required");
	EXPECT_EQ(said_of("run"), "FILE is required");
}

TEST(Usage, AnOptionTakesOneWord)
{
	testing::internal::CaptureStdout();
	EXPECT_EQ(said_of("conform server --list --only server/null"), "fine");
	EXPECT_EQ(said_of("conform --list --only server/null server"), "fine");
	EXPECT_EQ(said_of("conform --only server/null --only server/getattr server --list"), "fine");
	const std::string listed = testing::internal::GetCapturedStdout();
	EXPECT_EQ(std::count(listed.begin(), listed.end(), '\n'), 4) << listed;
}

} // namespace
} // namespace peer
