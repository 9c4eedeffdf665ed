// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include "wire/chunk.hh"

namespace rpcordma::unit {
namespace {

using namespace wire;
using vectors::ChunkVector;

void expect_chunk(const WriteChunk &chunk, SegmentArray expected)
{
	ASSERT_EQ(chunk.count(), expected.size());
	std::uint64_t length = 0;
	for (std::uint32_t i = 0; i < chunk.count(); ++i) {
		EXPECT_EQ(chunk[i], expected[i]);
		length += expected[i].length;
	}
	EXPECT_EQ(chunk.length(), length);
}

void expect_lists(const Chunks &chunks, const vectors::Lists &expected)
{
	EXPECT_EQ(chunks.reads.empty(), expected.reads.empty());
	ASSERT_EQ(chunks.reads.count(), expected.reads.size());
	std::size_t reads = 0;
	for (const ReadSegment segment : chunks.reads)
		EXPECT_EQ(segment, expected.reads[reads++]);
	EXPECT_EQ(reads, expected.reads.size());

	EXPECT_EQ(chunks.writes.empty(), expected.writes.empty());
	ASSERT_EQ(chunks.writes.count(), expected.writes.size());
	std::size_t writes = 0;
	for (const WriteChunk chunk : chunks.writes)
		expect_chunk(chunk, expected.writes[writes++]);
	EXPECT_EQ(writes, expected.writes.size());

	ASSERT_EQ(chunks.reply.has_value(), expected.reply.has_value());
	if (chunks.reply)
		expect_chunk(*chunks.reply, *expected.reply);
}

ChunksToSend to_send(const vectors::Lists &lists)
{
	return {lists.reads, lists.writes, lists.reply};
}

class ChunkLists : public testing::TestWithParam<ChunkVector> {};
INSTANTIATE_TEST_SUITE_P(Vectors, ChunkLists, testing::ValuesIn(vectors::chunk_vectors), vector_name);

TEST_P(ChunkLists, Decode_FindsWhatIsThere)
{
	const Exact bytes = message(GetParam().words);
	Reader reader(bytes);
	const auto chunks = Chunks::decode(reader);
	ASSERT_TRUE(chunks);
	EXPECT_TRUE(reader.rest().empty());
	expect_lists(*chunks, GetParam().lists);
}

TEST_P(ChunkLists, Any_IsOneOfAnyKind)
{
	const Exact bytes = message(GetParam().words);
	Reader reader(bytes);
	const auto &lists = GetParam().lists;
	EXPECT_EQ(Chunks::decode(reader)->any(), !lists.reads.empty() || !lists.writes.empty() || lists.reply);
}

TEST_P(ChunkLists, Decode_LeavesWhatFollows)
{
	std::vector<std::byte> words = on_wire(GetParam().words);
	const std::vector<std::byte> more = on_wire({1, 2, 3});
	words.insert(words.end(), more.begin(), more.end());
	const Exact bytes(words);
	Reader reader(bytes);
	ASSERT_TRUE(Chunks::decode(reader));
	EXPECT_EQ(copy_of(reader.rest()), more);
}

TEST_P(ChunkLists, CutAnywhere_IsAnError)
{
	const std::vector<std::byte> words = on_wire(GetParam().words);
	for (std::size_t size = 0; size < words.size(); ++size) {
		const Exact bytes = cut(words, size);
		Reader reader(bytes);
		const auto error = error_of(Chunks::decode(reader));
		EXPECT_TRUE(error == Error::truncated || error == Error::bad_count) << size;
	}
}

TEST_P(ChunkLists, Encode_WritesTheSameWords)
{
	const ChunksToSend chunks = to_send(GetParam().lists);
	EXPECT_EQ(chunks.size(), GetParam().words.size_bytes());
	Exact room = room_of(chunks.size());
	Writer writer(room);
	ASSERT_TRUE(chunks.encode(writer));
	EXPECT_EQ(writer.size(), chunks.size());
	EXPECT_EQ(copy_of(room), on_wire(GetParam().words));
}

TEST_P(ChunkLists, EncodeIntoTooLittleRoom_IsNoRoom)
{
	const ChunksToSend chunks = to_send(GetParam().lists);
	for (std::size_t size = 0; size < chunks.size(); ++size) {
		Exact room = room_of(size);
		Writer writer(room);
		EXPECT_EQ(error_of(chunks.encode(writer)), Error::no_room) << size;
		EXPECT_LE(writer.size(), size);
	}
}

TEST(ChunkLists, DiscriminatorOtherThanZeroAndOne_IsReportedForEachList)
{
	for (const std::uint32_t bad : {2u, 0x01000000u, 0xffffffffu}) {
		const Exact in_list_start[] = {message({bad, 0, 0}), message({0, bad, 0}), message({0, 0, bad})};
		for (const Exact &bytes : in_list_start) {
			Reader reader(bytes);
			EXPECT_EQ(error_of(Chunks::decode(reader)), Error::bad_discriminator);
		}
		const Exact behind_an_item[] = {message({1, 4, 1, 1, 0, 0, bad}), message({0, 1, 1, 1, 1, 0, 0, bad})};
		for (const Exact &bytes : behind_an_item) {
			Reader reader(bytes);
			EXPECT_EQ(error_of(Chunks::decode(reader)), Error::bad_discriminator);
		}
	}
}

TEST(WriteChunkCount, BeyondTheMessage_IsABadCount)
{
	for (const std::uint32_t count : {2u, 3u, 0x0fffffffu, 0x10000000u, 0x10000001u, 0x80000000u, 0xffffffffu}) {
		const Exact bytes = message({count, 1, 2, 3, 4});
		Reader reader(bytes);
		EXPECT_EQ(error_of(WriteChunk::decode(reader)), Error::bad_count) << count;
	}
}

TEST(WriteChunkCount, OfExactlyTheMessage_IsTaken)
{
	const Exact bytes = message({2, 1, 2, 3, 4, 5, 6, 7, 8});
	Reader reader(bytes);
	const auto chunk = WriteChunk::decode(reader);
	ASSERT_TRUE(chunk);
	EXPECT_EQ(chunk->count(), 2u);
	EXPECT_EQ((*chunk)[0], (Segment{Handle{1}, 2, 0x0000000300000004}));
	EXPECT_EQ((*chunk)[1], (Segment{Handle{5}, 6, 0x0000000700000008}));
	EXPECT_EQ(chunk->length(), 8u);
}

TEST(WriteChunkCount, OneByteShortOfTheMessage_IsABadCount)
{
	const std::vector<std::byte> words = on_wire({2, 1, 2, 3, 4, 5, 6, 7, 8});
	const Exact bytes = cut(words, words.size() - 1);
	Reader reader(bytes);
	EXPECT_EQ(error_of(WriteChunk::decode(reader)), Error::bad_count);
}

TEST(WriteChunkLength, OfLargestSegments_DoesNotOverflow)
{
	const Exact bytes = message({2, 1, 0xffffffff, 0, 0, 2, 0xffffffff, 0, 0});
	Reader reader(bytes);
	const auto chunk = WriteChunk::decode(reader);
	ASSERT_TRUE(chunk);
	EXPECT_EQ(chunk->length(), 0x1fffffffeu);
}

TEST(Segment, FieldsKeepTheirExtremes)
{
	for (const std::uint32_t value : {0u, 1u, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
		const Exact bytes = message({1, value, 0, 0, 0, 0, 0});
		Reader reader(bytes);
		const auto reads = ReadList::decode(reader);
		ASSERT_TRUE(reads);
		EXPECT_EQ((*reads->begin()), (ReadSegment{Position{value}, {Handle{0}, 0, 0}}));

		const Exact handle = message({1, value, 0, 0, 0});
		Reader handle_reader(handle);
		EXPECT_EQ((*WriteChunk::decode(handle_reader))[0], (wire::Segment{Handle{value}, 0, 0}));
		const Exact length = message({1, 0, value, 0, 0});
		Reader length_reader(length);
		EXPECT_EQ((*WriteChunk::decode(length_reader))[0], (wire::Segment{Handle{0}, value, 0}));
		const Exact high = message({1, 0, 0, value, 0});
		Reader high_reader(high);
		EXPECT_EQ((*WriteChunk::decode(high_reader))[0],
			  (wire::Segment{Handle{0}, 0, std::uint64_t{value} << 32}));
		const Exact low = message({1, 0, 0, 0, value});
		Reader low_reader(low);
		EXPECT_EQ((*WriteChunk::decode(low_reader))[0], (wire::Segment{Handle{0}, 0, value}));
	}
}

TEST(Segment, DiffersByEachField)
{
	const wire::Segment segment{Handle{1}, 2, 3};
	EXPECT_EQ(segment, (wire::Segment{Handle{1}, 2, 3}));
	EXPECT_NE(segment, (wire::Segment{Handle{2}, 2, 3}));
	EXPECT_NE(segment, (wire::Segment{Handle{1}, 3, 3}));
	EXPECT_NE(segment, (wire::Segment{Handle{1}, 2, 4}));
}

TEST(ReadSegment, DiffersByEachField)
{
	const ReadSegment segment{Position{4}, {Handle{1}, 2, 3}};
	EXPECT_EQ(segment, (ReadSegment{Position{4}, {Handle{1}, 2, 3}}));
	EXPECT_NE(segment, (ReadSegment{Position{8}, {Handle{1}, 2, 3}}));
	EXPECT_NE(segment, (ReadSegment{Position{4}, {Handle{1}, 2, 4}}));
}

TEST(Lists, AsConstructed_AreEmpty)
{
	const ReadList reads;
	EXPECT_TRUE(reads.empty());
	EXPECT_EQ(reads.count(), 0u);
	EXPECT_EQ(reads.begin(), reads.end());
	EXPECT_EQ(reads.begin(), ReadList::Iterator());
	const WriteList writes;
	EXPECT_TRUE(writes.empty());
	EXPECT_EQ(writes.count(), 0u);
	EXPECT_EQ(writes.begin(), writes.end());
	EXPECT_EQ(writes.begin(), WriteList::Iterator());
}

TEST(Lists, PostIncrement_ReturnsWhereItWas)
{
	const Exact bytes = message(vectors::all_lists_words);
	Reader reader(bytes);
	const auto chunks = Chunks::decode(reader);
	ASSERT_TRUE(chunks);

	auto read = chunks->reads.begin();
	const auto first_read = read++;
	EXPECT_EQ(*first_read, vectors::read_chunk_of_three[0]);
	EXPECT_EQ(*read, vectors::read_chunk_of_three[1]);
	EXPECT_NE(first_read, read);

	auto write = chunks->writes.begin();
	const auto first_write = write++;
	expect_chunk(*first_write, vectors::three_segments);
	EXPECT_EQ(write, chunks->writes.end());
	EXPECT_NE(first_write, write);
}

TEST(Lists, AsLongAsTheMessage_AreWalkedOnce)
{
	constexpr std::uint32_t many = 10000;
	std::vector<std::uint32_t> words;
	for (std::uint32_t i = 0; i < many; ++i)
		words.insert(words.end(), {1, 4, i, 1, 0, 0});
	words.push_back(0);
	for (std::uint32_t i = 0; i < many; ++i)
		words.insert(words.end(), {1, 0});
	words.insert(words.end(), {0, 0});
	const Exact bytes = message(words);
	Reader reader(bytes);
	const auto chunks = Chunks::decode(reader);
	ASSERT_TRUE(chunks);
	EXPECT_EQ(chunks->reads.count(), many);
	EXPECT_EQ(chunks->writes.count(), many);
}

TEST(ChunksSize, IsTheSizeThatEncodeWrites)
{
	const std::vector<ReadSegment> reads(5);
	const std::vector<wire::Segment> segments(7);
	for (std::uint32_t read = 0; read <= reads.size(); ++read) {
		for (std::uint32_t write = 0; write <= segments.size(); ++write) {
			for (std::uint32_t reply = 0; reply <= segments.size(); ++reply) {
				const SegmentArray chunk = std::span(segments).first(write);
				ChunksToSend chunks{.reads = std::span(reads).first(read), .writes = {}, .reply = {}};
				if (write != 0)
					chunks.writes = std::span(&chunk, 1);
				if (reply != 0)
					chunks.reply = std::span(segments).first(reply);
				EXPECT_EQ(chunks_size(read, write, reply), chunks.size());
			}
		}
	}
}

TEST(ChunksSize, OfLargestCounts_DoesNotOverflow)
{
	constexpr std::uint32_t most = 0xffffffff;
	constexpr std::uint64_t largest = most;
	EXPECT_EQ(chunks_size(0, 0, 0), 12u);
	EXPECT_EQ(chunks_size(most, most, most), 12 + largest * 24 + 8 + largest * 16 + 4 + largest * 16);
}

using Lengths = std::vector<std::uint32_t>;

Lengths lengths_of(const WriteChunk &chunk)
{
	Lengths lengths;
	for (std::uint32_t i = 0; i < chunk.count(); ++i)
		lengths.push_back(chunk[i].length);
	return lengths;
}

/// Gives chunks back in exactly the bytes that they should take.
Exact given_back(const ReturnedChunks &chunks)
{
	Exact room = room_of(chunks.size());
	Writer writer(room);
	EXPECT_TRUE(chunks.encode(writer));
	EXPECT_EQ(writer.size(), chunks.size());
	return room;
}

Chunks decoded(const Exact &bytes)
{
	Reader reader(bytes);
	const auto chunks = Chunks::decode(reader);
	EXPECT_TRUE(chunks);
	EXPECT_TRUE(reader.rest().empty());
	return *chunks;
}

TEST_P(ChunkLists, GivenBackFull_AreAsTheyCameButForTheReadList)
{
	const ReceivedChunks offered(to_send(GetParam().lists));
	Lengths written;
	for (const WriteChunk chunk : offered->writes)
		written.push_back(static_cast<std::uint32_t>(chunk.length()));
	ReturnedChunks returned{offered->writes, written, offered->reply};
	if (offered->reply)
		returned.reply_written = static_cast<std::uint32_t>(offered->reply->length());
	vectors::Lists expected = GetParam().lists;
	expected.reads = {};
	EXPECT_EQ(returned.size(), to_send(expected).size());
	const Exact bytes = given_back(returned);
	expect_lists(decoded(bytes), expected);
}

TEST_P(ChunkLists, GivenBackIntoTooLittleRoom_AreNoRoom)
{
	const ReceivedChunks offered(to_send(GetParam().lists));
	const ReturnedChunks returned{offered->writes, {}, offered->reply};
	for (std::size_t size = 0; size < returned.size(); ++size) {
		Exact room = room_of(size);
		Writer writer(room);
		EXPECT_EQ(error_of(returned.encode(writer)), Error::no_room) << size;
		EXPECT_LE(writer.size(), size);
	}
}

TEST(ReturnedChunks, Unused_HaveLengthsOfZero)
{
	const ReceivedChunks offered({{}, vectors::two_write_chunks, SegmentArray(vectors::two_segments)});
	const Exact bytes = given_back({offered->writes, {}, offered->reply});
	const Chunks chunks = decoded(bytes);
	ASSERT_EQ(chunks.writes.count(), 2u);
	EXPECT_EQ(lengths_of(*chunks.writes.begin()), (Lengths{0, 0, 0}));
	EXPECT_EQ(lengths_of(*++chunks.writes.begin()), (Lengths{0, 0}));
	ASSERT_TRUE(chunks.reply);
	EXPECT_EQ(lengths_of(*chunks.reply), (Lengths{0, 0}));
	EXPECT_EQ((*chunks.reply)[1].handle, vectors::two_segments[1].handle);
	EXPECT_EQ((*chunks.reply)[1].offset, vectors::two_segments[1].offset);
}

TEST(ReturnedChunks, AreFilledInTheOrderOfTheirSegments)
{
	static constexpr wire::Segment segments[] = {
		{Handle{1}, 10, 0}, {Handle{2}, 0, 0}, {Handle{3}, 5, 0}, {Handle{4}, 7, 0}};
	const SegmentArray offer[] = {segments};
	const ReceivedChunks offered({{}, offer, SegmentArray(segments)});
	const auto filled = [&](std::uint32_t written) {
		const Lengths lengths = {written};
		const Exact bytes = given_back({offered->writes, lengths, offered->reply, 22 - written});
		const Chunks chunks = decoded(bytes);
		EXPECT_EQ((*chunks.writes.begin()).length(), written);
		EXPECT_EQ(chunks.reply->length(), 22 - written);
		return lengths_of(*chunks.writes.begin());
	};
	EXPECT_EQ(filled(0), (Lengths{0, 0, 0, 0}));
	EXPECT_EQ(filled(1), (Lengths{1, 0, 0, 0}));
	EXPECT_EQ(filled(10), (Lengths{10, 0, 0, 0}));
	EXPECT_EQ(filled(11), (Lengths{10, 0, 1, 0}));
	EXPECT_EQ(filled(15), (Lengths{10, 0, 5, 0}));
	EXPECT_EQ(filled(21), (Lengths{10, 0, 5, 6}));
	EXPECT_EQ(filled(22), (Lengths{10, 0, 5, 7}));
}

TEST(ReturnedChunks, BehindThoseThatWereWritten_AreUnused)
{
	constexpr SegmentArray offer[] = {vectors::three_segments, vectors::two_segments, vectors::three_segments};
	const ReceivedChunks offered({{}, offer, {}});
	const Lengths written = {0, 0x7000};
	const Exact bytes = given_back({offered->writes, written, {}});
	const Chunks chunks = decoded(bytes);
	auto chunk = chunks.writes.begin();
	EXPECT_EQ((*chunk++).length(), 0u);
	EXPECT_EQ((*chunk++).length(), 0x7000u);
	EXPECT_EQ((*chunk++).length(), 0u);
	EXPECT_EQ(chunk, chunks.writes.end());
	EXPECT_FALSE(chunks.reply);
}

} // namespace
} // namespace rpcordma::unit
