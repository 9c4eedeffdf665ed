// SPDX-License-Identifier: GPL-2.0-only

#include "report/setup.hh"

#include <gtest/gtest.h>

namespace peer {
namespace {

std::string text_of(const Report &report)
{
	std::string text;
	for (const Fact &fact : facts_of(report))
		text += fact.name + ": " + fact.value + '\n';
	return text;
}

TEST(ShellWords, AreOneWordEachToAShell)
{
	EXPECT_EQ(shell_words({"conform", "10.9.0.1:20049", "mount a && b", "it's", ""}), "conform 10.9.0.1:20049 "
											  "'mount a && b' 'it'\\''s' "
											  "''");
}

TEST(Facts, SayHowItWasTested)
{
	Report report;
	report.role = "server";
	report.peer_version = "abc";
	report.tester = {.kernel = "Linux 6.12 x86_64",
			 .device = "rxe0",
			 .driver = "rdma_rxe",
			 .firmware = "1.2",
			 .transport = "InfiniBand"};
	report.terms = {.announced =
				Terms::Announced{.send_size = 4096, .receive_size = 8192, .remote_invalidation = true},
			.call_threshold = 4096,
			.reply_threshold = 1024,
			.credits = 64};
	report.settings = {.arguments = {"rpcordma-peer", "conform", "a b"},
			   .strict = true,
			   .protocol = 2,
			   .repeat = 3,
			   .patience = 10,
			   .seed = 7};
	EXPECT_EQ(text_of(report), "tester: rpcordma-peer abc, Linux 6.12 x86_64\n"
				   "tester's device: rxe0, driver rdma_rxe, firmware 1.2, InfiniBand\n"
				   "private data of the server: sends up to 4096 bytes, receives up to 8192 bytes, "
				   "remote invalidation\n"
				   "inline thresholds: Calls 4096 bytes, Replies 1024 bytes\n"
				   "credits granted: 64\n"
				   "options: strict, versions up to 2, each case 3 times, seed 7, patience of 10 s\n"
				   "command: rpcordma-peer conform 'a b'\n");
}

TEST(Facts, LeaveOutWhatIsNotKnown)
{
	Report report;
	report.role = "client";
	report.peer_version = "abc";
	report.terms.emplace().credits = 32;
	EXPECT_EQ(text_of(report), "tester: rpcordma-peer abc\n"
				   "private data of the client: none of RFC 8797\n"
				   "inline thresholds: Calls 0 bytes, Replies 0 bytes\n"
				   "credits asked for: 32\n"
				   "options: not strict, versions up to 1\n");
}

} // namespace
} // namespace peer
