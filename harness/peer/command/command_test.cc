// SPDX-License-Identifier: GPL-2.0-only

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include "command/command.hh"

namespace peer {
namespace {

TEST(Address, HasADefaultPort)
{
	EXPECT_EQ(parse_address("10.9.0.1", 7), (Address{"10.9.0.1", 7}));
	EXPECT_EQ(parse_address("fd09::1", 7), (Address{"fd09::1", 7}));
	EXPECT_EQ(parse_address("[fd09::1]", 7), (Address{"fd09::1", 7}));
	EXPECT_EQ(parse_address("", 7), (Address{"", 7}));
}

TEST(Address, HasAPort)
{
	EXPECT_EQ(parse_address("server:20049", 7), (Address{"server", 20049}));
	EXPECT_EQ(parse_address("[fd09::1]:65535", 7), (Address{"fd09::1", 65535}));
	EXPECT_EQ(parse_address(":1", 7), (Address{"", 1}));
}

TEST(Address, WithAWrongPortIsWrongUse)
{
	for (const char *text : {"a:", "a:0", "a:65536", "a:1x", "a: 1", "[::1]20049", "[::1", "[::1]:"})
		EXPECT_THROW(static_cast<void>(parse_address(text, 7)), CLI::ValidationError) << text;
}

TEST(Address, IsDescribedAsItIsWritten)
{
	for (const char *text : {"10.9.0.1:1", "[fd09::1]:20049"})
		EXPECT_EQ(describe(parse_address(text, 7)), text);
	EXPECT_EQ(describe(Address{"", 20049}), "*:20049");
}

} // namespace
} // namespace peer
