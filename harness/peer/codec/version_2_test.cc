// SPDX-License-Identifier: GPL-2.0-only

#include <gtest/gtest.h>

#include "codec/header.hh"

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

// A header of version 2 with that type.
Header header_of(std::uint32_t type)
{
	Header header;
	header.xid = 7;
	header.version = VERSION_2;
	header.credits = 3;
	header.type = type;
	return header;
}

Header option_of(std::uint32_t option, Bytes info)
{
	Header header = header_of(RDMA2_OPTIONAL);
	header.option = option;
	header.option_info = std::move(info);
	return header;
}

void expect_malformed(const Bytes &message)
{
	EXPECT_THROW(static_cast<void>(decode(message)), Malformed) << describe_message(message);
}

TEST(Version2, HasADirectionInFrontOfTheChunkLists)
{
	EXPECT_EQ(encode(header_of(RDMA_MSG)), words({7, 2, 3, 0, 0, 0, 0, 0}));
	Header reply = header_of(RDMA_NOMSG);
	reply.direction = DIRECTION_REPLY;
	EXPECT_EQ(encode(reply), words({7, 2, 3, 1, 1, 0, 0, 0}));
	EXPECT_EQ(decode(words({7, 2, 3, 0, 1, 0, 0, 0, 99})).header.direction, DIRECTION_REPLY);
	EXPECT_EQ(decode(words({7, 2, 3, 0, 1, 0, 0, 0, 99})).payload, words({99}));
}

TEST(Version2, HasTheChunksOfVersion1)
{
	Header header = header_of(RDMA_NOMSG);
	header.reads = {{0, A}, {40, B}};
	header.writes = {{A, B}, {}};
	header.reply = Chunk{B};
	const Bytes expected = words({7, 2,   3,   1, 0, 1,   0,  0xa, 100, 1, 0, 1, 40, 0xb, 28,  0,  8, 0, 1,
				      2, 0xa, 100, 1, 0, 0xb, 28, 0,   8,   1, 0, 0, 1,	 1,   0xb, 28, 0, 8});
	EXPECT_EQ(encode(header), expected);
	const Decoded decoded = decode(expected);
	EXPECT_EQ(decoded.header.reads, header.reads);
	EXPECT_EQ(decoded.header.writes, header.writes);
	EXPECT_EQ(decoded.header.reply, header.reply);
	EXPECT_TRUE(decoded.payload.empty());
}

TEST(Version2, AllowsNoDirectionButThatOfACallOrAReply)
{
	for (const std::uint32_t direction : {2U, 0x01000000U, 0xffffffffU}) {
		expect_malformed(words({7, 2, 3, 0, direction, 0, 0, 0}));
		expect_malformed(words({7, 2, 3, 1, direction, 0, 0, 0}));
		expect_malformed(words({7, 2, 3, 5, direction, 9, 0}));
		Header wrong = header_of(RDMA_MSG);
		wrong.direction = direction;
		EXPECT_EQ(encode(wrong), words({7, 2, 3, 0, direction, 0, 0, 0}));
	}
}

TEST(Version2, HasNoTypesTwoAndThreeNorAnyAboveFive)
{
	for (const std::uint32_t type : {2U, 3U, 6U, 0x05000000U, 0xffffffffU}) {
		expect_malformed(words({7, 2, 3, type, 0, 0, 0, 0}));
		EXPECT_EQ(encode(header_of(type)), words({7, 2, 3, type, 0, 0, 0, 0}));
	}
}

TEST(ErrorOfVersion2, HasNoDirectionAndTheRangeOfVersionsOnlyWhereThatIsTheError)
{
	Header error = header_of(RDMA_ERROR);
	for (const std::uint32_t code : {ERR_BAD_HEADER, ERR_INVAL_OPTION}) {
		error.error = code;
		EXPECT_EQ(encode(error), words({7, 2, 3, 4, code}));
		EXPECT_EQ(decode(encode(error)).header.error, code);
		EXPECT_EQ(decode(encode(error)).header.direction, DIRECTION_REPLY);
	}
	error.error = ERR_VERS;
	error.version_low = 3;
	error.version_high = 9;
	EXPECT_EQ(encode(error), words({7, 2, 3, 4, 1, 3, 9}));
	EXPECT_EQ(decode(encode(error)).header.version_low, 3U);
	EXPECT_EQ(decode(encode(error)).header.version_high, 9U);
	EXPECT_EQ(decode(words({7, 2, 3, 4, 2, 99})).payload, words({99}));
}

TEST(ErrorOfVersion2, HasNoOtherCodes)
{
	for (const std::uint32_t code : {0U, 4U, 0x01000000U, 0xffffffffU})
		expect_malformed(words({7, 2, 3, 4, code}));
	expect_malformed(words({7, 2, 3, 4, 1}));
	expect_malformed(words({7, 2, 3, 4, 1, 1}));
}

TEST(Optional, HasADirectionATypeAndOpaqueData)
{
	EXPECT_EQ(encode(option_of(9, {})), words({7, 2, 3, 5, 0, 9, 0}));
	EXPECT_EQ(encode(option_of(9, {1, 2, 3, 4, 5})), words({7, 2, 3, 5, 0, 9, 5, 0x01020304, 0x05000000}));
	Bytes message = encode(option_of(0xffffffff, {1, 2, 3, 4, 5}));
	const Bytes payload = words({42, 43});
	message.insert(message.end(), payload.begin(), payload.end());
	const Decoded decoded = decode(message);
	EXPECT_EQ(decoded.header.option, 0xffffffffU);
	EXPECT_EQ(decoded.header.option_info, (Bytes{1, 2, 3, 4, 5}));
	EXPECT_EQ(decoded.payload, payload);
	EXPECT_EQ(decode(words({7, 2, 3, 5, 1, 9, 0})).header.direction, DIRECTION_REPLY);
}

TEST(Optional, WithDataBeyondItsEndIsMalformed)
{
	expect_malformed(words({7, 2, 3, 5, 0, 9, 5, 0}));
	expect_malformed(words({7, 2, 3, 5, 0, 9, 0xffffffff, 0}));
	expect_malformed(words({7, 2, 3, 5, 0, 9, 0xfffffffd, 0}));
	// The data are there, their padding is not.
	expect_malformed({0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1, 0xff});
}

TEST(Version2, CutAnywhereIsMalformed)
{
	Header with_chunks = header_of(RDMA_MSG);
	with_chunks.reads = {{4, A}};
	with_chunks.writes = {{A}};
	with_chunks.reply = Chunk{B};
	Header versions = header_of(RDMA_ERROR);
	versions.error = ERR_VERS;
	for (const Header &header : {with_chunks, versions, option_of(9, {1, 2, 3, 4, 5})}) {
		const Bytes whole = encode(header);
		for (std::size_t length = 0; length < whole.size(); length++)
			EXPECT_THROW(static_cast<void>(decode(ByteView(whole).first(length))), Malformed)
				<< describe(header) << " " << length;
	}
}

TEST(Version2, IsDescribedInALine)
{
	EXPECT_EQ(describe(header_of(RDMA_MSG)), "MSG xid=0x7 vers=2 credits=3 CALL");
	EXPECT_EQ(describe(header_of(2)), "type=2 xid=0x7 vers=2 credits=3 CALL");
	Header other = option_of(9, {1, 2});
	other.direction = DIRECTION_REPLY;
	EXPECT_EQ(describe(other), "OPTIONAL xid=0x7 vers=2 credits=3 REPLY opttype=9 optinfo=2");
	other.direction = 77;
	EXPECT_EQ(describe(other), "OPTIONAL xid=0x7 vers=2 credits=3 direction=77 opttype=9 optinfo=2");
	Header error = header_of(RDMA_ERROR);
	EXPECT_EQ(describe(error), "ERROR xid=0x7 vers=2 credits=3 ERR_BAD_HEADER");
	error.error = ERR_INVAL_OPTION;
	EXPECT_EQ(describe(error), "ERROR xid=0x7 vers=2 credits=3 ERR_INVAL_OPTION");
	error.error = ERR_VERS;
	EXPECT_EQ(describe(error), "ERROR xid=0x7 vers=2 credits=3 ERR_VERS 1..1");
}

// Version 1 has neither a direction nor options.
TEST(Header, OfVersion1IsNotChangedByWhatVersion2Has)
{
	Header header = option_of(9, {1, 2});
	header.version = VERSION_1;
	header.type = RDMA_MSG;
	header.direction = DIRECTION_REPLY;
	EXPECT_EQ(encode(header), words({7, 1, 3, 0, 0, 0, 0}));
	EXPECT_EQ(describe(header), "MSG xid=0x7 vers=1 credits=3");
	expect_malformed(words({7, 1, 3, 5, 0, 0, 0}));
	expect_malformed(words({7, 1, 3, 4, 3}));
}

} // namespace
} // namespace peer
