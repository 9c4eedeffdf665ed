// SPDX-License-Identifier: GPL-2.0-only

#include "engine/frame.hh"

#include <gtest/gtest.h>

#include "language/case.hh"

namespace peer {
namespace {

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

TEST(FrameLine, ChangesWhatVersion2Has)
{
	EXPECT_EQ(after({"version", "=", "2"}).version, VERSION_2);
	EXPECT_EQ(after({"type", "=", "OPTIONAL"}).type, RDMA2_OPTIONAL);
	EXPECT_EQ(after({"direction", "=", "REPLY"}).direction, DIRECTION_REPLY);
	EXPECT_EQ(after({"direction", "=", "2"}).direction, 2U);
	EXPECT_EQ(after({"opttype", "=", "max"}).option, 0xffffffffU);
	EXPECT_EQ(after({"optinfo", "0102ff"}).option_info, (Bytes{1, 2, 0xff}));
	EXPECT_EQ(after({"optinfo", "nothing"}).option_info, Bytes());
	EXPECT_EQ(after({"error", "=", "INVAL_OPTION"}).error, ERR_INVAL_OPTION);
	EXPECT_EQ(after({"error", "=", "BAD_HEADER"}).error, ERR_BAD_HEADER);
	EXPECT_THROW(after({"optinfo", "0x"}), ScriptError);
	Header header;
	header.option_info = {1, 2, 3};
	EXPECT_EQ(field(header, "optinfo.length"), 3U);
	EXPECT_EQ(field(header, "direction"), DIRECTION_CALL);
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
