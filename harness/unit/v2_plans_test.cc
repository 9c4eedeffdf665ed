// SPDX-License-Identifier: GPL-2.0-only
/// What a responder does with the longer header of version 2.
#include "harness/unit/support.hh"

#include "harness/vectors/rpcrdma_v2.hh"
#include "proto/assembly.hh"
#include "proto/reply.hh"
#include "proto/response.hh"

namespace rpcordma::unit {
namespace {

using namespace proto;
using vectors::Words;
using wire::Version;
using wire::Xid;

constexpr Xid xid{vectors::message_xid};

/// In a header of version 1: four fixed fields, three list ends, one Write chunk of three segments, a Reply chunk of two.
constexpr std::uint32_t bare_header = 28;
constexpr std::uint32_t full_header = bare_header + (8 + 3 * 16) + (4 + 2 * 16);
constexpr std::uint32_t direction = 4;

TEST(CallChunksOfVersionTwo, ThatCouldNotBeGivenBack_AreRefusedBeforeAnythingIsDone)
{
	const auto refusal = [](Words words, std::uint32_t threshold) {
		const Exact bytes = message(words);
		const Arrival arrival = classify_arrival(bytes, Version::two);
		CallLimits limits{
			.stream = 1 << 20, .segments = 260, .room_segments = 260, .reply_threshold = threshold};
		return error_of(Assembly::of(std::get<Call>(arrival), limits));
	};
	const Words bare = vectors::v2::short_call_words;
	EXPECT_EQ(refusal(bare, bare_header + direction), std::nullopt);
	EXPECT_EQ(refusal(bare, bare_header + direction - 1), CallError::no_room_for_reply);
	EXPECT_EQ(refusal(vectors::short_call_words, bare_header), std::nullopt);

	const std::uint32_t full[] = {
		0xfeedbeef, 2, 32, 1,	0, // Long Call
		1,	    0, 9,  100, 0, 0, 0, // Position Zero Read chunk
		1,	    3, 9,  100, 0, 0, 9, 100, 0, 0, 9, 100, 0, 0, 0, // Write list
		1,	    2, 9,  100, 0, 0, 9, 100, 0, 0, // Reply chunk
	};
	EXPECT_EQ(refusal(full, full_header + direction), std::nullopt);
	EXPECT_EQ(refusal(full, full_header + direction - 1), CallError::no_room_for_reply);
}

TEST(LongCallOfVersionTwo, WithoutAReadList_HasNoPayloadStream)
{
	const Exact bytes = message({7, 2, 3, 1, 0, 0, 0, 0});
	const Arrival arrival = classify_arrival(bytes, Version::two);
	const CallLimits limits{.stream = 4096, .segments = 4, .room_segments = 4, .reply_threshold = 4096};
	EXPECT_EQ(error_of(Assembly::of(std::get<Call>(arrival), limits)), CallError::no_payload);
}

TEST(CallOfVersionTwo, IsPutTogetherAsThoseOfVersionOneAre)
{
	// An item of 100 bytes at Position 44, behind its count.
	const auto call = [](std::uint32_t version, std::initializer_list<std::uint32_t> more) {
		std::vector<std::uint32_t> words = {0xfeedbeef, version, 32, 0};
		words.insert(words.end(), more);
		words.insert(words.end(), {1, 44, 9, 100, 0, 0, 0, 0, 0});
		words.insert(words.end(), {0xfeedbeef, 0, 2, 100003, 3, 7, 0, 0, 0, 0, 100});
		return message(words);
	};
	const CallLimits limits{.stream = 4096, .segments = 4, .room_segments = 4, .reply_threshold = 4096};
	for (const Exact &bytes : {call(1, {}), call(2, {0})}) {
		const Arrival arrival = classify_arrival(bytes, Version::two);
		const auto *its = std::get_if<Call>(&arrival);
		ASSERT_TRUE(its);
		const auto assembly = Assembly::of(*its, limits);
		ASSERT_TRUE(assembly);
		EXPECT_EQ(assembly->shape(), CallShape::one_item);
		EXPECT_EQ(assembly->size(), 144u);
		EXPECT_EQ(assembly->position(), 44u);
	}
}

TEST(ReplyOfVersionTwo, FillsTheThresholdToTheByte)
{
	const ReceivedChunks offered({{}, vectors::one_write_chunk, wire::SegmentArray(vectors::two_segments)});
	const auto plan = [&](std::uint32_t size, Version version, std::uint32_t threshold) {
		return plan_reply(size, ReducedItems{}, *offered, version, threshold);
	};
	constexpr std::uint32_t threshold = full_header + 100;
	EXPECT_EQ(plan(100, Version::one, threshold)->transfer, ReplyTransfer::short_reply);
	EXPECT_EQ(plan(100, Version::two, threshold + direction)->transfer, ReplyTransfer::short_reply);
	EXPECT_EQ(plan(100, Version::two, threshold + direction - 1)->transfer, ReplyTransfer::long_reply);
	EXPECT_EQ(plan(100, Version::two, full_header + direction)->transfer, ReplyTransfer::long_reply);
	EXPECT_EQ(error_of(plan(100, Version::two, full_header + direction - 1)), ReplyPlanError::fits_nowhere);
	EXPECT_EQ(plan(100, Version::one, full_header)->transfer, ReplyTransfer::long_reply);
}

/// What a requester makes of a Reply of one Write chunk, or of one Reply chunk, in a header of that version.
std::expected<Accepted, ReplyError> accepted(Words words, const Offer &offer)
{
	const Exact bytes = message(words);
	const auto header = wire::decode(bytes);
	EXPECT_TRUE(header);
	return accept_reply(header->body, xid, offer);
}

TEST(ReplyOfVersionTwo, IsAcceptedByWhatWasOffered)
{
	const auto in_message = accepted(vectors::v2::chunked_reply_words, {vectors::three_segments, {}});
	ASSERT_TRUE(in_message);
	const auto *short_reply = std::get_if<proto::ShortReply>(&*in_message);
	ASSERT_TRUE(short_reply);
	EXPECT_EQ(short_reply->written, 0x8123u);
	EXPECT_EQ(short_reply->payload.size(), 24u);

	const auto in_chunk = accepted(vectors::v2::long_reply_words, {{}, vectors::two_segments});
	ASSERT_TRUE(in_chunk);
	const auto *long_reply = std::get_if<proto::LongReply>(&*in_chunk);
	ASSERT_TRUE(long_reply);
	EXPECT_EQ(long_reply->length, 0x3000u);
	EXPECT_EQ(error_of(accepted(vectors::v2::long_reply_words, {})), ReplyError::reply_chunk);
}

TEST(ReplyOfVersionTwo, WhosePayloadIsACall_IsNotAReply)
{
	const std::uint32_t words[] = {0xfeedbeef, 2, 32, 0, 1, 0, 0, 0, 0xfeedbeef, 0, 2, 100003, 4, 0, 0, 0, 0, 0};
	EXPECT_EQ(error_of(accepted(words, {})), ReplyError::not_a_reply);
}

TEST(ErrorOfVersionTwo, EndsItsCallAsThoseOfVersionOneDo)
{
	const auto bad_header = accepted(vectors::v2::bad_header_words, {});
	ASSERT_TRUE(bad_header);
	EXPECT_TRUE(std::holds_alternative<ChunksRefused>(*bad_header));
	const auto version = accepted(vectors::v2::version_error_words, {});
	ASSERT_TRUE(version);
	const auto *range = std::get_if<VersionRefused>(&*version);
	ASSERT_TRUE(range);
	EXPECT_EQ(range->low, 1u);
	EXPECT_EQ(range->high, 2u);
}

TEST(AcceptedError, IsNoReply)
{
	EXPECT_TRUE(is_error(VersionRefused{1, 1}));
	EXPECT_TRUE(is_error(ChunksRefused{}));
	EXPECT_FALSE(is_error(proto::ShortReply{}));
	EXPECT_FALSE(is_error(proto::LongReply{}));
}

TEST(OptionsOfVersionTwo, AreNoReplies)
{
	EXPECT_EQ(error_of(accepted(vectors::v2::invalid_option_words, {})), ReplyError::wrong_type);
	EXPECT_EQ(error_of(accepted(vectors::v2::bare_optional_reply_words, {})), ReplyError::wrong_type);
}

} // namespace
} // namespace rpcordma::unit
