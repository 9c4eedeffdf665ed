// SPDX-License-Identifier: GPL-2.0-only

#include "report/side_by_side.hh"

#include <sstream>

#include <gtest/gtest.h>

#include "report/view.hh"

namespace peer {
namespace {

std::string text_of(const Comparison &comparison)
{
	std::ostringstream out;
	write_side_by_side(out, comparison, "    ");
	return out.str();
}

const Comparison ROWS = {{"type", "ERROR", "ERROR", false},
			 {"error", "ERR_CHUNK", "ERR_VERS 1..1", true},
			 {"from byte 16", "01 02 03", "01 ff 03", true}};

TEST(SideBySide, HasColumnsAndMarksWhatDiffers)
{
	EXPECT_EQ(text_of(ROWS), "                    expected   came\n"
				 "      type          ERROR      ERROR\n"
				 "    ! error         ERR_CHUNK  ERR_VERS 1..1\n"
				 "    ! from byte 16  01 02 03   01 ff 03\n"
				 "                                  ^^\n");
	EXPECT_EQ(text_of({}), "");
}

TEST(SideBySide, ShowsNoTerminalItsCommands)
{
	EXPECT_EQ(text_of({{"a", "\x1b[31m", "x\ny", true}}), "         expected  came\n"
							      "    ! a  \\x1b[31m  x y\n");
}

View word(const std::string &text, bool differs)
{
	return {{"text", text}, {"differs", differs}};
}

TEST(ComparisonView, MarksWhatDiffers)
{
	const View rows = comparison_view(ROWS);
	EXPECT_EQ(rows[0], View({{"what", "type"},
				 {"differs", false},
				 {"expected", View::array({word("ERROR", false)})},
				 {"came", View::array({word("ERROR", false)})}}));
	EXPECT_EQ(rows[2]["differs"], true);
	EXPECT_EQ(rows[2]["expected"], View::array({word("01", false), word("02", true), word("03", false)}));
	EXPECT_EQ(rows[2]["came"], View::array({word("01", false), word("ff", true), word("03", false)}));
	EXPECT_EQ(comparison_view({}), View::array());
}

TEST(ComparisonView, KeepsTheBlanksOfWhatDoesNotDiffer)
{
	EXPECT_EQ(comparison_view({{"a", "x  y", "x  y", false}})[0]["came"], View::array({word("x  y", false)}));
}

} // namespace
} // namespace peer
