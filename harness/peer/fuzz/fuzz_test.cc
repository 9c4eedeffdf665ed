// SPDX-License-Identifier: GPL-2.0-only

#include "fuzz/fuzz.hh"

#include <gtest/gtest.h>

namespace peer {
namespace {

constexpr unsigned TIMES = 5000;
constexpr std::size_t FRONT = 24;

TEST(Fuzz, NamesAnswersByTheirKind)
{
	const Bytes error = encode({.xid = 1, .type = RDMA_ERROR, .error = ERR_VERS});
	EXPECT_EQ(kind_of(header_of(encode({.xid = 1}))), "Reply");
	EXPECT_EQ(kind_of(header_of(error)), "ERR_VERS");
	EXPECT_EQ(kind_of(header_of(encode({.version = VERSION_2, .type = RDMA2_OPTIONAL}))), "OPTIONAL");
	EXPECT_EQ(kind_of(header_of(ByteView(error).first(error.size() - 1))), "malformed");
}

// How many of many changed messages something is true of.
template <typename IsTrue> unsigned count_of(const Frame &frame, std::size_t threshold, IsTrue is_true)
{
	Dice dice(1);
	unsigned count = 0;
	for (unsigned i = 0; i < TIMES; i++)
		count += is_true(changed_message(frame, FRONT, threshold, dice));
	return count;
}

TEST(Fuzz, ChangesMessages)
{
	const Frame frame = {.header = {.xid = 7, .credits = 32}, .payload = Bytes(200, 0x55)};
	const Bytes before = frame.bytes();
	EXPECT_GT(count_of(frame, 1024, [&](const Bytes &message) { return message != before; }), TIMES * 9 / 10);
	// Some can still be decoded, and some cannot.
	const unsigned sound =
		count_of(frame, 1024, [](const Bytes &message) { return header_of(message).has_value(); });
	EXPECT_GT(sound, TIMES / 4);
	EXPECT_LT(sound, TIMES);
}

TEST(Fuzz, RarelyMakesMessagesThatAreTooLong)
{
	const Frame frame = {.header = {.xid = 7}, .payload = Bytes(2000, 0x55)};
	const unsigned too_long = count_of(frame, 1024, [](const Bytes &message) { return message.size() > 1024; });
	EXPECT_GT(too_long, 0U);
	EXPECT_LT(too_long, TIMES / 50);
}

} // namespace
} // namespace peer
