// SPDX-License-Identifier: GPL-2.0-only

#include "verbs/interruption.hh"

#include <gtest/gtest.h>

#include "verbs/verbs.hh"

namespace peer {
namespace {

using namespace std::chrono_literals;

// What a shell starts behind itself ignores SIGINT.
class Interruptions : public testing::Test {
    protected:
	Interruptions()
	{
		for (const int signal : {SIGINT, SIGTERM, SIGHUP})
			std::signal(signal, SIG_DFL);
	}
};

TEST_F(Interruptions, ASignalEndsAWaitOnce)
{
	const Interruption interruption;
	std::raise(SIGINT);
	try {
		wait_for_any({}, Clock::now() + 1h);
		FAIL() << "nothing was thrown";
	} catch (const Interrupted &interrupted) {
		EXPECT_EQ(interrupted.signal, SIGINT);
		EXPECT_STREQ(interrupted.what(), "SIGINT");
	}
	const Clock::time_point before = Clock::now();
	EXPECT_NO_THROW(wait_for_any({}, before + 20ms));
	EXPECT_GE(Clock::now(), before + 20ms);
}

TEST_F(Interruptions, EachSignalIsNamed)
{
	for (const auto &[signal, name] : {std::pair(SIGTERM, "SIGTERM"), std::pair(SIGHUP, "SIGHUP")}) {
		const Interruption interruption;
		std::raise(signal);
		try {
			throw_if_interrupted();
			FAIL() << name;
		} catch (const Interrupted &interrupted) {
			EXPECT_STREQ(interrupted.what(), name);
		}
	}
}

TEST_F(Interruptions, IsNoErrorThatACaseCouldTakeForItsOwn)
{
	const Interruption interruption;
	std::raise(SIGTERM);
	const auto run = [] {
		try {
			throw_if_interrupted();
		} catch (const std::runtime_error &) {
		}
	};
	EXPECT_THROW(run(), Interrupted);
}

TEST_F(Interruptions, WithoutASignalNothingIsThrown)
{
	EXPECT_NO_THROW(throw_if_interrupted());
	const Interruption interruption;
	EXPECT_NO_THROW(throw_if_interrupted());
}

TEST_F(Interruptions, ASecondSignalEndsTheProgram)
{
	GTEST_FLAG_SET(death_test_style, "threadsafe");
	EXPECT_EXIT(
		{
			const Interruption interruption;
			std::raise(SIGINT);
			std::raise(SIGTERM);
		},
		testing::KilledBySignal(SIGTERM), "");
}

TEST_F(Interruptions, WhatWasIgnoredStillIs)
{
	std::signal(SIGHUP, SIG_IGN);
	{
		const Interruption interruption;
		std::raise(SIGHUP);
		EXPECT_NO_THROW(throw_if_interrupted());
	}
	EXPECT_EQ(std::signal(SIGHUP, SIG_DFL), SIG_IGN);
}

} // namespace
} // namespace peer
