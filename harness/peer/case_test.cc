// SPDX-License-Identifier: GPL-2.0-only

#include <gtest/gtest.h>

#include "case.hh"
#include "frame.hh"

namespace peer {
namespace {

TEST(CaseFile, HasATitlePropertiesAndSteps)
{
	const Case test = parse_case("server/x", "# RFC 8166, 3.4.5, MUST NOT: something is wrong\n"
						 "covers 8166-3.4.5-1 bis-1\n"
						 "for n in 1..3 0x10   # a remark\n"
						 "\n"
						 "send null\n"
						 "\tversion = $n\n"
						 "expect error VERS 1 1\n");
	EXPECT_EQ(test.section, "RFC 8166, 3.4.5");
	EXPECT_EQ(test.level, "MUST NOT");
	EXPECT_EQ(test.title, "something is wrong");
	EXPECT_EQ(test.requirements, (std::vector<std::string>{"8166-3.4.5-1", "bis-1"}));
	EXPECT_EQ(test.values, (std::vector<std::uint64_t>{1, 2, 3, 16}));
	EXPECT_EQ(test.tested, Tested::server);
	ASSERT_EQ(test.steps.size(), 2U);
	EXPECT_EQ(test.steps_for(16)[0].block[0].words, (Words{"version", "=", "16"}));
	EXPECT_EQ(test.steps[1].line.number, 7U);
}

TEST(CaseFile, ThatIsWrongIsRefusedWithItsLine)
{
	const auto why = [](const char *text) -> std::string {
		try {
			static_cast<void>(parse_case("server/x", text));
		} catch (const ScriptError &error) {
			return error.what();
		}
		return "";
	};
	EXPECT_EQ(why("send null\n").substr(0, 12), "server/x:1: ");
	EXPECT_EQ(why("# RFC 8166, 1, OUGHT: x\nsend null\n").substr(0, 12), "server/x:1: ");
	EXPECT_EQ(why("# RFC 8166, 1, MUST: x\n\tversion = 1\n").substr(0, 12), "server/x:2: ");
	EXPECT_EQ(why("# RFC 8166, 1, MUST: x\nfor n in x\nsend null\n").substr(0, 12), "server/x:2: ");
	EXPECT_EQ(why("# RFC 8166, 1, MUST: x\n"), "server/x:1: there are no steps");
}

const char *const CHOICE = "# RFC 8166, 1, MUST: x\n"
			   "send null\n"
			   "expect error VERS 1 1 or dropped\n"
			   "\tcredits = 1 or 2\n"
			   "\tusually credits = 1\n"
			   "usually expect closed\n";

TEST(CaseFile, SettledForAnyone_AllowsWhatIsAllowed)
{
	Case test = parse_case("server/x", CHOICE);
	test.settle(false);
	ASSERT_EQ(test.steps.size(), 2U);
	EXPECT_EQ(test.steps[1].line.words, (Words{"expect", "error", "VERS", "1", "1", "or", "dropped"}));
	ASSERT_EQ(test.steps[1].block.size(), 1U);
	EXPECT_EQ(test.steps[1].block[0].words, (Words{"credits", "=", "1", "or", "2"}));
}

TEST(CaseFile, SettledStrictly_WantsWhatStandsFirstAndWhatIsUsual)
{
	Case test = parse_case("server/x", CHOICE);
	test.settle(true);
	ASSERT_EQ(test.steps.size(), 3U);
	EXPECT_EQ(test.steps[1].line.words, (Words{"expect", "error", "VERS", "1", "1"}));
	ASSERT_EQ(test.steps[1].block.size(), 2U);
	EXPECT_EQ(test.steps[1].block[0].words, (Words{"credits", "=", "1"}));
	EXPECT_EQ(test.steps[1].block[1].words, (Words{"credits", "=", "1"}));
	EXPECT_EQ(test.steps[2].line.words, (Words{"expect", "closed"}));
}

// Memory "m" of 0x1000 bytes at 0x50000, with the handle 0x77; "p" is 40.
const Names NAMES = {.value = [](const std::string &name) -> std::optional<std::uint64_t> {
			     if (name == "p")
				     return 40;
			     return std::nullopt;
		     },
		     .memory = [](const std::string &name) -> std::optional<Segment> {
			     if (name == "m")
				     return Segment{.handle = 0x77, .length = 0x1000, .offset = 0x50000};
			     return std::nullopt;
		     }};

TEST(Expression, IsANumberANameOrASum)
{
	EXPECT_EQ(evaluate("12", NAMES), 12U);
	EXPECT_EQ(evaluate("0x10+p-4", NAMES), 52U);
	EXPECT_EQ(evaluate("max", NAMES), 0xffffffffU);
	EXPECT_EQ(evaluate("NOMSG", NAMES), 1U);
	EXPECT_THROW(static_cast<void>(evaluate("q", NAMES)), ScriptError);
	EXPECT_THROW(static_cast<void>(evaluate("0x", NAMES)), ScriptError);
}

TEST(SegmentOfACase, IsAPartOfMemoryOrMadeUp)
{
	EXPECT_EQ(evaluate_segment("m", NAMES), (Segment{0x77, 0x1000, 0x50000}));
	EXPECT_EQ(evaluate_segment("m/10", NAMES), (Segment{0x77, 10, 0x50000}));
	EXPECT_EQ(evaluate_segment("m+p/p", NAMES), (Segment{0x77, 40, 0x50028}));
	EXPECT_EQ(evaluate_segment("m+16", NAMES), (Segment{0x77, 0xff0, 0x50010}));
	EXPECT_EQ(evaluate_segment("0xdead:7/max", NAMES), (Segment{0xdead, 0xffffffff, 7}));
	EXPECT_THROW(static_cast<void>(evaluate_segment("other/1", NAMES)), ScriptError);
}

// What a line does to a frame with a Read chunk, a Write chunk of two segments, and a Reply chunk.
Header after(Words words)
{
	Frame frame;
	frame.header.xid = 9;
	frame.header.reads = {{40, {1, 10, 100}}};
	frame.header.writes = {{{2, 20, 200}, {3, 30, 300}}};
	frame.header.reply = Chunk{{4, 40, 400}};
	apply(frame, {1, std::move(words)}, NAMES);
	return frame.header;
}

TEST(FrameLine, ChangesOneThing)
{
	EXPECT_EQ(after({"version", "=", "max"}).version, 0xffffffffU);
	EXPECT_EQ(after({"xid", "+=", "1"}).xid, 10U);
	EXPECT_EQ(after({"credits", "-=", "2"}).credits, 0xffffffffU);
	EXPECT_EQ(after({"read[0].position", "^=", "2"}).reads[0].position, 42U);
	EXPECT_EQ(after({"write[0][1].offset", "=", "0x123456789"}).writes[0][1].offset, 0x123456789U);
	EXPECT_EQ(after({"reply[0].length", "=", "p"}).reply->at(0).length, 40U);
	EXPECT_EQ(after({"read", "p+4", "m/4"}).reads.at(1), (ReadSegment{44, {0x77, 4, 0x50000}}));
	EXPECT_EQ(after({"write", "nothing"}).writes.at(1), Chunk());
	EXPECT_EQ(after({"write", "nothing", "times", "3"}).writes.size(), 4U);
	EXPECT_EQ(after({"write", "nothing", "times", "3"}).writes.at(3), Chunk());
	EXPECT_EQ(after({"drop", "reply"}).reply, std::nullopt);
	EXPECT_EQ(after({"drop", "write[0][0]"}).writes[0], (Chunk{{3, 30, 300}}));
	EXPECT_EQ(after({"swap", "write[0][0]", "write[0][1]"}).writes[0][0].handle, 3U);
}

TEST(FrameLine, ThatNamesNothingIsRefused)
{
	EXPECT_THROW(after({"write[0][2].length", "=", "0"}), ScriptError);
	EXPECT_THROW(after({"write[1][0].length", "=", "0"}), ScriptError);
	EXPECT_THROW(after({"verzion", "=", "0"}), ScriptError);
	EXPECT_THROW(after({"version", "*=", "0"}), ScriptError);
	EXPECT_THROW(after({"drop", "read[1]"}), ScriptError);
	EXPECT_THROW(after({"nonsense"}), ScriptError);
}

TEST(FrameLine, OnTheEncodedMessageComesLast)
{
	Frame frame;
	frame.payload = {1, 2, 3, 4};
	apply(frame, {1, {"word[3]", "=", "9"}}, NAMES);
	apply(frame, {2, {"cut", "18"}}, NAMES);
	apply(frame, {3, {"version", "=", "5"}}, NAMES);
	const Bytes bytes = frame.bytes();
	EXPECT_EQ(bytes.size(), 18U);
	EXPECT_EQ(bytes[7], 5);
	EXPECT_EQ(bytes[15], 9);
	Frame impossible;
	apply(impossible, {1, {"word[99]", "=", "9"}}, NAMES);
	EXPECT_THROW(static_cast<void>(impossible.bytes()), ScriptError);
}

TEST(Expectation, SaysWhatWasFound)
{
	Header header;
	header.writes = {{{2, 20, 200}, {3, 30, 300}}};
	header.reply = Chunk{{4, 40, 400}};
	const Names fields = {.value = [&](const std::string &name) { return field(header, name); }, .memory = {}};
	EXPECT_EQ(check({1, {"write[0].length", "=", "50"}}, fields, NAMES), std::nullopt);
	EXPECT_EQ(check({1, {"write[0].segments", "=", "2"}}, fields, NAMES), std::nullopt);
	EXPECT_EQ(check({1, {"reply.length", "<=", "p"}}, fields, NAMES), std::nullopt);
	EXPECT_EQ(check({1, {"writes", ">", "1"}}, fields, NAMES), "writes is 1, not > 1");
	EXPECT_EQ(check({1, {"writes", "=", "0", "or", "1"}}, fields, NAMES), std::nullopt);
	EXPECT_EQ(check({1, {"writes", "=", "0", "or", "2"}}, fields, NAMES), "writes is 1, not = 0 or 2");
	EXPECT_THROW(static_cast<void>(check({1, {"writes", "=", "0", "or"}}, fields, NAMES)), ScriptError);
	EXPECT_EQ(check({1, {"write[1].length", "=", "0"}}, fields, NAMES), "there is no write[1].length");
	EXPECT_THROW(static_cast<void>(check({1, {"writes", "~", "1"}}, fields, NAMES)), ScriptError);
}

} // namespace
} // namespace peer
