// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include "proto/received.hh"

namespace rpcordma::unit {
namespace {

using namespace proto;
using vectors::Kind;

using Words = std::initializer_list<std::uint32_t>;

std::optional<Dropped> dropped(vectors::Words words)
{
	const Exact bytes = message(words);
	const Received received = classify_received(bytes, wire::Version::two);
	if (const auto *why = std::get_if<Dropped>(&received))
		return *why;
	return std::nullopt;
}

std::optional<Dropped> dropped(Words words)
{
	return dropped(vectors::Words(words.begin(), words.size()));
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

TEST(Grant, OfWhatMayBelongToTheOtherDirection_IsIgnored)
{
	EXPECT_EQ(grant({7, 1, 33, 4, 2}), std::nullopt);
	EXPECT_EQ(grant({7, 1, 33, 4, 1, 1, 1}), std::nullopt);
	EXPECT_EQ(grant({7, 1, 33, 0, 0, 0, 0, 7, 2, 0, 0, 0, 0}), std::nullopt);
	EXPECT_EQ(grant({7, 1, 33, 0, 0, 0, 0, 7}), std::nullopt);
}

} // namespace
} // namespace rpcordma::unit
