// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include "harness/vectors/rpcrdma_v2.hh"
#include "proto/received.hh"

namespace rpcordma::unit {
namespace {

using namespace proto;
using vectors::Kind;

using Words = std::initializer_list<std::uint32_t>;

std::optional<Dropped> dropped(const Exact &bytes, wire::Version highest = wire::Version::two)
{
	const Received received = classify_received(bytes, highest);
	if (const auto *why = std::get_if<Dropped>(&received))
		return *why;
	return std::nullopt;
}

std::optional<Dropped> dropped(vectors::Words words, wire::Version highest = wire::Version::two)
{
	return dropped(message(words), highest);
}

std::optional<Dropped> dropped(Words words, wire::Version highest = wire::Version::two)
{
	return dropped(vectors::Words(words.begin(), words.size()), highest);
}

class Classified : public testing::TestWithParam<vectors::MessageVector> {};
INSTANTIATE_TEST_SUITE_P(Vectors, Classified, testing::ValuesIn(vectors::message_vectors), vector_name);

TEST_P(Classified, WholeMessage_IsACallOrForACall)
{
	const std::string_view name = GetParam().name;
	if (GetParam().kind == Kind::msgp || GetParam().kind == Kind::done) {
		EXPECT_TRUE(dropped(GetParam().words));
		return;
	}
	const bool is_call = name == "ShortCall" || name == "LongCall";
	const Exact bytes = message(GetParam().words);
	const Received received = classify_received(bytes, wire::Version::two);
	if (is_call) {
		const auto *call = std::get_if<Call>(&received);
		ASSERT_TRUE(call);
		EXPECT_EQ(call->xid, wire::Xid{vectors::message_xid});
		EXPECT_EQ(call->credits, vectors::message_credits);
		EXPECT_EQ(copy_of(call->payload), on_wire(GetParam().words.last(GetParam().payload)));
		return;
	}
	const auto *for_call = std::get_if<ForCall>(&received);
	ASSERT_TRUE(for_call);
	EXPECT_EQ(for_call->xid, wire::Xid{vectors::message_xid});
	EXPECT_EQ(for_call->credits, vectors::message_credits);
	EXPECT_EQ(for_call->body.index(), static_cast<std::size_t>(GetParam().kind));
}

TEST(Classified, Reply_KeepsWhatItsHeaderSays)
{
	for (const std::uint32_t chunks : {0u, 1u}) {
		const Exact bytes = chunks == 0 ?
					    message({7, 2, 3, 0, 1, 0, 0, 0, /* payload */ 7, 1}) :
					    message({7, 2, 3, 0, 1, 0, 1, 1, 1, 2, 3, 4, 0, 0, /* payload */ 7, 1});
		const Received received = classify_received(bytes, wire::Version::two);
		const auto *for_call = std::get_if<ForCall>(&received);
		ASSERT_TRUE(for_call);
		EXPECT_EQ(for_call->version, 2u);
		const auto *msg = std::get_if<wire::Msg>(&for_call->body);
		ASSERT_TRUE(msg);
		EXPECT_EQ(msg->direction, wire::Direction::reply);
		EXPECT_EQ(msg->chunks.writes.count(), chunks);
		EXPECT_EQ(msg->payload.size(), 8u);
	}
}

TEST(Classified, ReverseCallByReadChunks_KeepsItsChunks)
{
	const Exact bytes = message(vectors::long_call_words);
	const Received received = classify_received(bytes, wire::Version::two);
	const auto *call = std::get_if<Call>(&received);
	ASSERT_TRUE(call);
	EXPECT_EQ(call->chunks.reads.count(), 1u);
	EXPECT_TRUE(call->is_long);
	EXPECT_TRUE(call->payload.empty());
}

TEST(Classified, ReverseCallInline_KeepsItsChunks)
{
	const Exact bytes = message({7, 1, 3, 0, 0, 0, 1, 1, 1, 2, 3, 4, /* payload */ 7, 0});
	const Received received = classify_received(bytes, wire::Version::two);
	const auto *call = std::get_if<Call>(&received);
	ASSERT_TRUE(call);
	EXPECT_EQ(call->xid, wire::Xid{7});
	EXPECT_EQ(call->credits, 3u);
	EXPECT_TRUE(call->chunks.reply);
	EXPECT_FALSE(call->is_long);
	EXPECT_EQ(call->payload.size(), 8u);
}

TEST(Classified, ShorterThanAHeader_IsTooShort)
{
	for (const std::uint32_t type : {0u, 1u, 2u, 3u, 5u, 0xffffffffu}) {
		for (const std::uint32_t version : {0u, 1u, 2u}) {
			const std::vector<std::byte> words = on_wire({7, version, 3, type, 0, 0, 0});
			for (std::size_t size = 0; size < 28; ++size) {
				const Exact bytes = cut(words, size);
				const Received received = classify_received(bytes, wire::Version::two);
				const auto *why = std::get_if<Dropped>(&received);
				ASSERT_TRUE(why) << size;
				EXPECT_EQ(*why, Dropped::too_short) << size;
			}
		}
	}
}

TEST(Classified, HeaderCutInItsChunks_IsUndecodable)
{
	const std::vector<std::byte> words = on_wire({7, 1, 3, 1, 0, 1, 1, 1, 4096, 0, 64, 0, 0});
	for (std::size_t size = 28; size < words.size(); ++size) {
		const Exact bytes = cut(words, size);
		const Received received = classify_received(bytes, wire::Version::two);
		const auto *why = std::get_if<Dropped>(&received);
		ASSERT_TRUE(why) << size;
		EXPECT_EQ(*why, Dropped::undecodable_header) << size;
	}
	EXPECT_TRUE(std::holds_alternative<ForCall>(classify_received(Exact(words), wire::Version::two)));
}

TEST(Classified, ErrorShorterThanAHeader_IsForTheCall)
{
	const Exact bytes = message({7, 1, 3, 4, 2});
	const Received received = classify_received(bytes, wire::Version::two);
	const auto *for_call = std::get_if<ForCall>(&received);
	ASSERT_TRUE(for_call);
	EXPECT_EQ(for_call->xid, wire::Xid{7});
	EXPECT_TRUE(std::holds_alternative<wire::ChunkError>(for_call->body));
}

TEST(Classified, ReservedType_IsDropped)
{
	EXPECT_EQ(dropped({7, 1, 3, 2, 0, 0, 0, 0, 0, 7, 1, 0, 0, 0, 0}), Dropped::reserved_type);
	EXPECT_EQ(dropped({7, 1, 3, 3, 0, 0, 0}), Dropped::reserved_type);
}

TEST(Classified, UnknownVersion_IsDropped)
{
	for (const std::uint32_t version : {0u, 3u, 0xffffffffu}) {
		for (std::uint32_t type = 0; type < 4; ++type)
			EXPECT_EQ(dropped({1, version, 1, type, 0, 0, 0, 1, 1, 0, 0, 0}), Dropped::unsupported_version);
		EXPECT_EQ(dropped({1, version, 1, 4, 2}), Dropped::unsupported_version);
	}
}

TEST(Classified, VersionErrorOfAnyVersion_IsForTheCall)
{
	for (const std::uint32_t version : {0u, 1u, 2u, 0xffffffffu}) {
		const Exact bytes = message({9, version, 5, 4, 1, 2, 3});
		const Received received = classify_received(bytes, wire::Version::two);
		const auto *for_call = std::get_if<ForCall>(&received);
		ASSERT_TRUE(for_call);
		EXPECT_TRUE(std::holds_alternative<wire::VersionError>(for_call->body));
	}
}

TEST(Classified, UndecodableError_IsDiscardedSilently)
{
	EXPECT_EQ(dropped({1, 1, 1, 4}), Dropped::undecodable_error);
	EXPECT_EQ(dropped({1, 1, 1, 4, 0}), Dropped::undecodable_error);
	EXPECT_EQ(dropped({1, 1, 1, 4, 3, 1, 1}), Dropped::undecodable_error);
	EXPECT_EQ(dropped({1, 1, 1, 4, 1, 1}), Dropped::undecodable_error);
	EXPECT_EQ(dropped({1, 2, 1, 4, 1, 1}), Dropped::undecodable_error);
	EXPECT_EQ(dropped({1, 2, 1, 4}), Dropped::undecodable_error);
}

TEST(Classified, UnknownTypeOfVersionOne_IsUndecodable)
{
	for (const std::uint32_t type : {5u, 0xffffffffu})
		EXPECT_EQ(dropped({1, 1, 1, type, 0, 0, 0}), Dropped::undecodable_header);
}

class MalformedClassified : public testing::TestWithParam<vectors::MalformedVector> {};
INSTANTIATE_TEST_SUITE_P(Vectors, MalformedClassified, testing::ValuesIn(vectors::malformed_vectors), vector_name);

TEST_P(MalformedClassified, MalformedMessage_IsNeverTakenForGood)
{
	EXPECT_TRUE(dropped(GetParam().words));
}

TEST(Classified, PayloadTooShortToSayWhatItIs_IsForTheCall)
{
	const std::vector<std::byte> words = on_wire({7, 1, 3, 0, 0, 0, 0, 7, 0});
	for (std::size_t size = 28; size < 36; ++size) {
		const Exact bytes = cut(words, size);
		EXPECT_TRUE(std::holds_alternative<ForCall>(classify_received(bytes, wire::Version::two))) << size;
	}
	EXPECT_TRUE(std::holds_alternative<Call>(classify_received(Exact(words), wire::Version::two)));
}

TEST(Classified, MessageTypeOtherThanCall_IsForTheCall)
{
	for (const std::uint32_t type : {1u, 2u, 0x01000000u, 0xffffffffu}) {
		const Exact bytes = message({7, 1, 3, 0, 0, 0, 0, 7, type, 0, 0, 0});
		EXPECT_TRUE(std::holds_alternative<ForCall>(classify_received(bytes, wire::Version::two)));
	}
}

TEST(Classified, NoMsgWithoutReadList_IsForTheCall)
{
	const Exact bytes = message({7, 1, 3, 1, 0, 0, 0});
	EXPECT_TRUE(std::holds_alternative<ForCall>(classify_received(bytes, wire::Version::two)));
}

TEST(Classified, MsgWithReadListButReply_IsForTheCall)
{
	const Exact bytes = message({7, 1, 3, 0, 1, 4, 1, 1, 0, 0, 0, 0, 0, 7, 1, 0, 0, 0});
	EXPECT_TRUE(std::holds_alternative<ForCall>(classify_received(bytes, wire::Version::two)));
}

/// What becomes of a message of version 2, where that is spoken: Call, ForCall and Refused as such.
enum class Fate : std::uint8_t { call, for_call, refused, dropped };

Fate fate(const Exact &bytes, wire::Version highest = wire::Version::two)
{
	const Received received = classify_received(bytes, highest);
	if (std::holds_alternative<Call>(received))
		return Fate::call;
	if (std::holds_alternative<ForCall>(received))
		return Fate::for_call;
	return std::holds_alternative<Refused>(received) ? Fate::refused : Fate::dropped;
}

Fate fate(Words words, wire::Version highest = wire::Version::two)
{
	return fate(message(words), highest);
}

Fate expected_of(const vectors::v2::MessageVector &vector)
{
	using Kind2 = vectors::v2::Kind;
	const bool is_call = vector.direction == vectors::v2::call;
	switch (vector.kind) {
	case Kind2::msg:
	case Kind2::nomsg:
		return is_call ? Fate::call : Fate::for_call;
	case Kind2::optional:
		return is_call ? Fate::refused : Fate::dropped;
	case Kind2::invalid_option:
		return Fate::dropped;
	default:
		return Fate::for_call;
	}
}

class ClassifiedInTwo : public testing::TestWithParam<vectors::v2::MessageVector> {};
INSTANTIATE_TEST_SUITE_P(Vectors, ClassifiedInTwo, testing::ValuesIn(vectors::v2::message_vectors), vector_name);

TEST_P(ClassifiedInTwo, WholeMessage_GoesWhereItsDirectionSays)
{
	const Exact bytes = message(GetParam().words);
	EXPECT_EQ(fate(bytes), expected_of(GetParam()));
	const Received received = classify_received(bytes, wire::Version::two);
	const std::vector<std::byte> payload = on_wire(GetParam().words.last(GetParam().payload));
	if (const auto *call = std::get_if<Call>(&received)) {
		EXPECT_EQ(call->xid, wire::Xid{vectors::message_xid});
		EXPECT_EQ(call->credits, vectors::message_credits);
		EXPECT_EQ(call->version, wire::Version::two);
		EXPECT_EQ(call->is_long, GetParam().kind == vectors::v2::Kind::nomsg);
		EXPECT_EQ(call->chunks.reads.count(), GetParam().lists.reads.size());
		EXPECT_EQ(call->chunks.writes.count(), GetParam().lists.writes.size());
		EXPECT_EQ(copy_of(call->payload), payload);
	}
	if (const auto *for_call = std::get_if<ForCall>(&received)) {
		EXPECT_EQ(for_call->xid, wire::Xid{vectors::message_xid});
		EXPECT_EQ(for_call->credits, vectors::message_credits);
		EXPECT_EQ(for_call->version, 2u);
		const auto header = wire::decode(bytes);
		ASSERT_TRUE(header);
		EXPECT_EQ(for_call->body.index(), header->body.index());
	}
	if (const auto *refused = std::get_if<Refused>(&received)) {
		EXPECT_EQ(refused->xid, wire::Xid{vectors::message_xid});
		EXPECT_EQ(refused->version, 2u);
		EXPECT_EQ(refused->with, Refusal::option);
	}
}

TEST_P(ClassifiedInTwo, WhereOneIsTheHighest_IsDroppedButForVersionErrors)
{
	const Exact bytes = message(GetParam().words);
	if (GetParam().kind == vectors::v2::Kind::version_error)
		EXPECT_EQ(fate(bytes, wire::Version::one), Fate::for_call);
	else
		EXPECT_EQ(dropped(bytes, wire::Version::one), Dropped::unsupported_version);
}

// What a message of version 2 that cannot be decoded gets.
std::optional<Refusal> refusal(const Exact &bytes)
{
	const Received received = classify_received(bytes, wire::Version::two);
	const auto *const refused = std::get_if<Refused>(&received);
	if (!refused)
		return std::nullopt;
	EXPECT_EQ(refused->xid, wire::Xid{vectors::message_xid});
	EXPECT_EQ(refused->version, 2u);
	return refused->with;
}

// Whether its words say that it goes to a responder.
bool is_for_responder(vectors::Words words)
{
	return (words[3] < 2 || words[3] == 5) && words[4] == vectors::v2::call;
}

TEST_P(ClassifiedInTwo, MessageCutAnywhere_IsNeverTakenForMore)
{
	const std::vector<std::byte> words = on_wire(GetParam().words);
	const std::size_t header = words.size() - 4 * GetParam().payload;
	const bool is_error = GetParam().words[3] == 4;
	const std::size_t smallest = is_error ? 16 : 28;
	for (std::size_t size = 0; size < words.size(); ++size) {
		const Exact bytes = cut(words, size);
		if (size < smallest)
			EXPECT_EQ(dropped(bytes), Dropped::too_short) << size;
		else if (size < header && is_for_responder(GetParam().words))
			EXPECT_EQ(refusal(bytes), Refusal::malformed) << size;
		else if (size < header)
			EXPECT_EQ(dropped(bytes), is_error ? Dropped::undecodable_error : Dropped::undecodable_header)
				<< size;
		else
			EXPECT_EQ(fate(bytes), expected_of(GetParam())) << size;
	}
}

class MalformedClassifiedInTwo : public testing::TestWithParam<vectors::v2::MalformedVector> {};
INSTANTIATE_TEST_SUITE_P(Vectors, MalformedClassifiedInTwo, testing::ValuesIn(vectors::v2::malformed_vectors),
			 vector_name);

TEST_P(MalformedClassifiedInTwo, MalformedMessage_IsNeverTakenForGood)
{
	const std::vector<std::byte> words = on_wire(GetParam().words);
	const Exact bytes = cut(words, words.size() - GetParam().cut);
	const bool is_error = GetParam().words[3] == 4;
	const bool is_short = !is_error && wire::Bytes(bytes).size() < 28;
	const auto expected = [&](Dropped of_others) {
		if (is_error)
			return Dropped::undecodable_error;
		return is_short ? Dropped::too_short : of_others;
	};
	if (!is_short && is_for_responder(GetParam().words))
		EXPECT_EQ(refusal(bytes), Refusal::malformed);
	else
		EXPECT_EQ(dropped(bytes), expected(Dropped::undecodable_header));
	EXPECT_EQ(dropped(bytes, wire::Version::one), expected(Dropped::unsupported_version));
}

TEST(Classified, InOneWhereOneIsTheHighest_IsTheSame)
{
	for (const vectors::MessageVector &vector : vectors::message_vectors) {
		const Exact bytes = message(vector.words);
		EXPECT_EQ(fate(bytes, wire::Version::one), fate(bytes));
		EXPECT_EQ(dropped(bytes, wire::Version::one), dropped(bytes));
	}
}

TEST(ClassifiedDirection, OfVersionTwo_IsThatOfTheHeaderWhateverThePayloadSays)
{
	for (const std::uint32_t type : {0u, 1u, 2u, 0xffffffffu}) {
		EXPECT_EQ(fate({7, 2, 3, 0, 0, 0, 0, 0, 7, type}), Fate::call);
		EXPECT_EQ(fate({7, 2, 3, 0, 1, 0, 0, 0, 7, type}), Fate::for_call);
	}
	for (const std::uint32_t reads : {0u, 1u}) {
		const auto with = [&](std::uint32_t direction) {
			return reads == 0 ? fate({7, 2, 3, 1, direction, 0, 0, 0}) :
					    fate({7, 2, 3, 1, direction, 1, 0, 9, 100, 0, 0, 0, 0, 0});
		};
		EXPECT_EQ(with(0), Fate::call);
		EXPECT_EQ(with(1), Fate::for_call);
	}
}

TEST(Classified, CallsVersion_IsThatOfTheMessage)
{
	const auto version = [](const auto &words) {
		const Exact bytes = message(words);
		return std::get<Call>(classify_received(bytes, wire::Version::two)).version;
	};
	EXPECT_EQ(version(vectors::short_call_words), wire::Version::one);
	EXPECT_EQ(version(vectors::long_call_words), wire::Version::one);
	EXPECT_EQ(version(vectors::v2::short_call_words), wire::Version::two);
	EXPECT_EQ(version(vectors::v2::long_call_words), wire::Version::two);
	const Exact reply = message(vectors::short_reply_words);
	EXPECT_EQ(std::get<ForCall>(classify_received(reply, wire::Version::two)).version, 1u);
	EXPECT_EQ(ForCall{}.version, 1u);
}

TEST(Classified, OptionalMessageOfAnUnknownType_IsRefusedAsACallAndDroppedAsAReply)
{
	for (const std::uint32_t info : {0u, 3u}) {
		const std::uint32_t word = 0x01020300;
		const auto optional = [&](std::uint32_t direction) {
			return info == 0 ? message({7, 2, 3, 5, direction, 9, 0, 7, direction}) :
					   message({7, 2, 3, 5, direction, 9, info, word, 7, direction});
		};
		EXPECT_EQ(fate(optional(0)), Fate::refused);
		EXPECT_EQ(dropped(optional(1)), Dropped::optional_reply);
	}
}

TEST(Classified, OptionError_SaysNothingOfTheCallThatHasItsXid)
{
	EXPECT_EQ(dropped(vectors::v2::invalid_option_words), Dropped::option_error);
}

TEST(Classified, RefusalOfAnOption_IsAnsweredWithItsOwnXid)
{
	const Exact bytes = message({7, 2, 3, 5, 0, 9, 0});
	const Received received = classify_received(bytes, wire::Version::two);
	const auto *refused = std::get_if<Refused>(&received);
	ASSERT_TRUE(refused);
	Exact room = room_of(20);
	EXPECT_EQ(encode_refusal(room, *refused, 1, wire::Version::two), 20u);
	EXPECT_EQ(copy_of(room), on_wire({7, 2, 1, 4, 3}));
}

std::optional<std::uint32_t> grant(Words words)
{
	const Exact bytes = message(words);
	const Received received = classify_received(bytes, wire::Version::two);
	const auto *for_call = std::get_if<ForCall>(&received);
	EXPECT_TRUE(for_call);
	return grant_of(*for_call);
}

TEST(Grant, OfAReply_IsTaken)
{
	EXPECT_EQ(grant({7, 1, 33, 0, 0, 0, 0, 7, 1, 0, 0, 0, 0}), 33u);
	EXPECT_EQ(grant({7, 1, 0, 0, 0, 0, 0, 7, 1, 0, 0, 0, 0}), 0u);
	EXPECT_EQ(grant({7, 1, 33, 1, 0, 0, 0}), 33u);
}

TEST(Grant, OfAReplyOfVersionTwo_IsTakenWhateverItsPayload)
{
	EXPECT_EQ(grant({7, 2, 33, 0, 1, 0, 0, 0, 7, 1, 0, 0, 0, 0}), 33u);
	EXPECT_EQ(grant({7, 2, 33, 0, 1, 0, 0, 0}), 33u);
	EXPECT_EQ(grant({7, 2, 0, 0, 1, 0, 0, 0, 7, 1, 0, 0, 0, 0}), 0u);
	EXPECT_EQ(grant({7, 2, 33, 1, 1, 0, 0, 1, 1, 9, 100, 0, 0}), 33u);
}

TEST(Grant, OfAnErrorOfVersionTwo_IsTakenBecauseItIsAlwaysAReply)
{
	EXPECT_EQ(grant({7, 2, 33, 4, 2}), 33u);
	EXPECT_EQ(grant({7, 2, 33, 4, 1, 1, 1}), 33u);
	EXPECT_EQ(grant({7, 3, 33, 4, 1, 1, 1}), std::nullopt);
}

TEST(Grant, OfWhatMayBelongToTheOtherDirection_IsIgnored)
{
	EXPECT_EQ(grant({7, 1, 33, 4, 2}), std::nullopt);
	EXPECT_EQ(grant({7, 1, 33, 4, 1, 1, 1}), std::nullopt);
	EXPECT_EQ(grant({7, 1, 33, 0, 0, 0, 0, 7, 2, 0, 0, 0, 0}), std::nullopt);
	EXPECT_EQ(grant({7, 1, 33, 0, 0, 0, 0, 7}), std::nullopt);
}

} // namespace
} // namespace rpcordma::unit
