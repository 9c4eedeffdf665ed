// SPDX-License-Identifier: GPL-2.0-only

#include <gtest/gtest.h>

#include "codec/header.hh"
#include "codec/private_data.hh"

namespace peer {
namespace {

Bytes words(std::initializer_list<std::uint32_t> values)
{
	XdrWriter xdr;
	for (const std::uint32_t value : values)
		xdr.u32(value);
	return xdr.take();
}

const Segment A = {.handle = 0xa, .length = 100, .offset = 0x100000000};
const Segment B = {.handle = 0xb, .length = 28, .offset = 8};

TEST(Header, WithoutChunksIsSevenWords)
{
	EXPECT_EQ(encode(Header{.xid = 7, .credits = 3, .type = RDMA_MSG, .reads = {}, .writes = {}, .reply = {}}),
		  words({7, 1, 3, 0, 0, 0, 0}));
}

TEST(Header, WithEveryKindOfChunkIsWhatTheSpecificationSays)
{
	const Header header = {.xid = 7,
			       .credits = 3,
			       .type = RDMA_NOMSG,
			       .reads = {{0, A}, {40, B}},
			       .writes = {{A, B}, {}},
			       .reply = Chunk{B}};
	const Bytes expected = words({7, 1,   3,   1, 1, 0,   0xa, 100, 1, 0, 1, 40, 0xb, 28, 0,   8,  0, 1,
				      2, 0xa, 100, 1, 0, 0xb, 28,  0,	8, 1, 0, 0,  1,	  1,  0xb, 28, 0, 8});
	EXPECT_EQ(encode(header), expected);
	const Decoded decoded = decode(expected);
	EXPECT_EQ(decoded.header.reads, header.reads);
	EXPECT_EQ(decoded.header.writes, header.writes);
	EXPECT_EQ(decoded.header.reply, header.reply);
	EXPECT_TRUE(decoded.payload.empty());
}

TEST(Header, OfAnErrorHasTheRangeOfVersionsOnlyWhereThatIsTheError)
{
	EXPECT_EQ(encode(Header{.xid = 7,
				.credits = 3,
				.type = RDMA_ERROR,
				.reads = {},
				.writes = {},
				.reply = {},
				.error = ERR_CHUNK}),
		  words({7, 1, 3, 4, 2}));
	const Bytes versions = words({7, 1, 3, 4, 1, 1, 2});
	EXPECT_EQ(decode(versions).header.version_high, 2U);
	EXPECT_EQ(encode(decode(versions).header), versions);
}

TEST(Header, CutAnywhereIsMalformed)
{
	const Bytes whole = encode(Header{.xid = 7, .reads = {{4, A}}, .writes = {{A}}, .reply = Chunk{B}});
	for (std::size_t length = 0; length < whole.size(); length++)
		EXPECT_THROW(static_cast<void>(decode(ByteView(whole).first(length))), Malformed) << length;
}

TEST(Header, WithAnImpossibleDiscriminatorCountOrTypeIsMalformed)
{
	EXPECT_THROW(static_cast<void>(decode(words({7, 1, 3, 0, 2, 0, 0}))), Malformed);
	EXPECT_THROW(static_cast<void>(decode(words({7, 1, 3, 0, 0, 1, 0xffffffff, 0, 0}))), Malformed);
	EXPECT_THROW(static_cast<void>(decode(words({7, 1, 3, 5, 0, 0, 0}))), Malformed);
	EXPECT_THROW(static_cast<void>(decode(words({7, 1, 3, 4, 3}))), Malformed);
}

TEST(Header, OfAnotherVersionIsForTheCallerToJudge)
{
	EXPECT_EQ(decode(words({7, 9, 3, 0, 0, 0, 0})).header.version, 9U);
}

TEST(Header, IsDescribedInALine)
{
	EXPECT_EQ(describe(Header{.xid = 7, .credits = 3, .reads = {{40, B}}, .writes = {{A}}, .reply = {}}),
		  "MSG xid=0x7 vers=1 credits=3 read=40@0xb:0x8/28 write=[0xa:0x100000000/100]");
}

TEST(PrivateDataOfThePeer, SurvivesTheRoundTripAtAnyOffset)
{
	const PrivateData data = {.send_size = 4096, .receive_size = 262144, .remote_invalidation = true};
	for (std::size_t offset = 0; offset < 8; offset++) {
		Bytes bytes(offset, 0xff);
		const Bytes message = encode(data);
		bytes.insert(bytes.end(), message.begin(), message.end());
		EXPECT_EQ(find_private_data(bytes), data) << offset;
		bytes.pop_back();
		EXPECT_EQ(find_private_data(bytes), std::nullopt) << offset;
	}
}

TEST(PrivateDataOfThePeer, IsTheEightBytesOfTheSpecification)
{
	EXPECT_EQ(encode(PrivateData{.send_size = 1024, .receive_size = 4096, .remote_invalidation = true}),
		  (Bytes{0xf6, 0xab, 0x0e, 0x18, 1, 1, 0, 3}));
}

} // namespace
} // namespace peer
