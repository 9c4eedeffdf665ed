// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include "harness/vectors/rpcrdma_v2.hh"
#include "wire/header.hh"

namespace rpcordma::unit {
namespace {

using namespace wire;
using vectors::v2::Kind;
using vectors::v2::MalformedVector;
using vectors::v2::MessageVector;

constexpr Front short_call{Xid{0xfeedbeef}, Version::two, 32, Direction::call, false};
constexpr Front long_call{Xid{0xfeedbeef}, Version::two, 32, Direction::call, true};
constexpr Front short_reply{Xid{0xfeedbeef}, Version::two, 32, Direction::reply, false};
constexpr Front long_reply{Xid{0xfeedbeef}, Version::two, 32, Direction::reply, true};

std::optional<Kind> kind_of(const Body &body)
{
	if (std::holds_alternative<Msg>(body))
		return Kind::msg;
	if (std::holds_alternative<NoMsg>(body))
		return Kind::nomsg;
	if (std::holds_alternative<wire::VersionError>(body))
		return Kind::version_error;
	if (std::holds_alternative<ChunkError>(body))
		return Kind::bad_header;
	if (std::holds_alternative<OptionError>(body))
		return Kind::invalid_option;
	if (std::holds_alternative<Optional>(body))
		return Kind::optional;
	return std::nullopt;
}

std::optional<Direction> direction_in(const Body &body)
{
	if (const auto *msg = std::get_if<Msg>(&body))
		return msg->direction;
	if (const auto *nomsg = std::get_if<NoMsg>(&body))
		return nomsg->direction;
	if (const auto *optional = std::get_if<Optional>(&body))
		return optional->direction;
	return std::nullopt;
}

Bytes payload_in(const Body &body)
{
	if (const auto *msg = std::get_if<Msg>(&body))
		return msg->payload;
	if (const auto *optional = std::get_if<Optional>(&body))
		return optional->payload;
	return {};
}

const Chunks *chunks_in(const Body &body)
{
	if (const auto *msg = std::get_if<Msg>(&body))
		return &msg->chunks;
	if (const auto *nomsg = std::get_if<NoMsg>(&body))
		return &nomsg->chunks;
	return nullptr;
}

/// The whole message without its Payload stream.
std::size_t header_size_of(const MessageVector &vector)
{
	return xdr_unit * (vector.words.size() - vector.payload);
}

class MessageOfTwo : public testing::TestWithParam<MessageVector> {};
INSTANTIATE_TEST_SUITE_P(Vectors, MessageOfTwo, testing::ValuesIn(vectors::v2::message_vectors), vector_name);

TEST_P(MessageOfTwo, Decode_FindsFieldsKindAndDirection)
{
	const Exact bytes = message(GetParam().words);
	const auto header = decode(bytes);
	ASSERT_TRUE(header);
	EXPECT_EQ(header->fixed.xid, Xid{vectors::message_xid});
	EXPECT_EQ(header->fixed.version, 2u);
	EXPECT_EQ(header->fixed.credits, vectors::message_credits);
	EXPECT_EQ(header->fixed.type, GetParam().words[3]);
	EXPECT_EQ(kind_of(header->body), GetParam().kind);
	const auto direction = direction_in(header->body);
	ASSERT_EQ(direction.has_value(), GetParam().direction.has_value());
	if (direction) {
		EXPECT_EQ(std::to_underlying(*direction), *GetParam().direction);
	}
}

TEST_P(MessageOfTwo, Decode_FindsTheLists)
{
	const Exact bytes = message(GetParam().words);
	const auto header = decode(bytes);
	ASSERT_TRUE(header);
	const Chunks *chunks = chunks_in(header->body);
	ASSERT_EQ(chunks != nullptr, GetParam().kind == Kind::msg || GetParam().kind == Kind::nomsg);
	if (chunks == nullptr)
		return;
	const vectors::Lists &lists = GetParam().lists;
	ASSERT_EQ(chunks->reads.count(), lists.reads.size());
	std::size_t reads = 0;
	for (const ReadSegment segment : chunks->reads)
		EXPECT_EQ(segment, lists.reads[reads++]);
	ASSERT_EQ(chunks->writes.count(), lists.writes.size());
	std::size_t writes = 0;
	for (const WriteChunk chunk : chunks->writes) {
		const SegmentArray its = lists.writes[writes++];
		ASSERT_EQ(chunk.count(), its.size());
		for (std::uint32_t i = 0; i < chunk.count(); ++i)
			EXPECT_EQ(chunk[i], its[i]);
	}
	ASSERT_EQ(chunks->reply.has_value(), lists.reply.has_value());
	if (lists.reply) {
		ASSERT_EQ(chunks->reply->count(), lists.reply->size());
		for (std::uint32_t i = 0; i < lists.reply->size(); ++i)
			EXPECT_EQ((*chunks->reply)[i], (*lists.reply)[i]);
	}
}

TEST_P(MessageOfTwo, Payload_IsTheRestOfTheMessage)
{
	const Exact bytes = message(GetParam().words);
	const auto header = decode(bytes);
	ASSERT_TRUE(header);
	EXPECT_EQ(copy_of(payload_in(header->body)), on_wire(GetParam().words.last(GetParam().payload)));
}

TEST_P(MessageOfTwo, CutInItsHeader_IsAnError)
{
	const std::vector<std::byte> words = on_wire(GetParam().words);
	for (std::size_t size = 0; size < header_size_of(GetParam()); ++size) {
		const Exact bytes = cut(words, size);
		const auto error = error_of(decode(bytes));
		EXPECT_TRUE(error == Error::truncated || error == Error::bad_count) << size;
	}
	for (std::size_t size = header_size_of(GetParam()); size < words.size(); ++size) {
		const Exact bytes = cut(words, size);
		const auto header = decode(bytes);
		ASSERT_TRUE(header) << size;
		EXPECT_EQ(payload_in(header->body).size(), size - header_size_of(GetParam()));
	}
}

TEST_P(MessageOfTwo, BytesBehindWhatHasNoPayload_AreIgnored)
{
	const Kind kind = GetParam().kind;
	if (kind == Kind::msg || kind == Kind::optional)
		return;
	std::vector<std::uint32_t> words(GetParam().words.begin(), GetParam().words.end());
	words.insert(words.end(), {0xfeedbeef, 0xffffffff});
	const Exact bytes = message(words);
	const auto header = decode(bytes);
	ASSERT_TRUE(header);
	EXPECT_EQ(kind_of(header->body), kind);
	EXPECT_TRUE(payload_in(header->body).empty());
}

class MalformedMessageOfTwo : public testing::TestWithParam<MalformedVector> {};
INSTANTIATE_TEST_SUITE_P(Vectors, MalformedMessageOfTwo, testing::ValuesIn(vectors::v2::malformed_vectors),
			 vector_name);

TEST_P(MalformedMessageOfTwo, Decode_SaysWhy)
{
	const std::vector<std::byte> words = on_wire(GetParam().words);
	const Exact bytes = cut(words, words.size() - GetParam().cut);
	EXPECT_EQ(error_of(decode(bytes)), GetParam().error);
}

std::vector<std::byte> wire_of(std::span<const std::uint8_t> bytes)
{
	const Bytes its = std::as_bytes(bytes);
	return {its.begin(), its.end()};
}

TEST_P(MessageOfTwo, Optional_HasItsTypeAndItsInformation)
{
	if (GetParam().kind != Kind::optional)
		return;
	const Exact bytes = message(GetParam().words);
	const auto header = decode(bytes);
	ASSERT_TRUE(header);
	const auto *optional = std::get_if<Optional>(&header->body);
	ASSERT_TRUE(optional);
	EXPECT_EQ(optional->type, GetParam().optional.type);
	EXPECT_EQ(copy_of(optional->info), wire_of(GetParam().optional.info));
}

TEST(OptionalInfo, OfAnySize_TakesItsPaddingWithIt)
{
	for (std::uint32_t size = 0; size < 20; ++size) {
		std::vector<std::byte> words = on_wire({7, 2, 3, 5, 1, 9, size});
		const std::size_t padded = (size + 3) / 4 * 4;
		words.resize(words.size() + padded);
		const Exact whole(words);
		const auto header = decode(whole);
		ASSERT_TRUE(header) << size;
		const auto *optional = std::get_if<Optional>(&header->body);
		ASSERT_TRUE(optional) << size;
		EXPECT_EQ(optional->info.size(), size);
		EXPECT_TRUE(optional->payload.empty()) << size;
		words.push_back(std::byte{1});
		const Exact longer(words);
		const auto with_payload = decode(longer);
		ASSERT_TRUE(with_payload) << size;
		EXPECT_EQ(std::get<Optional>(with_payload->body).payload.size(), 1u) << size;
	}
}

TEST(VersionErrorOfTwo, GivesTheRange)
{
	const Exact bytes = message({7, 2, 1, 4, 1, 3, 0xffffffff});
	const auto header = decode(bytes);
	ASSERT_TRUE(header);
	const auto *range = std::get_if<wire::VersionError>(&header->body);
	ASSERT_TRUE(range);
	EXPECT_EQ(range->low, 3u);
	EXPECT_EQ(range->high, 0xffffffffu);
}

TEST(MessageOfOne, HasNoDirectionInItsHeader)
{
	for (const vectors::MessageVector &vector : vectors::message_vectors) {
		const Exact bytes = message(vector.words);
		const auto header = decode(bytes);
		ASSERT_TRUE(header);
		EXPECT_FALSE(direction_in(header->body));
	}
}

/// The vector's words, without its Payload stream.
template <std::size_t size> std::vector<std::byte> header_of(const std::uint32_t (&words)[size], std::size_t payload)
{
	return on_wire(vectors::Words(words).first(size - payload));
}

TEST(EncodeOfTwo, WritesCalls)
{
	const ChunksToSend all{vectors::read_chunk_of_three, vectors::one_write_chunk,
			       SegmentArray(vectors::two_segments)};
	const auto with_all_lists = header_of(vectors::v2::call_with_all_lists_words, 10);
	Exact room = room_of(with_all_lists.size());
	EXPECT_EQ(encode(room, short_call, all), with_all_lists.size());
	EXPECT_EQ(copy_of(room), with_all_lists);

	Exact bare = room_of(32);
	EXPECT_EQ(encode(bare, short_call, ChunksToSend{}), 32u);
	EXPECT_EQ(copy_of(bare), header_of(vectors::v2::short_call_words, 10));

	const auto long_header = header_of(vectors::v2::long_call_with_all_lists_words, 0);
	Exact long_room = room_of(long_header.size());
	EXPECT_EQ(encode(long_room, long_call,
			 ChunksToSend{vectors::two_read_chunks, vectors::two_write_chunks,
				      SegmentArray(vectors::two_segments)}),
		  long_header.size());
	EXPECT_EQ(copy_of(long_room), long_header);
}

TEST(EncodeOfTwo, WritesRepliesWithTheChunksOfTheirCall)
{
	Exact bare = room_of(32);
	EXPECT_EQ(encode(bare, short_reply, ReturnedChunks{}), 32u);
	EXPECT_EQ(copy_of(bare), header_of(vectors::v2::short_reply_words, 6));

	static constexpr Segment offer[] = {
		{Handle{0xaaaaaaaa}, 0x4000, 0x00000000a0000000},
		{Handle{0xbbbbbbbb}, 0x5000, 0x00000001b0000000},
		{Handle{0xcccccccc}, 0x6000, 0xf0000002c0000000},
	};
	const SegmentArray write_list[] = {offer};
	const ReceivedChunks by_write_chunk({{}, write_list, {}});
	const std::uint32_t written[] = {0x8123};
	const auto chunked = header_of(vectors::v2::chunked_reply_words, 6);
	Exact room = room_of(chunked.size());
	EXPECT_EQ(encode(room, short_reply, ReturnedChunks{by_write_chunk->writes, written, {}}), chunked.size());
	EXPECT_EQ(copy_of(room), chunked);

	const ReceivedChunks by_reply_chunk({{}, {}, SegmentArray(vectors::two_segments)});
	const auto long_header = header_of(vectors::v2::long_reply_words, 0);
	Exact long_room = room_of(long_header.size());
	EXPECT_EQ(encode(long_room, long_reply, ReturnedChunks{{}, {}, by_reply_chunk->reply, 0x3000}),
		  long_header.size());
	EXPECT_EQ(copy_of(long_room), long_header);
}

TEST(EncodeErrorOfTwo, WritesTheThreeArms)
{
	Exact range = room_of(28);
	EXPECT_EQ(encode_error(range, Xid{0xfeedbeef}, 2, 32, wire::VersionError{1, 2}), 28u);
	EXPECT_EQ(copy_of(range), on_wire(vectors::v2::version_error_words));

	Exact bad_header = room_of(20);
	EXPECT_EQ(encode_error(bad_header, Xid{0xfeedbeef}, 2, 32, ChunkError{}), 20u);
	EXPECT_EQ(copy_of(bad_header), on_wire(vectors::v2::bad_header_words));

	Exact invalid_option = room_of(20);
	EXPECT_EQ(encode_error(invalid_option, Xid{0xfeedbeef}, 32, OptionError{}), 20u);
	EXPECT_EQ(copy_of(invalid_option), on_wire(vectors::v2::invalid_option_words));
}

TEST(EncodeOfTwo, IntoTooLittleRoom_IsNoRoom)
{
	for (std::size_t size = 0; size < 32; ++size) {
		Exact room = room_of(size);
		for (const Front &front : {short_call, long_call})
			EXPECT_EQ(error_of(encode(room, front, ChunksToSend{})), Error::no_room) << size;
		for (const Front &front : {short_reply, long_reply})
			EXPECT_EQ(error_of(encode(room, front, ReturnedChunks{})), Error::no_room) << size;
		if (size < 20) {
			EXPECT_EQ(error_of(encode_error(room, Xid{1}, 1, OptionError{})), Error::no_room) << size;
		}
	}
}

TEST(HeaderSize, OfEitherVersion_IsWhatIsEncoded)
{
	for (const Version version : {Version::one, Version::two}) {
		const std::size_t front = version == Version::one ? 16 : 20;
		EXPECT_EQ(front_size(version), front);
		EXPECT_EQ(header_size(version, 0, 0, 0), front + 12);
		EXPECT_EQ(header_size(version, 3, 0, 0), front + 12 + 3 * 24);
		EXPECT_EQ(header_size(version, 3, 3, 2), front + sizeof(vectors::all_lists_words));
		EXPECT_EQ(header_size(version, ReturnedChunks{}), front + 12);
		const ReceivedChunks offered({{}, vectors::one_write_chunk, SegmentArray(vectors::two_segments)});
		const ReturnedChunks returned{offered->writes, {}, offered->reply};
		EXPECT_EQ(header_size(version, returned), front + 12 + 8 + 3 * 16 + 4 + 2 * 16);
		Exact room = room_of(200);
		EXPECT_EQ(encode(room, {Xid{1}, version, 1, Direction::reply, false}, returned),
			  header_size(version, returned));
	}
}

TEST(SmallestHeader, IsThatOfVersionOne)
{
	EXPECT_EQ(smallest_header, 28u);
	EXPECT_LT(smallest_header, header_size(Version::two, 0, 0, 0));
}

TEST(Spoken, AreTheVersionsUpToTheHighest)
{
	EXPECT_FALSE(is_spoken(0, Version::one));
	EXPECT_TRUE(is_spoken(1, Version::one));
	EXPECT_FALSE(is_spoken(2, Version::one));
	EXPECT_FALSE(is_spoken(0, Version::two));
	EXPECT_TRUE(is_spoken(1, Version::two));
	EXPECT_TRUE(is_spoken(2, Version::two));
	EXPECT_FALSE(is_spoken(3, Version::two));
	EXPECT_FALSE(is_spoken(0xffffffff, Version::two));
}

} // namespace
} // namespace rpcordma::unit
