// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include <string_view>

#include "harness/vectors/rpcrdma_v2.hh"
#include "proto/arrival.hh"

namespace rpcordma::unit {
namespace {

using namespace proto;
using vectors::Kind;

/// What has become of a message, without what refers to its bytes.
struct Verdict {
	std::size_t kind;
	std::optional<Ignored> ignored = {};
	std::optional<Refusal> refusal = {};

	friend bool operator==(const Verdict &, const Verdict &) = default;
};

template <typename Type> constexpr std::size_t index_of = Arrival(Type{}).index();

constexpr Verdict call{index_of<Call>};
constexpr Verdict reverse_reply{index_of<ReverseReply>};
constexpr Verdict too_short{index_of<Ignored>, Ignored::too_short, {}};
constexpr Verdict done{index_of<Ignored>, Ignored::done, {}};
constexpr Verdict error_message{index_of<Ignored>, Ignored::error_message, {}};
constexpr Verdict reply{index_of<Ignored>, Ignored::reply, {}};
constexpr Verdict optional_reply{index_of<Ignored>, Ignored::optional_reply, {}};
constexpr Verdict other_version{index_of<Refused>, {}, Refusal::version};
constexpr Verdict malformed{index_of<Refused>, {}, Refusal::malformed};
constexpr Verdict unknown_option{index_of<Refused>, {}, Refusal::option};

void PrintTo(const Verdict &verdict, std::ostream *out)
{
	*out << verdict.kind << (verdict == too_short || verdict == malformed ? "a" : "b");
}

Verdict judge(const Exact &bytes, wire::Version highest = wire::Version::two)
{
	const Arrival arrival = classify_arrival(bytes, highest);
	Verdict verdict{arrival.index()};
	if (const auto *ignored = std::get_if<Ignored>(&arrival))
		verdict.ignored = *ignored;
	if (const auto *refused = std::get_if<Refused>(&arrival))
		verdict.refusal = refused->with;
	return verdict;
}

Verdict judge(std::initializer_list<std::uint32_t> words, wire::Version highest = wire::Version::two)
{
	return judge(message(words), highest);
}

Verdict expected_of(std::string_view name)
{
	if (name == "ShortCall" || name == "LongCall")
		return call;
	// That its chunks hold no Call is found later.
	if (name == "LongReply")
		return call;
	if (name == "ShortReply" || name == "DeniedReply" || name == "ChunkedReply")
		return reverse_reply;
	if (name == "VersionError" || name == "ChunkError")
		return error_message;
	return name == "Done" ? too_short : malformed;
}

class Arrived : public testing::TestWithParam<vectors::MessageVector> {};
INSTANTIATE_TEST_SUITE_P(Vectors, Arrived, testing::ValuesIn(vectors::message_vectors), vector_name);

TEST_P(Arrived, WholeMessage_IsACallOrGetsItsAnswer)
{
	EXPECT_EQ(judge(message(GetParam().words)), expected_of(GetParam().name));
}

TEST_P(Arrived, MessageCutAnywhere_IsNeverTakenForMore)
{
	constexpr std::size_t fixed_fields = 16;
	constexpr std::size_t smallest = 28;
	constexpr std::size_t xid_and_type = 8;
	const std::vector<std::byte> words = on_wire(GetParam().words);
	const std::size_t header = words.size() - 4 * GetParam().payload;
	const bool is_error = GetParam().words[3] == 4;
	for (std::size_t size = 0; size < words.size(); ++size) {
		const Exact bytes = cut(words, size);
		if (size < fixed_fields)
			EXPECT_EQ(judge(bytes), too_short) << size;
		else if (is_error)
			EXPECT_EQ(judge(bytes), error_message) << size;
		else if (size < smallest)
			EXPECT_EQ(judge(bytes), too_short) << size;
		else if (size < header + xid_and_type)
			EXPECT_EQ(judge(bytes), malformed) << size;
		else
			EXPECT_EQ(judge(bytes), expected_of(GetParam().name)) << size;
	}
}

TEST_P(Arrived, MessageOfAnUnknownVersion_IsRefusedButForErrors)
{
	for (const std::uint32_t version : {0u, 3u, 4u, 0x01000000u, 0xffffffffu}) {
		std::vector<std::uint32_t> words(GetParam().words.begin(), GetParam().words.end());
		words[1] = version;
		const Exact bytes = message(words);
		const Verdict otherwise = words.size() < 7 ? too_short : other_version;
		EXPECT_EQ(judge(bytes), words[3] == 4 ? error_message : otherwise);
	}
}

class MalformedArrived : public testing::TestWithParam<vectors::MalformedVector> {};
INSTANTIATE_TEST_SUITE_P(Vectors, MalformedArrived, testing::ValuesIn(vectors::malformed_vectors), vector_name);

TEST_P(MalformedArrived, MalformedMessage_IsNeverTakenForGood)
{
	const auto words = GetParam().words;
	Verdict expected = malformed;
	if (words.size() < 4)
		expected = too_short;
	else if (words[3] == 4)
		expected = error_message;
	else if (words.size() < 7)
		expected = too_short;
	else if (words[1] != 1)
		expected = other_version;
	EXPECT_EQ(judge(message(words)), expected);
}

TEST(ArrivedCall, KeepsWhatItCameWith)
{
	const Exact bytes =
		message({7, 1, 3, 0, 1, 4, 9, 9, 9, 9, 0, 1, 0, 0, 1, 1, 2, 3, 4, 5, /* payload */ 7, 0, 2});
	const Arrival arrival = classify_arrival(bytes, wire::Version::two);
	const auto *its = std::get_if<Call>(&arrival);
	ASSERT_TRUE(its);
	EXPECT_EQ(its->xid, wire::Xid{7});
	EXPECT_EQ(its->credits, 3u);
	EXPECT_FALSE(its->is_long);
	EXPECT_EQ(its->chunks.reads.count(), 1u);
	EXPECT_EQ(its->chunks.writes.count(), 1u);
	EXPECT_TRUE(its->chunks.reply);
	EXPECT_EQ(copy_of(its->payload), on_wire({7, 0, 2}));
}

TEST(ArrivedCall, InAChunk_HasNoPayloadOfItsOwn)
{
	std::vector<std::uint32_t> words(std::begin(vectors::long_call_words), std::end(vectors::long_call_words));
	words.insert(words.end(), {vectors::message_xid, 0, 2});
	const Exact bytes = message(words);
	const Arrival arrival = classify_arrival(bytes, wire::Version::two);
	const auto *its = std::get_if<Call>(&arrival);
	ASSERT_TRUE(its);
	EXPECT_EQ(its->xid, wire::Xid{vectors::message_xid});
	EXPECT_EQ(its->credits, vectors::message_credits);
	EXPECT_TRUE(its->is_long);
	EXPECT_EQ(its->chunks.reads.count(), 1u);
	EXPECT_TRUE(its->payload.empty());
}

TEST(ArrivedReply, KeepsWhatItCameWith)
{
	const Exact bytes = message({7, 1, 3, 0, 0, 1, 0, 0, 0, /* payload */ 7, 1, 2});
	const Arrival arrival = classify_arrival(bytes, wire::Version::two);
	const auto *its = std::get_if<ReverseReply>(&arrival);
	ASSERT_TRUE(its);
	EXPECT_EQ(its->xid, wire::Xid{7});
	EXPECT_EQ(its->credits, 3u);
	EXPECT_EQ(its->chunks.writes.count(), 1u);
	EXPECT_EQ(copy_of(its->payload), on_wire({7, 1, 2}));
}

/// Of a message of version 2, where that is accepted.
Verdict expected_of(const vectors::v2::MessageVector &vector)
{
	using Kind2 = vectors::v2::Kind;
	const bool is_call = vector.direction == vectors::v2::call;
	switch (vector.kind) {
	case Kind2::msg:
		return is_call ? call : reverse_reply;
	case Kind2::nomsg:
		return is_call ? call : reply;
	case Kind2::optional:
		return is_call ? unknown_option : optional_reply;
	default:
		return error_message;
	}
}

class ArrivedInTwo : public testing::TestWithParam<vectors::v2::MessageVector> {};
INSTANTIATE_TEST_SUITE_P(Vectors, ArrivedInTwo, testing::ValuesIn(vectors::v2::message_vectors), vector_name);

TEST_P(ArrivedInTwo, WholeMessage_IsACallOrGetsItsAnswer)
{
	EXPECT_EQ(judge(message(GetParam().words)), expected_of(GetParam()));
}

TEST_P(ArrivedInTwo, WhereOneIsTheHighest_IsRefusedButForErrors)
{
	const Verdict expected = GetParam().words[3] == 4 ? error_message : other_version;
	EXPECT_EQ(judge(message(GetParam().words), wire::Version::one), expected);
}

TEST_P(ArrivedInTwo, MessageCutAnywhere_IsNeverTakenForMore)
{
	constexpr std::size_t fixed_fields = 16;
	constexpr std::size_t smallest = 28;
	constexpr std::size_t xid_and_type = 8;
	const std::vector<std::byte> words = on_wire(GetParam().words);
	const std::size_t header = words.size() - 4 * GetParam().payload;
	const bool is_reply = GetParam().direction == vectors::v2::reply;
	for (std::size_t size = 0; size < words.size(); ++size) {
		const Exact bytes = cut(words, size);
		Verdict expected = expected_of(GetParam());
		if (size < fixed_fields)
			expected = too_short;
		else if (GetParam().words[3] == 4)
			expected = error_message;
		else if (size < smallest)
			expected = too_short;
		else if (size < header)
			expected = is_reply ? reply : malformed;
		else if (GetParam().kind == vectors::v2::Kind::msg && size < header + xid_and_type)
			expected = is_reply ? reply : malformed;
		EXPECT_EQ(judge(bytes), expected) << size;
	}
}

class MalformedArrivedInTwo : public testing::TestWithParam<vectors::v2::MalformedVector> {};
INSTANTIATE_TEST_SUITE_P(Vectors, MalformedArrivedInTwo, testing::ValuesIn(vectors::v2::malformed_vectors),
			 vector_name);

TEST_P(MalformedArrivedInTwo, MalformedMessage_IsNeverTakenForGood)
{
	const std::vector<std::byte> words = on_wire(GetParam().words);
	const Exact bytes = cut(words, words.size() - GetParam().cut);
	const auto expected = [&](Verdict otherwise) {
		if (GetParam().words[3] == 4)
			return error_message;
		return wire::Bytes(bytes).size() < 28 ? too_short : otherwise;
	};
	const auto &words_of = GetParam().words;
	const bool has_direction = words_of.size() > 4 && (words_of[3] == 0 || words_of[3] == 1 || words_of[3] == 5);
	const bool is_reply = has_direction && words_of[4] == vectors::v2::reply;
	EXPECT_EQ(judge(bytes), expected(is_reply ? reply : malformed));
	EXPECT_EQ(judge(bytes, wire::Version::one), expected(other_version));
}

TEST(ArrivedInOne, WhereOneIsTheHighest_IsTheSame)
{
	for (const vectors::MessageVector &vector : vectors::message_vectors)
		EXPECT_EQ(judge(message(vector.words), wire::Version::one), judge(message(vector.words)));
}

TEST(ArrivedReply_OfVersionTwo, ThatCannotBeDecoded_GetsNoAnswer)
{
	constexpr std::uint32_t bad_list = 2;
	for (const std::uint32_t type : {0u, 1u})
		for (const std::uint32_t direction : {0u, 1u, 2u})
			EXPECT_EQ(judge({7, 2, 3, type, direction, bad_list, 0, 0}),
				  direction == 1 ? reply : malformed);
	/* An option whose length is more than there is. */
	EXPECT_EQ(judge({7, 2, 3, 5, 1, 9, 100, 0}), reply);
	EXPECT_EQ(judge({7, 2, 3, 5, 0, 9, 100, 0}), malformed);
	/* Types without a direction, and the version that has none. */
	EXPECT_EQ(judge({7, 2, 3, 2, 1, bad_list, 0, 0}), malformed);
	EXPECT_EQ(judge({7, 1, 3, 0, 1, bad_list, 0, 0}), malformed);
}

TEST(ArrivedDirection_OfVersionTwo, IsThatOfThePayload)
{
	constexpr std::uint32_t as_call = 0;
	constexpr std::uint32_t as_reply = 1;
	EXPECT_EQ(judge({7, 2, 3, 0, as_call, 0, 0, 0, 7, 0}), call);
	EXPECT_EQ(judge({7, 2, 3, 0, as_reply, 0, 0, 0, 7, 1}), reverse_reply);
	// A Call gets an answer to its XID. A Reply gets none: it may be a good one to somebody else's Call.
	for (const std::uint32_t type : {1u, 2u, 0xffffffffu})
		EXPECT_EQ(judge({7, 2, 3, 0, as_call, 0, 0, 0, 7, type}), malformed);
	for (const std::uint32_t type : {0u, 2u, 0xffffffffu})
		EXPECT_EQ(judge({7, 2, 3, 0, as_reply, 0, 0, 0, 7, type}), reply);
	EXPECT_EQ(judge({7, 2, 3, 0, as_call, 0, 0, 0, 8, 0}), malformed);
	EXPECT_EQ(judge({7, 2, 3, 0, as_reply, 0, 0, 0, 8, 1}), reply);
	EXPECT_EQ(judge({7, 2, 3, 0, as_call, 0, 0, 0}), malformed);
	EXPECT_EQ(judge({7, 2, 3, 0, as_reply, 0, 0, 0}), reply);
}

TEST(ArrivedDirection_OfVersionTwo, IsThatOfALongMessageToo)
{
	EXPECT_EQ(judge({7, 2, 3, 1, 0, 1, 0, 9, 100, 0, 0, 0, 0, 0}), call);
	EXPECT_EQ(judge({7, 2, 3, 1, 0, 0, 0, 0}), call);
	EXPECT_EQ(judge({7, 2, 3, 1, 1, 1, 0, 9, 100, 0, 0, 0, 0, 0}), reply);
	EXPECT_EQ(judge({7, 2, 3, 1, 1, 0, 0, 1, 1, 9, 100, 0, 0}), reply);
}

TEST(ArrivedCall, KeepsTheVersionThatItIsAnsweredIn)
{
	const auto version = [](const auto &words) {
		const Exact bytes = message(words);
		const Arrival arrival = classify_arrival(bytes, wire::Version::two);
		const auto *its = std::get_if<Call>(&arrival);
		return its ? std::optional(its->version) : std::nullopt;
	};
	EXPECT_EQ(version(vectors::short_call_words), wire::Version::one);
	EXPECT_EQ(version(vectors::long_call_words), wire::Version::one);
	EXPECT_EQ(version(vectors::v2::short_call_words), wire::Version::two);
	EXPECT_EQ(version(vectors::v2::long_call_words), wire::Version::two);
	EXPECT_EQ(Call{}.version, wire::Version::one);
}

TEST(ArrivedCall, OfVersionTwo_KeepsWhatItCameWith)
{
	const Exact bytes = message(vectors::v2::call_with_all_lists_words);
	const Arrival arrival = classify_arrival(bytes, wire::Version::two);
	const auto *its = std::get_if<Call>(&arrival);
	ASSERT_TRUE(its);
	EXPECT_EQ(its->xid, wire::Xid{vectors::message_xid});
	EXPECT_EQ(its->credits, vectors::message_credits);
	EXPECT_FALSE(its->is_long);
	EXPECT_EQ(its->chunks.reads.count(), 3u);
	EXPECT_EQ(its->chunks.writes.count(), 1u);
	EXPECT_TRUE(its->chunks.reply);
	EXPECT_EQ(copy_of(its->payload), on_wire(vectors::Words(vectors::v2::call_with_all_lists_words).last(10)));

	const Exact in_a_chunk = message(vectors::v2::long_call_words);
	const Arrival long_arrival = classify_arrival(in_a_chunk, wire::Version::two);
	const auto *its_long = std::get_if<Call>(&long_arrival);
	ASSERT_TRUE(its_long);
	EXPECT_TRUE(its_long->is_long);
	EXPECT_EQ(its_long->chunks.reads.count(), 1u);
	EXPECT_TRUE(its_long->payload.empty());
}

TEST(ArrivedReply, OfVersionTwo_KeepsWhatItCameWith)
{
	const Exact bytes = message(vectors::v2::chunked_reply_words);
	const Arrival arrival = classify_arrival(bytes, wire::Version::two);
	const auto *its = std::get_if<ReverseReply>(&arrival);
	ASSERT_TRUE(its);
	EXPECT_EQ(its->xid, wire::Xid{vectors::message_xid});
	EXPECT_EQ(its->credits, vectors::message_credits);
	EXPECT_EQ(its->chunks.writes.count(), 1u);
	EXPECT_EQ(copy_of(its->payload), on_wire(vectors::Words(vectors::v2::chunked_reply_words).last(6)));
}

TEST(OptionalMessage_OfAnUnknownType, IsRefusedWhereItIsACallWhateverItCarries)
{
	EXPECT_EQ(judge({7, 2, 3, 5, 0, 9, 0}), unknown_option);
	EXPECT_EQ(judge({7, 2, 3, 5, 0, 9, 0, 7, 0, 2}), unknown_option);
	EXPECT_EQ(judge({7, 2, 3, 5, 0, 9, 5, 0, 0, 7, 0, 2}), unknown_option);
	const Refused refused = std::get<Refused>(classify_arrival(message({7, 2, 3, 5, 0, 9, 0}), wire::Version::two));
	EXPECT_EQ(refused.xid, wire::Xid{7});
	EXPECT_EQ(refused.version, 2u);
}

TEST(OptionalMessage_OfAnUnknownType, IsNeverAnsweredWhereItIsAReply)
{
	EXPECT_EQ(judge({7, 2, 3, 5, 1, 9, 0}), optional_reply);
	EXPECT_EQ(judge({7, 2, 3, 5, 1, 9, 0, 7, 1, 0}), optional_reply);
	EXPECT_EQ(judge({7, 2, 3, 5, 1, 9, 5, 0, 0, 7, 1, 0}), optional_reply);
}

/// What a refusal looks like on the wire.
std::vector<std::byte> refusal(const Refused &message, wire::Version highest)
{
	Exact room = room_of(28);
	const auto size = encode_refusal(room, message, 5, highest);
	EXPECT_TRUE(size);
	return copy_of(wire::Bytes(room).first(size.value_or(0)));
}

TEST(EncodedRefusal, HasTheVersionOfItsMessage)
{
	for (const std::uint32_t version : {1u, 2u}) {
		EXPECT_EQ(refusal({wire::Xid{7}, version, Refusal::malformed}, wire::Version::two),
			  on_wire({7, version, 5, 4, 2}));
		EXPECT_EQ(refusal({wire::Xid{7}, version, Refusal::malformed}, wire::Version::one),
			  on_wire({7, version, 5, 4, 2}));
	}
	EXPECT_EQ(refusal({wire::Xid{7}, 2, Refusal::option}, wire::Version::two), on_wire({7, 2, 5, 4, 3}));
	EXPECT_EQ(refusal({wire::Xid{7}, 2, Refusal{255}}, wire::Version::two), on_wire({7, 2, 5, 4, 3}));
}

TEST(EncodedRefusal, OfAVersion_SaysWhichThereAre)
{
	for (const std::uint32_t version : {0u, 2u, 3u, 0xffffffffu}) {
		EXPECT_EQ(refusal({wire::Xid{7}, version, Refusal::version}, wire::Version::one),
			  on_wire({7, version, 5, 4, 1, 1, 1}));
		EXPECT_EQ(refusal({wire::Xid{7}, version, Refusal::version}, wire::Version::two),
			  on_wire({7, version, 5, 4, 1, 1, 2}));
	}
}

TEST(EncodedRefusal, IntoTooLittleRoom_IsNoRoom)
{
	for (const Refusal with : {Refusal::version, Refusal::malformed, Refusal::option}) {
		const std::size_t size = with == Refusal::version ? 28 : 20;
		Exact room = room_of(size - 1);
		EXPECT_EQ(error_of(encode_refusal(room, {wire::Xid{7}, 2, with}, 5, wire::Version::two)),
			  wire::Error::no_room);
	}
}

TEST(EncodedRefusal, IsFoundInItsMessage)
{
	for (const Refusal with : {Refusal::version, Refusal::malformed, Refusal::option})
		EXPECT_EQ(refusal_in(refusal({wire::Xid{7}, 2, with}, wire::Version::two)), with);
	EXPECT_EQ(refusal_in(message({7, 1, 5, 0, 0, 0, 0})), std::nullopt);
	EXPECT_EQ(refusal_in(message({7, 1, 5, 4})), std::nullopt);
}

TEST(EncodedRefusal, IsNeverAnswered)
{
	for (const Refusal with : {Refusal::version, Refusal::malformed, Refusal::option}) {
		Exact room = room_of(28);
		ASSERT_TRUE(encode_refusal(room, {wire::Xid{7}, 2, with}, 5, wire::Version::two));
		EXPECT_EQ(judge(room), error_message);
		EXPECT_TRUE(wire::decode(room));
	}
}

TEST(RefusedMessage, IsAnsweredWithItsOwnXidAndVersion)
{
	const auto refused = [](std::initializer_list<std::uint32_t> words) {
		return std::get<Refused>(classify_arrival(message(words), wire::Version::two));
	};
	EXPECT_EQ(refused({7, 3, 3, 0, 0, 0, 0}).xid, wire::Xid{7});
	EXPECT_EQ(refused({7, 3, 3, 0, 0, 0, 0}).version, 3u);
	EXPECT_EQ(refused({8, 0, 3, 0, 0, 0, 0}).version, 0u);
	EXPECT_EQ(refused({9, 1, 3, 0, 0, 0, 0, 10, 0}).xid, wire::Xid{9});
	EXPECT_EQ(refused({9, 1, 3, 0, 0, 0, 0, 10, 0}).version, 1u);
}

TEST(RefusedMessage, HasATypeThatIsNotSent)
{
	EXPECT_EQ(judge({7, 1, 3, 2, 512, 4096, 0, 0, 0, 7, 0, 2, 0, 0, 0, 0, 0, 0, 0}), malformed);
	for (const std::uint32_t type : {5u, 6u, 0x01000000u, 0xffffffffu})
		EXPECT_EQ(judge({7, 1, 3, type, 0, 0, 0, 7, 0}), malformed);
}

TEST(IgnoredMessage, OfTypeDone_IsNeverAnswered)
{
	EXPECT_EQ(judge({7, 1, 3, 3}), too_short);
	EXPECT_EQ(judge({7, 1, 3, 3, 0, 0, 0}), done);
	EXPECT_EQ(judge({7, 1, 3, 3, 0, 0, 0, 7, 0, 2}), done);
	EXPECT_EQ(judge({7, 3, 3, 3, 0, 0, 0}), other_version);
}

TEST(IgnoredMessage, ShorterThanAnyHeader_IsNeverAnsweredWhateverItSays)
{
	for (const std::uint32_t version : {0u, 1u, 2u})
		for (const std::uint32_t type : {0u, 1u, 2u, 3u, 5u})
			EXPECT_EQ(judge({7, version, 3, type, 0, 0}), too_short);
}

TEST(RefusedMessage, HasAnotherXidInItsPayload)
{
	EXPECT_EQ(judge({7, 1, 3, 0, 0, 0, 0, 7, 0}), call);
	EXPECT_EQ(judge({7, 1, 3, 0, 0, 0, 0, 7, 1}), reverse_reply);
	for (const std::uint32_t xid : {0u, 6u, 0x07000000u, 0xffffffffu}) {
		EXPECT_EQ(judge({7, 1, 3, 0, 0, 0, 0, xid, 0}), malformed);
		EXPECT_EQ(judge({7, 1, 3, 0, 0, 0, 0, xid, 1}), malformed);
	}
}

TEST(RefusedMessage, IsNeitherCallNorReply)
{
	for (const std::uint32_t type : {2u, 0x01000000u, 0xffffffffu})
		EXPECT_EQ(judge({7, 1, 3, 0, 0, 0, 0, 7, type}), malformed);
	EXPECT_EQ(judge({7, 1, 3, 0, 0, 0, 0}), malformed);
}

TEST(ErrorMessage_ToAResponder, IsNeverAnswered)
{
	for (const std::uint32_t version : {0u, 1u, 2u, 0xffffffffu}) {
		EXPECT_EQ(judge({7, version, 3, 4}), error_message);
		EXPECT_EQ(judge({7, version, 3, 4, 1, 1, 1}), error_message);
		EXPECT_EQ(judge({7, version, 3, 4, 2}), error_message);
		EXPECT_EQ(judge({7, version, 3, 4, 3, 0, 0, 0, 0}), error_message);
	}
}

TEST(PayloadIsCall, LooksAtXidAndType)
{
	const auto is_call = [](std::initializer_list<std::uint32_t> words) {
		return payload_is_call(message(words), wire::Xid{7});
	};
	EXPECT_TRUE(is_call({7, 0}));
	EXPECT_TRUE(is_call({7, 0, 2, 3}));
	EXPECT_FALSE(is_call({7, 1}));
	EXPECT_FALSE(is_call({8, 0}));
	EXPECT_FALSE(is_call({0x07000000, 0}));
	EXPECT_FALSE(is_call({7, 0x01000000}));
}

TEST(PayloadIsCall, NeedsBothToBeThere)
{
	const std::vector<std::byte> words = on_wire({0, 0});
	for (std::size_t size = 0; size < 8; ++size)
		EXPECT_FALSE(payload_is_call(cut(words, size), wire::Xid{0})) << size;
	EXPECT_TRUE(payload_is_call(cut(words, 8), wire::Xid{0}));
}

TEST(MayBeReverseReply, OfAReplyWithoutChunks_IsTrue)
{
	EXPECT_TRUE(may_be_reverse_reply(message({7, 1, 3, 0, 0, 0, 0, 7, 1})));
	EXPECT_TRUE(may_be_reverse_reply(message(vectors::short_reply_words)));
	EXPECT_TRUE(may_be_reverse_reply(message(vectors::denied_reply_words)));
}

TEST(MayBeReverseReply, OfACall_IsFalse)
{
	EXPECT_FALSE(may_be_reverse_reply(message(vectors::short_call_words)));
	for (const std::uint32_t type : {0u, 2u, 0x01000000u, 0xffffffffu})
		EXPECT_FALSE(may_be_reverse_reply(message({1, 1, 1, 1, 1, 1, 1, 1, type, 1, 1})));
}

TEST(MayBeReverseReply, OfAMessageTooShortToBeOne_IsFalse)
{
	const std::vector<std::byte> words = on_wire({1, 1, 1, 1, 1, 1, 1, 1, 1});
	for (std::size_t size = 0; size < 36; ++size)
		EXPECT_FALSE(may_be_reverse_reply(cut(words, size))) << size;
	EXPECT_TRUE(may_be_reverse_reply(cut(words, 36)));
}

TEST(MayBeReverseReply, OfVersionTwo_LooksBehindItsLongerHeader)
{
	EXPECT_TRUE(may_be_reverse_reply(message(vectors::v2::short_reply_words)));
	EXPECT_FALSE(may_be_reverse_reply(message(vectors::v2::short_call_words)));
	// A header of version 1 would end one word earlier.
	EXPECT_FALSE(may_be_reverse_reply(message({1, 2, 1, 0, 1, 0, 0, 0, 1, 0})));
	EXPECT_TRUE(may_be_reverse_reply(message({1, 2, 1, 0, 1, 0, 0, 0, 0, 1})));
	const std::vector<std::byte> words = on_wire({1, 2, 1, 1, 1, 1, 1, 1, 1, 1});
	for (std::size_t size = 0; size < 40; ++size)
		EXPECT_FALSE(may_be_reverse_reply(cut(words, size))) << size;
	EXPECT_TRUE(may_be_reverse_reply(cut(words, 40)));
}

TEST(SmallestRpcCall, IsThatOfANullProcedure)
{
	// Without the RPC-over-RDMA header in front of it.
	EXPECT_EQ(smallest_rpc_call, sizeof(vectors::short_call_words) - 28);
}

} // namespace
} // namespace rpcordma::unit
