// SPDX-License-Identifier: GPL-2.0-only

#include "command/alone.hh"

#include <gtest/gtest.h>

namespace peer {
namespace {

TEST(CommandAlone, KeepsWhatTheCaseIsRunWith)
{
	EXPECT_EQ(command_alone({"rpcordma-peer", "conform", "server", "--path", "/my export", "--strict"}, "server/"
													    "null"),
		  "rpcordma-peer conform server --path '/my export' --strict --only server/null --trace");
}

TEST(CommandAlone, LeavesOutWhatChoosesCasesAndWhereResultsGo)
{
	EXPECT_EQ(command_alone({"rpcordma-peer", "--json",   "conform",
				 "--only",	  "must",     "--only=x",
				 "server",	  "--repeat", "3",
				 "--results",	  "a.json",   "--junit=b.xml",
				 "--html",	  "c.html",   "--name",
				 "my server",	  "--mark",   "/dev/kmsg",
				 "--json-lines",  "--apart",  "--stop-when-ill",
				 "--failed-from", "d.json",   "--trace"},
				"server/null"),
		  "rpcordma-peer conform server --only server/null --trace");
}

TEST(CommandAlone, OfFilesHasThisOne)
{
	EXPECT_EQ(command_alone({"rpcordma-peer", "run", "a/server/one.case", "two.case", "--server", "host"}, "server/"
													       "one"),
		  "rpcordma-peer run a/server/one.case --server host");
}

} // namespace
} // namespace peer
