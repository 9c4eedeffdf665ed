// SPDX-License-Identifier: GPL-2.0-only

#include "report/side_by_side.hh"

#include <sstream>

#include <gtest/gtest.h>

namespace peer {
namespace {

std::string text_of(const Comparison &comparison)
{
	std::ostringstream out;
	write_side_by_side(out, comparison, "    ");
	return out.str();
}

std::string html_of(const Comparison &comparison)
{
	std::ostringstream out;
	write_side_by_side_html(out, comparison);
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

TEST(SideBySideHtml, MarksWhatDiffers)
{
	const std::string html = html_of(ROWS);
	EXPECT_NE(html.find("<tr><td>type</td><td><code>ERROR</code></td><td><code>ERROR</code></td></tr>"),
		  std::string::npos)
		<< html;
	EXPECT_NE(html.find("<tr class=\"differs\"><td>from byte 16</td><td><code>01 <mark>02</mark> 03</code></td>"
			    "<td><code>01 <mark>ff</mark> 03</code></td></tr>"),
		  std::string::npos)
		<< html;
	EXPECT_NE(html_of({{"a", "<b>", "", true}}).find("<mark>&lt;b&gt;</mark>"), std::string::npos);
	EXPECT_EQ(html_of({}), "");
}

} // namespace
} // namespace peer
