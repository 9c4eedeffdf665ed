// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include "proto/reply.hh"

namespace rpcordma::unit {
namespace {

using namespace proto;
using wire::Handle;
using wire::Segment;
using wire::Xid;

constexpr Xid xid{0xfeedbeef};

constexpr Segment offered_three[] = {
	{Handle{10}, 4096, 0x0000000110000000},
	{Handle{20}, 8192, 0x0000000220000000},
	{Handle{30}, 100, 0x0000000330000000},
};
constexpr Segment offered_one[] = {{Handle{40}, 4096, 0x0000000440000000}};

constexpr Offer no_offer{};
constexpr Offer write_offer{offered_three, {}};
constexpr Offer reply_offer{{}, offered_three};

/// The chunk that `offered` becomes when the responder returns these lengths.
std::vector<Segment> returned(wire::SegmentArray offered, std::initializer_list<std::uint32_t> lengths)
{
	std::vector<Segment> segments(offered.begin(), offered.end());
	auto length = lengths.begin();
	for (Segment &segment : segments)
		segment.length = *length++;
	return segments;
}

using Chunk = std::vector<Segment>;

/// What a responder sends.
struct Answer {
	bool nomsg = false;
	std::vector<wire::ReadSegment> reads = {};
	std::vector<Chunk> writes = {};
	std::optional<Chunk> reply = {};
	std::vector<std::uint32_t> payload = {0xfeedbeef, 1, 0, 0, 0, 0};
};

/// What has become of it, with copies of all that was in the message.
struct Judgement {
	std::optional<ReplyError> error;
	std::optional<std::uint32_t> written;
	std::optional<std::uint32_t> long_length;
	std::vector<std::byte> payload;
};

Judgement judge_body(const wire::Body &body, const Offer &offer)
{
	const auto accepted = accept_reply(body, xid, offer);
	Judgement judgement{error_of(accepted), {}, {}, {}};
	if (!accepted)
		return judgement;
	if (const auto *reply = std::get_if<ShortReply>(&*accepted)) {
		judgement.written = reply->written;
		judgement.payload = copy_of(reply->payload);
	}
	if (const auto *reply = std::get_if<LongReply>(&*accepted))
		judgement.long_length = reply->length;
	return judgement;
}

Judgement judge(const Answer &answer, const Offer &offer)
{
	std::vector<wire::SegmentArray> writes(answer.writes.begin(), answer.writes.end());
	wire::ChunksToSend chunks{answer.reads, writes, {}};
	if (answer.reply)
		chunks.reply = *answer.reply;
	std::vector<std::byte> bytes(16 + chunks.size());
	EXPECT_EQ(wire::encode(bytes, {xid, wire::Version::one, 1, wire::Direction::reply, answer.nomsg}, chunks),
		  bytes.size());
	if (!answer.nomsg) {
		const std::vector<std::byte> payload = on_wire(answer.payload);
		bytes.insert(bytes.end(), payload.begin(), payload.end());
	}
	const Exact received(bytes);
	const auto header = wire::decode(received);
	EXPECT_TRUE(header);
	return judge_body(header->body, offer);
}

TEST(ShortReply, WithoutChunks_IsAccepted)
{
	for (const Offer &offer : {no_offer, write_offer, reply_offer}) {
		const Judgement judgement = judge({}, offer);
		EXPECT_EQ(judgement.error, std::nullopt);
		EXPECT_EQ(judgement.written, 0u);
		EXPECT_EQ(judgement.payload, on_wire({0xfeedbeef, 1, 0, 0, 0, 0}));
	}
}

TEST(ShortReply, OfTheSmallestSize_IsAccepted)
{
	EXPECT_EQ(judge({.payload = {0xfeedbeef, 1, 1, 1, 1}}, no_offer).error, std::nullopt);
	EXPECT_EQ(smallest_rpc_reply, 20u);
}

TEST(ShortReply, TooShortToBeAReply_IsReported)
{
	EXPECT_EQ(judge({.payload = {0xfeedbeef, 1, 1, 1}}, no_offer).error, ReplyError::payload_too_short);
	EXPECT_EQ(judge({.payload = {}}, no_offer).error, ReplyError::payload_too_short);
}

TEST(ShortReply, WithAnotherXid_IsReported)
{
	EXPECT_EQ(judge({.payload = {0xfeedbeee, 1, 0, 0, 0, 0}}, no_offer).error, ReplyError::xid_mismatch);
	EXPECT_EQ(judge({.payload = {0xefbeedfe, 1, 0, 0, 0, 0}}, no_offer).error, ReplyError::xid_mismatch);
}

TEST(ShortReply, ThatIsNoReply_IsReported)
{
	for (const std::uint32_t type : {0u, 2u, 0x01000000u, 0xffffffffu})
		EXPECT_EQ(judge({.payload = {0xfeedbeef, type, 0, 0, 0, 0}}, no_offer).error, ReplyError::not_a_reply);
}

TEST(ReadList_InAReply, IsAProtocolError)
{
	const std::vector<wire::ReadSegment> reads = {{wire::Position{4}, offered_one[0]}};
	for (const Offer &offer : {no_offer, write_offer, reply_offer})
		EXPECT_EQ(judge({.reads = reads}, offer).error, ReplyError::read_list);
	// RDMA_NOMSG with a Read list is a Call; should it get here, it is no Reply either.
	EXPECT_EQ(
		judge({.nomsg = true, .reads = reads, .reply = returned(offered_three, {100, 0, 0})}, reply_offer).error,
		ReplyError::read_list);
}

TEST(WriteChunk, Filled_CountsItsBytes)
{
	const auto written = [](std::initializer_list<std::uint32_t> lengths) {
		return judge({.writes = {returned(offered_three, lengths)}}, write_offer).written;
	};
	EXPECT_EQ(written({0, 0, 0}), 0u);
	EXPECT_EQ(written({1, 0, 0}), 1u);
	EXPECT_EQ(written({4095, 0, 0}), 4095u);
	EXPECT_EQ(written({4096, 0, 0}), 4096u);
	EXPECT_EQ(written({4096, 1, 0}), 4097u);
	EXPECT_EQ(written({4096, 8192, 0}), 12288u);
	EXPECT_EQ(written({4096, 8192, 99}), 12387u);
	EXPECT_EQ(written({4096, 8192, 100}), 12388u);
}

TEST(WriteChunk, Filled_LeavesThePayloadInTheMessage)
{
	const Judgement judgement = judge({.writes = {returned(offered_three, {4096, 8192, 100})}}, write_offer);
	EXPECT_EQ(judgement.payload, on_wire({0xfeedbeef, 1, 0, 0, 0, 0}));
}

TEST(WriteChunk, Filled_StillNeedsAPayload)
{
	const Answer answer{.writes = {returned(offered_three, {4096, 0, 0})}, .payload = {0xfeedbeef, 1}};
	EXPECT_EQ(judge(answer, write_offer).error, ReplyError::payload_too_short);
}

TEST(WriteChunk, NotOffered_IsAProtocolError)
{
	const std::vector<Chunk> writes = {returned(offered_one, {0})};
	EXPECT_EQ(judge({.writes = writes}, no_offer).error, ReplyError::write_list);
	EXPECT_EQ(judge({.writes = writes}, reply_offer).error, ReplyError::write_list);
	EXPECT_EQ(judge({.writes = {Chunk{}}}, no_offer).error, ReplyError::write_list);
	EXPECT_EQ(judge({.nomsg = true, .writes = writes, .reply = returned(offered_three, {100, 0, 0})}, reply_offer)
			  .error,
		  ReplyError::write_list);
}

TEST(WriteList_LongerThanOffered, IsAProtocolError)
{
	const Chunk chunk = returned(offered_three, {0, 0, 0});
	EXPECT_EQ(judge({.writes = {chunk, chunk}}, write_offer).error, ReplyError::write_list);
	EXPECT_EQ(judge({.writes = {chunk, Chunk{}}}, write_offer).error, ReplyError::write_list);
	EXPECT_EQ(judge({.writes = {chunk, chunk, chunk}}, write_offer).error, ReplyError::write_list);
}

TEST(WriteChunk, WithAnotherNumberOfSegments_IsAProtocolError)
{
	Chunk fewer = returned(offered_three, {0, 0, 0});
	fewer.pop_back();
	EXPECT_EQ(judge({.writes = {fewer}}, write_offer).error, ReplyError::segment_count);
	Chunk more = returned(offered_three, {0, 0, 0});
	more.push_back({Handle{30}, 0, 0});
	EXPECT_EQ(judge({.writes = {more}}, write_offer).error, ReplyError::segment_count);
	EXPECT_EQ(judge({.writes = {Chunk{}}}, write_offer).error, ReplyError::segment_count);
}

TEST(WriteChunk, WithAChangedSegment_IsAProtocolError)
{
	for (std::size_t i = 0; i < std::size(offered_three); ++i) {
		Chunk handle = returned(offered_three, {0, 0, 0});
		handle[i].handle = Handle{11};
		EXPECT_EQ(judge({.writes = {handle}}, write_offer).error, ReplyError::segment_changed);
		Chunk offset = returned(offered_three, {0, 0, 0});
		offset[i].offset += 1;
		EXPECT_EQ(judge({.writes = {offset}}, write_offer).error, ReplyError::segment_changed);
		Chunk high_half = returned(offered_three, {0, 0, 0});
		high_half[i].offset ^= std::uint64_t{1} << 32;
		EXPECT_EQ(judge({.writes = {high_half}}, write_offer).error, ReplyError::segment_changed);
	}
}

TEST(WriteChunk, WithSwappedSegments_IsAProtocolError)
{
	Chunk swapped = returned(offered_three, {0, 0, 0});
	std::swap(swapped[0], swapped[1]);
	EXPECT_EQ(judge({.writes = {swapped}}, write_offer).error, ReplyError::segment_changed);
}

TEST(WriteChunk, WithALongerSegment_IsAProtocolError)
{
	const auto error = [](std::initializer_list<std::uint32_t> lengths) {
		return judge({.writes = {returned(offered_three, lengths)}}, write_offer).error;
	};
	EXPECT_EQ(error({4097, 0, 0}), ReplyError::segment_too_long);
	EXPECT_EQ(error({4096, 8193, 0}), ReplyError::segment_too_long);
	EXPECT_EQ(error({4096, 8192, 101}), ReplyError::segment_too_long);
	EXPECT_EQ(error({0xffffffff, 0xffffffff, 2}), ReplyError::segment_too_long);
}

TEST(WriteChunk, WithAGap_IsAProtocolError)
{
	const auto error = [](std::initializer_list<std::uint32_t> lengths) {
		return judge({.writes = {returned(offered_three, lengths)}}, write_offer).error;
	};
	EXPECT_EQ(error({0, 1, 0}), ReplyError::not_contiguous);
	EXPECT_EQ(error({0, 0, 1}), ReplyError::not_contiguous);
	EXPECT_EQ(error({4095, 1, 0}), ReplyError::not_contiguous);
	EXPECT_EQ(error({4096, 0, 1}), ReplyError::not_contiguous);
	EXPECT_EQ(error({4096, 8191, 100}), ReplyError::not_contiguous);
	EXPECT_EQ(error({0, 8192, 100}), ReplyError::not_contiguous);
}

TEST(WriteChunk, WithAnEmptySegmentOfOurOwn_IsNotAGap)
{
	constexpr Segment with_empty[] = {{Handle{1}, 4, 0}, {Handle{2}, 0, 0}, {Handle{3}, 4, 0}};
	const Offer offer{with_empty, {}};
	EXPECT_EQ(judge({.writes = {returned(with_empty, {4, 0, 4})}}, offer).written, 8u);
	EXPECT_EQ(judge({.writes = {returned(with_empty, {3, 0, 1})}}, offer).error, ReplyError::not_contiguous);
}

TEST(ReplyChunk, UnusedBesideAShortReply_IsAccepted)
{
	const Judgement judgement = judge({.reply = returned(offered_three, {0, 0, 0})}, reply_offer);
	EXPECT_EQ(judgement.error, std::nullopt);
	EXPECT_EQ(judgement.written, 0u);
	EXPECT_EQ(judgement.payload, on_wire({0xfeedbeef, 1, 0, 0, 0, 0}));
}

TEST(ReplyChunk, UsedBesideAShortReply_IsAProtocolError)
{
	EXPECT_EQ(judge({.reply = returned(offered_three, {1, 0, 0})}, reply_offer).error, ReplyError::reply_chunk);
	EXPECT_EQ(judge({.reply = returned(offered_three, {4096, 8192, 100})}, reply_offer).error,
		  ReplyError::reply_chunk);
}

TEST(ReplyChunk, NotOffered_IsAProtocolError)
{
	EXPECT_EQ(judge({.reply = returned(offered_one, {0})}, no_offer).error, ReplyError::reply_chunk);
	EXPECT_EQ(judge({.reply = Chunk{}}, no_offer).error, ReplyError::reply_chunk);
	EXPECT_EQ(judge({.reply = returned(offered_three, {0, 0, 0})}, write_offer).error, ReplyError::reply_chunk);
	EXPECT_EQ(judge({.nomsg = true, .reply = returned(offered_one, {100})}, no_offer).error,
		  ReplyError::reply_chunk);
}

TEST(ReplyChunk, ChangedBesideAShortReply_IsAProtocolError)
{
	Chunk chunk = returned(offered_three, {0, 0, 0});
	chunk[2].handle = Handle{31};
	EXPECT_EQ(judge({.reply = chunk}, reply_offer).error, ReplyError::segment_changed);
	EXPECT_EQ(judge({.reply = Chunk{}}, reply_offer).error, ReplyError::segment_count);
}

TEST(LongReply, GivesTheLengthOfTheReplyChunk)
{
	const auto length = [](std::initializer_list<std::uint32_t> lengths) {
		return judge({.nomsg = true, .reply = returned(offered_three, lengths)}, reply_offer).long_length;
	};
	EXPECT_EQ(length({20, 0, 0}), 20u);
	EXPECT_EQ(length({4096, 0, 0}), 4096u);
	EXPECT_EQ(length({4096, 8192, 100}), 12388u);
}

TEST(LongReply, TooShortToBeAReply_IsReported)
{
	for (const std::uint32_t length : {0u, 1u, 19u}) {
		const Answer answer{.nomsg = true, .reply = returned(offered_three, {length, 0, 0})};
		EXPECT_EQ(judge(answer, reply_offer).error, ReplyError::payload_too_short);
	}
}

TEST(LongReply, WithoutReplyChunk_HasNoPayload)
{
	for (const Offer &offer : {no_offer, write_offer, reply_offer})
		EXPECT_EQ(judge({.nomsg = true}, offer).error, ReplyError::no_payload);
	const Answer by_write_chunk{.nomsg = true, .writes = {returned(offered_three, {4096, 0, 0})}};
	EXPECT_EQ(judge(by_write_chunk, write_offer).error, ReplyError::no_payload);
}

TEST(LongReply, WithAChangedReplyChunk_IsAProtocolError)
{
	const auto error = [](const Chunk &chunk) { return judge({.nomsg = true, .reply = chunk}, reply_offer).error; };
	EXPECT_EQ(error(Chunk{}), ReplyError::segment_count);
	Chunk changed = returned(offered_three, {100, 0, 0});
	changed[0].offset = 0;
	EXPECT_EQ(error(changed), ReplyError::segment_changed);
	EXPECT_EQ(error(returned(offered_three, {4097, 0, 0})), ReplyError::segment_too_long);
	EXPECT_EQ(error(returned(offered_three, {4095, 1, 0})), ReplyError::not_contiguous);
}

TEST(LongReply, BesideAWriteChunk_IsAcceptedOnlyWhereThatIsUnused)
{
	const Offer both{offered_one, offered_three};
	Answer answer{
		.nomsg = true, .writes = {returned(offered_one, {0})}, .reply = returned(offered_three, {50, 0, 0})};
	EXPECT_EQ(judge(answer, both).long_length, 50u);
	answer.writes = {returned(offered_one, {1})};
	EXPECT_EQ(judge(answer, both).error, ReplyError::no_payload);
}

TEST(ErrorMessage, IsARefusal)
{
	const auto version = accept_reply(wire::VersionError{2, 5}, xid, no_offer);
	ASSERT_TRUE(version);
	const auto *range = std::get_if<VersionRefused>(&*version);
	ASSERT_TRUE(range);
	EXPECT_EQ(range->low, 2u);
	EXPECT_EQ(range->high, 5u);

	const auto chunks = accept_reply(wire::ChunkError{}, xid, write_offer);
	ASSERT_TRUE(chunks);
	EXPECT_TRUE(std::holds_alternative<ChunksRefused>(*chunks));
}

TEST(ReservedType, IsNoReply)
{
	EXPECT_EQ(error_of(accept_reply(wire::MsgP{}, xid, no_offer)), ReplyError::wrong_type);
	EXPECT_EQ(error_of(accept_reply(wire::Done{}, xid, no_offer)), ReplyError::wrong_type);
}

TEST(PayloadIsReply, LooksAtSizeXidAndType)
{
	const std::vector<std::byte> words = on_wire({0xfeedbeef, 1, 0, 0, 0});
	EXPECT_TRUE(payload_is_reply(Exact(words), xid));
	for (std::size_t size = 0; size < words.size(); ++size)
		EXPECT_EQ(error_of(payload_is_reply(cut(words, size), xid)), ReplyError::payload_too_short);
	EXPECT_EQ(error_of(payload_is_reply(Exact(words), Xid{1})), ReplyError::xid_mismatch);
	EXPECT_EQ(error_of(payload_is_reply(message({0xfeedbeef, 0, 0, 0, 0}), xid)), ReplyError::not_a_reply);
}

std::vector<std::byte> bytes_of(const FailureReply &reply)
{
	return {reply.bytes().begin(), reply.bytes().end()};
}

TEST(FailureReply, ThatIsUnintelligible_IsAnXidAndNothingElse)
{
	EXPECT_EQ(bytes_of(FailureReply(xid, Failure::unintelligible)), on_wire({0xfeedbeef}));
}

TEST(FailureReply, ThatDeniesTheVersion_EndsWithTheReason)
{
	EXPECT_EQ(bytes_of(FailureReply(xid, Failure::version_denied)), on_wire({0xfeedbeef, 1, 1, 0}));
}

} // namespace
} // namespace rpcordma::unit
