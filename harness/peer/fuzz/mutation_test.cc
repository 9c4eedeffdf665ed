// SPDX-License-Identifier: GPL-2.0-only

#include "fuzz/mutation.hh"

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

namespace peer {
namespace {

constexpr unsigned TIMES = 5000;

Header sample()
{
	const Segment segment = {.handle = 0x1234, .length = 4096, .offset = 0x10000};
	return {.xid = 7,
		.credits = 32,
		.reads = {{64, segment}, {96, segment}},
		.writes = {{segment, segment}, {}},
		.reply = Chunk{segment}};
}

bool same_reads(const Header &header)
{
	return header.reads == sample().reads;
}

bool same_writes(const Header &header)
{
	return header.writes == sample().writes;
}

// How many of many changed headers something is true of.
unsigned count_of(const std::function<bool(const Header &)> &is_true, const Header &from = sample())
{
	Dice dice(1);
	unsigned count = 0;
	for (unsigned i = 0; i < TIMES; i++) {
		Header header = from;
		change(header, dice);
		count += is_true(header);
	}
	return count;
}

TEST(Mutation, ChangesEachThingThatAHeaderSays)
{
	constexpr unsigned OFTEN = TIMES / 50;
	EXPECT_GT(count_of([](const Header &header) { return header.type != RDMA_MSG; }), OFTEN);
	EXPECT_GT(count_of([](const Header &header) { return header.version != VERSION_1; }), OFTEN);
	EXPECT_GT(count_of([](const Header &header) { return header.credits != 32; }), OFTEN);
	EXPECT_GT(count_of([](const Header &header) { return header.direction != DIRECTION_CALL; }), OFTEN);
	EXPECT_GT(count_of([](const Header &header) { return !same_reads(header); }), OFTEN);
	EXPECT_GT(count_of([](const Header &header) { return !same_writes(header); }), OFTEN);
	EXPECT_GT(count_of([](const Header &header) { return header.reply != sample().reply; }), OFTEN);
}

TEST(Mutation, MakesListsLongerAndShorter)
{
	EXPECT_GT(count_of([](const Header &header) { return header.reads.size() > 2; }), 0U);
	EXPECT_GT(count_of([](const Header &header) { return header.reads.size() == 1; }), 0U);
	EXPECT_GT(count_of([](const Header &header) { return header.writes.size() == 3; }), 0U);
	EXPECT_GT(count_of([](const Header &header) { return header.writes.size() == 1; }), 0U);
	EXPECT_GT(count_of([](const Header &header) { return !header.reply; }), 0U);
	EXPECT_GT(count_of([](const Header &header) { return header.reply && header.reply->empty(); }), 0U);
	EXPECT_GT(count_of([](const Header &header) { return header.reply && header.reply->size() > 20; }), 0U);
}

TEST(Mutation, GivesListsToAHeaderWithoutThem)
{
	const Header bare;
	EXPECT_GT(count_of([](const Header &header) { return !header.reads.empty(); }, bare), 0U);
	EXPECT_GT(count_of([](const Header &header) { return !header.writes.empty(); }, bare), 0U);
	EXPECT_GT(count_of([](const Header &header) { return header.reply.has_value(); }, bare), 0U);
}

TEST(Mutation, ChangesOneThingOfAHeader)
{
	const auto changed = [](const Header &header) {
		return (header.version != VERSION_1) + (header.credits != 32) + !same_reads(header) +
			       !same_writes(header) + (header.reply != sample().reply) + (header.type != RDMA_MSG) >
		       1;
	};
	EXPECT_EQ(count_of(changed), 0U);
}

// How many of many damaged messages something is true of.
unsigned damaged(const std::function<bool(const Bytes &)> &is_true, std::size_t length = 200, std::size_t front = 40)
{
	Dice dice(2);
	unsigned count = 0;
	for (unsigned i = 0; i < TIMES; i++) {
		Bytes message(length, 0x55);
		damage(message, front, dice);
		count += is_true(message);
	}
	return count;
}

TEST(Mutation, MakesMessagesShorterAndLonger)
{
	EXPECT_GT(damaged([](const Bytes &message) { return message.size() < 200; }), TIMES / 20);
	EXPECT_GT(damaged([](const Bytes &message) { return message.size() > 200; }), TIMES / 20);
	EXPECT_GT(damaged([](const Bytes &message) { return message.size() == 200; }), TIMES / 20);
	EXPECT_GT(damaged([](const Bytes &message) { return message.size() % 4 != 0; }), TIMES / 50);
}

TEST(Mutation, IsMostlyAtTheFront)
{
	const auto at_front = [](const Bytes &message) {
		return message.size() == 200 &&
		       !std::equal(message.begin(), message.begin() + 40, Bytes(40, 0x55).begin());
	};
	const auto behind = [](const Bytes &message) {
		return message.size() == 200 &&
		       !std::equal(message.begin() + 40, message.end(), Bytes(160, 0x55).begin());
	};
	EXPECT_GT(damaged(at_front), damaged(behind) * 2);
	EXPECT_GT(damaged(behind), 0U);
}

TEST(Mutation, HasMessagesOfAnyLength)
{
	for (std::size_t length = 0; length < 12; length++)
		EXPECT_GT(damaged([&](const Bytes &message) { return message != Bytes(length, 0x55); }, length),
			  TIMES / 2);
}

TEST(Mutation, IsTheSameWithTheSameSeed)
{
	const auto run = [](std::uint64_t seed) {
		Dice dice(seed);
		Bytes all;
		for (unsigned i = 0; i < 100; i++) {
			Header header = sample();
			change(header, dice);
			Bytes message = encode(header);
			damage(message, message.size(), dice);
			all.insert(all.end(), message.begin(), message.end());
		}
		return all;
	};
	EXPECT_EQ(run(3), run(3));
	EXPECT_NE(run(3), run(4));
}

} // namespace
} // namespace peer
