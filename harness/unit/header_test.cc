// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include "wire/header.hh"

namespace rpcordma::unit {
namespace {

using namespace wire;
using vectors::Kind;
using vectors::MalformedVector;
using vectors::MessageVector;

constexpr Front short_call{Xid{0xfeedbeef}, Version::one, 32, Direction::call, false};
constexpr Front long_call{Xid{0xfeedbeef}, Version::one, 32, Direction::call, true};
constexpr Front short_reply{Xid{0xfeedbeef}, Version::one, 32, Direction::reply, false};
constexpr Front long_reply{Xid{0xfeedbeef}, Version::one, 32, Direction::reply, true};

Kind kind_of(const Body &body)
{
	constexpr Kind kinds[] = {Kind::msg,  Kind::nomsg,	   Kind::msgp,
				  Kind::done, Kind::version_error, Kind::chunk_error};
	return kinds[body.index()];
}

class WholeMessage : public testing::TestWithParam<MessageVector> {};
INSTANTIATE_TEST_SUITE_P(Vectors, WholeMessage, testing::ValuesIn(vectors::message_vectors), vector_name);

TEST_P(WholeMessage, Decode_FindsFieldsAndKind)
{
	const Exact bytes = message(GetParam().words);
	const auto header = decode(bytes);
	ASSERT_TRUE(header);
	EXPECT_EQ(header->fixed.xid, Xid{vectors::message_xid});
	EXPECT_EQ(header->fixed.version, 1u);
	EXPECT_EQ(header->fixed.credits, vectors::message_credits);
	EXPECT_EQ(header->fixed.type, GetParam().words[3]);
	EXPECT_EQ(kind_of(header->body), GetParam().kind);
}

TEST_P(WholeMessage, Payload_IsTheRestOfTheMessage)
{
	const Exact bytes = message(GetParam().words);
	const auto header = decode(bytes);
	ASSERT_TRUE(header);
	const auto expected = on_wire(GetParam().words.last(GetParam().payload));
	if (const auto *msg = std::get_if<Msg>(&header->body))
		EXPECT_EQ(copy_of(msg->payload), expected);
	else if (const auto *msgp = std::get_if<MsgP>(&header->body))
		EXPECT_EQ(copy_of(msgp->payload), expected);
	else
		EXPECT_TRUE(expected.empty());
}

TEST_P(WholeMessage, CutInItsHeader_IsAnError)
{
	const std::vector<std::byte> words = on_wire(GetParam().words);
	const std::size_t header_size = words.size() - 4 * GetParam().payload;
	for (std::size_t size = 0; size < header_size; ++size) {
		const Exact bytes = cut(words, size);
		const auto error = error_of(decode(bytes));
		EXPECT_TRUE(error == Error::truncated || error == Error::bad_count) << size;
	}
	for (std::size_t size = header_size; size < words.size(); ++size) {
		const Exact bytes = cut(words, size);
		EXPECT_TRUE(decode(bytes)) << size;
	}
}

TEST_P(WholeMessage, OfAnUnknownVersion_IsUnsupportedButForVersionErrors)
{
	for (const std::uint32_t version : {0u, 3u, 4u, 0x01000000u, 0xffffffffu}) {
		std::vector<std::uint32_t> words(GetParam().words.begin(), GetParam().words.end());
		words[1] = version;
		const Exact bytes = message(words);
		if (GetParam().kind == Kind::version_error)
			EXPECT_TRUE(decode(bytes));
		else
			EXPECT_EQ(error_of(decode(bytes)), Error::unsupported_version);
	}
}

class MalformedMessage : public testing::TestWithParam<MalformedVector> {};
INSTANTIATE_TEST_SUITE_P(Vectors, MalformedMessage, testing::ValuesIn(vectors::malformed_vectors), vector_name);

TEST_P(MalformedMessage, Decode_SaysWhy)
{
	const Exact bytes = message(GetParam().words);
	EXPECT_EQ(error_of(decode(bytes)), GetParam().error);
}

TEST(FixedFields, KeepTheirExtremes)
{
	for (const std::uint32_t value : {0u, 1u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
		const Exact bytes = message({value, ~value, value ^ 0x55555555, value ^ 0xf0f0f0f0});
		Reader reader(bytes);
		const auto fields = FixedFields::decode(reader);
		ASSERT_TRUE(fields);
		EXPECT_EQ(fields->xid, Xid{value});
		EXPECT_EQ(fields->version, ~value);
		EXPECT_EQ(fields->credits, value ^ 0x55555555);
		EXPECT_EQ(fields->type, value ^ 0xf0f0f0f0);

		Exact room = message({0, 0, 0, 0});
		Writer writer(room);
		ASSERT_TRUE(fields->encode(writer));
		EXPECT_EQ(copy_of(room), copy_of(bytes));
	}
}

TEST(Msg, ChunksAndPayload_AreBothFound)
{
	const Exact bytes = message(vectors::chunked_reply_words);
	const auto header = decode(bytes);
	ASSERT_TRUE(header);
	const auto *msg = std::get_if<Msg>(&header->body);
	ASSERT_TRUE(msg);
	EXPECT_TRUE(msg->chunks.reads.empty());
	ASSERT_EQ(msg->chunks.writes.count(), 1u);
	EXPECT_EQ((*msg->chunks.writes.begin()).length(), 0x8123u);
	EXPECT_FALSE(msg->chunks.reply);
	EXPECT_EQ(msg->payload.size(), 24u);
}

std::optional<PlainMsg> plain(Bytes bytes)
{
	Reader reader(bytes);
	return plain_msg(FixedFields::decode(reader).value(), reader);
}

TEST(PlainMsg, IsWhatDecodeFinds)
{
	struct {
		std::vector<std::uint32_t> words;
		std::optional<Direction> direction;
		std::size_t payload;
	} const cases[] = {
		{{7, 1, 9, 0, 0, 0, 0}, std::nullopt, 0},
		{{7, 1, 9, 0, 0, 0, 0, 7, 1}, std::nullopt, 8},
		{{7, 2, 9, 0, 0, 0, 0, 0}, Direction::call, 0},
		{{7, 2, 9, 0, 1, 0, 0, 0, 7}, Direction::reply, 4},
	};
	for (const auto &[words, direction, payload] : cases) {
		const Exact bytes = message(words);
		const auto found = plain(bytes);
		ASSERT_TRUE(found);
		EXPECT_EQ(found->direction, direction);
		EXPECT_EQ(found->payload.size(), payload);
		EXPECT_EQ(found->payload.data() + payload, Bytes(bytes).data() + Bytes(bytes).size());
	}
}

TEST(PlainMsg, IsNothingElse)
{
	for (const auto &words : std::initializer_list<std::vector<std::uint32_t>>{{7, 0, 9, 0, 0, 0, 0},
										   {7, 3, 9, 0, 0, 0, 0, 0},
										   {7, 1, 9, 1, 0, 0, 0},
										   {7, 1, 9, 0, 1, 0, 0},
										   {7, 1, 9, 0, 0, 1, 0},
										   {7, 1, 9, 0, 0, 0, 1},
										   {7, 1, 9, 0, 0, 0},
										   {7, 2, 9, 0, 0, 0, 0},
										   {7, 2, 9, 0, 2, 0, 0, 0},
										   {7, 2, 9, 0},
										   {7, 2, 9, 4, 0, 0, 0, 0}}) {
		const Exact bytes = message(words);
		EXPECT_FALSE(plain(bytes)) << words[1] << words[3] << words.size();
	}
}

TEST(Msg, WithoutPayload_IsDecoded)
{
	const Exact bytes = message({1, 1, 1, 0, 0, 0, 0});
	const auto header = decode(bytes);
	ASSERT_TRUE(header);
	const auto *msg = std::get_if<Msg>(&header->body);
	ASSERT_TRUE(msg);
	EXPECT_TRUE(msg->payload.empty());
}

TEST(NoMsg, Chunks_AreFound)
{
	const Exact call = message(vectors::long_call_words);
	const auto call_header = decode(call);
	ASSERT_TRUE(call_header);
	const auto *long_call = std::get_if<NoMsg>(&call_header->body);
	ASSERT_TRUE(long_call);
	EXPECT_EQ((*long_call->chunks.reads.begin()).position, Position{0});

	const Exact reply = message(vectors::long_reply_words);
	const auto reply_header = decode(reply);
	ASSERT_TRUE(reply_header);
	const auto *long_reply = std::get_if<NoMsg>(&reply_header->body);
	ASSERT_TRUE(long_reply);
	ASSERT_TRUE(long_reply->chunks.reply);
	EXPECT_EQ(long_reply->chunks.reply->length(), 0x3000u);
}

TEST(NoMsg, BytesBehindTheHeader_AreIgnored)
{
	std::vector<std::uint32_t> words(std::begin(vectors::long_reply_words), std::end(vectors::long_reply_words));
	words.push_back(0xffffffff);
	const Exact bytes = message(words);
	EXPECT_TRUE(decode(bytes));
}

TEST(MsgP, FieldsAreFound)
{
	const Exact bytes = message(vectors::msgp_words);
	const auto header = decode(bytes);
	ASSERT_TRUE(header);
	const auto *msgp = std::get_if<MsgP>(&header->body);
	ASSERT_TRUE(msgp);
	EXPECT_EQ(msgp->align, 512u);
	EXPECT_EQ(msgp->threshold, 4096u);
	EXPECT_TRUE(msgp->chunks.reads.empty());
	EXPECT_TRUE(msgp->chunks.writes.empty());
	EXPECT_FALSE(msgp->chunks.reply);
}

TEST(VersionError, OfAnyVersion_GivesTheRange)
{
	for (const std::uint32_t version : {0u, 1u, 2u, 0xffffffffu}) {
		const Exact bytes = message({7, version, 1, 4, 1, 3, 0xffffffff});
		const auto header = decode(bytes);
		ASSERT_TRUE(header);
		const auto *range = std::get_if<wire::VersionError>(&header->body);
		ASSERT_TRUE(range);
		EXPECT_EQ(range->low, 3u);
		EXPECT_EQ(range->high, 0xffffffffu);
	}
}

TEST(EncodeShort, WritesTheHeaderThatDecodeReads)
{
	Exact room = room_of(512);
	const ChunksToSend chunks{vectors::read_chunk_of_three, vectors::one_write_chunk,
				  SegmentArray(vectors::two_segments)};
	const auto size = encode(room, short_call, chunks);
	ASSERT_EQ(size, 16 + sizeof(vectors::all_lists_words));
	std::vector<std::byte> expected = on_wire({0xfeedbeef, 1, 32, 0});
	const std::vector<std::byte> lists = on_wire(vectors::all_lists_words);
	expected.insert(expected.end(), lists.begin(), lists.end());
	EXPECT_EQ(copy_of(static_cast<Bytes>(room).first(*size)), expected);
	const auto header = decode(static_cast<Bytes>(room).first(*size));
	ASSERT_TRUE(header);
	EXPECT_EQ(kind_of(header->body), Kind::msg);
}

TEST(EncodeShort, WithoutChunks_WritesThreeZeroesBehindTheFixedFields)
{
	Exact room = room_of(28);
	EXPECT_EQ(encode(room, {Xid{1}, Version::one, 2, Direction::call, false}, ChunksToSend{}), 28u);
	EXPECT_EQ(copy_of(room), on_wire({1, 1, 2, 0, 0, 0, 0}));
}

TEST(EncodeLong, WritesALongCall)
{
	Exact room = room_of(sizeof(vectors::long_call_words));
	const ReadSegment reads[] = {{Position{0}, {Handle{0x11111111}, 0x1000, 0x0102030405060708}}};
	EXPECT_EQ(encode(room, long_call, ChunksToSend{reads, {}, {}}), sizeof(vectors::long_call_words));
	EXPECT_EQ(copy_of(room), on_wire(vectors::long_call_words));
}

TEST(EncodeReturned, WritesRepliesWithTheChunksOfTheirCall)
{
	static constexpr wire::Segment offer[] = {
		{Handle{0xaaaaaaaa}, 0x4000, 0x00000000a0000000},
		{Handle{0xbbbbbbbb}, 0x5000, 0x00000001b0000000},
		{Handle{0xcccccccc}, 0x6000, 0xf0000002c0000000},
	};
	const SegmentArray write_list[] = {offer};
	const ReceivedChunks by_write_chunk({{}, write_list, {}});
	const std::uint32_t written[] = {0x8123};
	Exact room = room_of(sizeof(vectors::chunked_reply_words) - 24);
	EXPECT_EQ(encode(room, short_reply, ReturnedChunks{by_write_chunk->writes, written, {}}),
		  sizeof(vectors::chunked_reply_words) - 24);
	EXPECT_EQ(copy_of(room), on_wire(vectors::Words(vectors::chunked_reply_words).first(21)));

	const ReceivedChunks by_reply_chunk({{}, {}, SegmentArray(vectors::two_segments)});
	Exact long_room = room_of(sizeof(vectors::long_reply_words));
	EXPECT_EQ(encode(long_room, long_reply, ReturnedChunks{{}, {}, by_reply_chunk->reply, 0x3000}),
		  sizeof(vectors::long_reply_words));
	EXPECT_EQ(copy_of(long_room), on_wire(vectors::long_reply_words));
}

TEST(EncodeError, WritesBothArms)
{
	Exact range = room_of(28);
	EXPECT_EQ(encode_error(range, Xid{5}, 9, 3, wire::VersionError{1, 2}), 28u);
	EXPECT_EQ(copy_of(range), on_wire({5, 9, 3, 4, 1, 1, 2}));

	Exact bad_header = room_of(20);
	EXPECT_EQ(encode_error(bad_header, Xid{5}, 1, 3, ChunkError{}), 20u);
	EXPECT_EQ(copy_of(bad_header), on_wire({5, 1, 3, 4, 2}));
}

TEST(Translate, OfWhatWasSent_IsTheSameInAnotherVersion)
{
	const ChunksToSend chunks{vectors::read_chunk_of_three, vectors::one_write_chunk,
				  SegmentArray(vectors::two_segments)};
	const std::vector<std::byte> payload = on_wire({0xfeedbeef, 0, 2});
	for (const bool is_long : {false, true}) {
		for (const Direction direction : {Direction::call, Direction::reply}) {
			std::vector<std::byte> in[2];
			for (const Version version : {Version::one, Version::two}) {
				std::vector<std::byte> &bytes = in[version == Version::two];
				bytes.resize(front_size(version) + chunks.size());
				const Front front{Xid{0xfeedbeef}, version, 32, direction, is_long};
				ASSERT_TRUE(encode(bytes, front, chunks));
				if (!is_long)
					bytes.insert(bytes.end(), payload.begin(), payload.end());
			}
			Exact room = room_of(in[0].size());
			EXPECT_EQ(translate(in[1], Version::one, room), in[0].size());
			EXPECT_EQ(copy_of(room), in[0]);
			Exact same = room_of(in[1].size());
			EXPECT_EQ(translate(in[1], Version::two, same), in[1].size());
			EXPECT_EQ(copy_of(same), in[1]);
		}
	}
}

TEST(Translate, OfACallOfVersionOne_SaysThatItIsOne)
{
	const Exact bytes = message({7, 1, 3, 0, 0, 0, 0, 7, 0, 2});
	Exact room = room_of(44);
	EXPECT_EQ(translate(bytes, Version::two, room), 44u);
	EXPECT_EQ(copy_of(room), on_wire({7, 2, 3, 0, 0, 0, 0, 0, 7, 0, 2}));
}

TEST(Translate, OfWhatCarriesNoRpcMessage_IsAnError)
{
	Exact room = room_of(100);
	EXPECT_EQ(error_of(translate(message({7, 2, 3, 4, 2}), Version::one, room)), Error::unknown_type);
	EXPECT_EQ(error_of(translate(message({7, 2, 3}), Version::one, room)), Error::truncated);
	EXPECT_EQ(error_of(translate(message({7, 2, 3, 2, 0, 0, 0}), Version::one, room)), Error::unknown_type);
}

TEST(Translate, IntoTooLittleRoom_IsNoRoom)
{
	const Exact bytes = message({7, 2, 3, 0, 0, 0, 0, 0, 7, 0, 2});
	for (std::size_t size = 0; size < 40; ++size) {
		Exact room = room_of(size);
		EXPECT_EQ(error_of(translate(bytes, Version::one, room)), Error::no_room) << size;
	}
	Exact room = room_of(40);
	EXPECT_EQ(translate(bytes, Version::one, room), 40u);
}

TEST(Encode, IntoTooLittleRoom_IsNoRoom)
{
	const ChunksToSend chunks{vectors::read_chunk_of_three, {}, {}};
	const Exact with_reply_chunk = message({7, 1, 3, 1, 0, 0, 1, 1, 5, 100, 0, 0});
	const auto offered = decode(with_reply_chunk);
	ASSERT_TRUE(offered);
	const ReturnedChunks returned{{}, {}, std::get<NoMsg>(offered->body).chunks.reply};
	for (std::size_t size = 0; size < 28; ++size) {
		Exact room = room_of(size);
		EXPECT_EQ(error_of(encode(room, short_call, chunks)), Error::no_room);
		EXPECT_EQ(error_of(encode(room, long_reply, returned)), Error::no_room);
		for (const Front &front : {short_call, long_call})
			EXPECT_EQ(error_of(encode(room, front, ChunksToSend{})), Error::no_room);
		for (const Front &front : {short_reply, long_reply})
			EXPECT_EQ(error_of(encode(room, front, ReturnedChunks{})), Error::no_room);
		EXPECT_EQ(error_of(encode_error(room, Xid{1}, 1, 1, wire::VersionError{1, 1})), Error::no_room);
		if (size < 20) {
			EXPECT_EQ(error_of(encode_error(room, Xid{1}, 1, 1, ChunkError{})), Error::no_room);
		}
	}
}

} // namespace
} // namespace rpcordma::unit
