// SPDX-License-Identifier: GPL-2.0-only

#include "language/comparison.hh"

#include <gtest/gtest.h>

namespace peer {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::string differing(const std::string &text, const std::string &other)
{
	std::string found;
	for (const MarkedWord &word : words_marked(text, other))
		found += word.differs ? "[" + word.text + "]" : word.text;
	return found;
}

TEST(Comparison, OfTextsSaysWhetherTheyDiffer)
{
	EXPECT_FALSE(compare("type", "MSG", "MSG").differs);
	EXPECT_TRUE(compare("type", "MSG", "ERROR").differs);
	EXPECT_EQ(in_hex(26), "0x1a");
}

TEST(Comparison, OfBytesHasTheRowsThatDiffer)
{
	Bytes expected(40, 1);
	Bytes came = expected;
	came[17] = 0xff;
	came.pop_back();
	const std::string ones = "01 01 01 01 01 01 01 01 01 01 01 01 01 01 01";
	EXPECT_EQ(compare_bytes(expected, came),
		  (Comparison{{"bytes", "40", "39", true},
			      {"from byte 16", ones + " 01", "01 ff" + ones.substr(5) + " 01", true},
			      {"from byte 32", "01 01 01 01 01 01 01 01", "01 01 01 01 01 01 01", true}}));
	EXPECT_EQ(compare_bytes(expected, expected), (Comparison{{"bytes", "40", "40", false}}));
	EXPECT_EQ(compare_bytes({}, {}), (Comparison{{"bytes", "0", "0", false}}));
	EXPECT_EQ(compare_bytes(Bytes(1), {}),
		  (Comparison{{"bytes", "1", "0", true}, {"from byte 0", "00", "", true}}));
}

TEST(Comparison, OfManyBytesIsShort)
{
	EXPECT_EQ(compare_bytes(Bytes(4096, 1), Bytes(4096, 2)).size(), 5U);
}

TEST(WordsMarked, AreThoseThatDiffer)
{
	EXPECT_EQ(differing("01 02 03", "01 ff 03"), "01[02]03");
	EXPECT_EQ(differing("01 02", "01 02 03"), "[01][02]");
	EXPECT_EQ(differing("", "01"), "");
}

} // namespace
} // namespace peer
