// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include "proto/rpc_message.hh"

namespace rpcordma::unit {
namespace {

using namespace proto;
using wire::Direction;

/// The direction that a message of the words goes in.
Direction direction(std::initializer_list<std::uint32_t> words)
{
	const Exact bytes = message(words);
	const auto header = wire::decode(bytes);
	EXPECT_TRUE(header);
	if (const auto *msg = std::get_if<wire::Msg>(&header->body))
		return direction_of(*msg);
	return direction_of(std::get<wire::NoMsg>(header->body));
}

TEST(DirectionOfMsg, OfVersionOne_IsThatOfThePayload)
{
	EXPECT_EQ(direction({7, 1, 3, 0, 0, 0, 0, 7, 0}), Direction::call);
	EXPECT_EQ(direction({7, 1, 3, 0, 0, 0, 0, 7, 1}), Direction::reply);
	EXPECT_EQ(direction({7, 1, 3, 0, 0, 0, 0, 8, 0}), Direction::call);
}

TEST(DirectionOfMsg, OfVersionOneThatIsNoCall_IsReply)
{
	EXPECT_EQ(direction({7, 1, 3, 0, 0, 0, 0}), Direction::reply);
	EXPECT_EQ(direction({7, 1, 3, 0, 0, 0, 0, 7}), Direction::reply);
	for (const std::uint32_t type : {2u, 0x01000000u, 0xffffffffu})
		EXPECT_EQ(direction({7, 1, 3, 0, 0, 0, 0, 7, type}), Direction::reply);
}

TEST(DirectionOfMsg, OfVersionTwo_IsThatOfTheHeaderWhateverThePayloadSays)
{
	for (const std::uint32_t type : {0u, 1u, 2u, 0xffffffffu}) {
		EXPECT_EQ(direction({7, 2, 3, 0, 0, 0, 0, 0, 7, type}), Direction::call);
		EXPECT_EQ(direction({7, 2, 3, 0, 1, 0, 0, 0, 7, type}), Direction::reply);
	}
	EXPECT_EQ(direction({7, 2, 3, 0, 0, 0, 0, 0}), Direction::call);
	EXPECT_EQ(direction({7, 2, 3, 0, 1, 0, 0, 0}), Direction::reply);
}

TEST(DirectionOfNoMsg, OfVersionOne_IsThatOfTheReadList)
{
	EXPECT_EQ(direction({7, 1, 3, 1, 1, 0, 9, 100, 0, 0, 0, 0, 0}), Direction::call);
	EXPECT_EQ(direction({7, 1, 3, 1, 0, 0, 1, 1, 9, 100, 0, 0}), Direction::reply);
	EXPECT_EQ(direction({7, 1, 3, 1, 0, 0, 0}), Direction::reply);
}

TEST(DirectionOfNoMsg, OfVersionTwo_IsThatOfTheHeaderWhateverTheReadListSays)
{
	for (const std::uint32_t said : {0u, 1u}) {
		const Direction expected{said};
		EXPECT_EQ(direction({7, 2, 3, 1, said, 1, 0, 9, 100, 0, 0, 0, 0, 0}), expected);
		EXPECT_EQ(direction({7, 2, 3, 1, said, 0, 0, 1, 1, 9, 100, 0, 0}), expected);
		EXPECT_EQ(direction({7, 2, 3, 1, said, 0, 0, 0}), expected);
	}
}

TEST(Directions, HaveTheNumbersOfRpc)
{
	EXPECT_EQ(std::to_underlying(Direction::call), 0u);
	EXPECT_EQ(std::to_underlying(Direction::reply), 1u);
}

TEST(Message_ThatGoesOneWay, SaysSoInItsSecondWord)
{
	EXPECT_TRUE(goes(message({7, 0}), Direction::call));
	EXPECT_TRUE(goes(message({7, 1, 9}), Direction::reply));
	EXPECT_FALSE(goes(message({7, 0}), Direction::reply));
	EXPECT_FALSE(goes(message({7, 1}), Direction::call));
	EXPECT_FALSE(goes(message({7, 2}), Direction::call));
	const std::vector<std::byte> words = on_wire({7, 0});
	for (std::size_t size = 0; size < words.size(); ++size)
		EXPECT_FALSE(goes(cut(words, size), Direction::call)) << size;
}

TEST(Message_ThatBeginsWithAnXid, HasItInItsFirstWord)
{
	EXPECT_TRUE(begins_with(message({7, 0}), wire::Xid{7}, Direction::call));
	EXPECT_TRUE(begins_with(message({7, 1}), wire::Xid{7}, Direction::reply));
	EXPECT_FALSE(begins_with(message({8, 0}), wire::Xid{7}, Direction::call));
	EXPECT_FALSE(begins_with(message({7, 1}), wire::Xid{7}, Direction::call));
	EXPECT_FALSE(begins_with(message({7}), wire::Xid{7}, Direction::call));
}

} // namespace
} // namespace rpcordma::unit
