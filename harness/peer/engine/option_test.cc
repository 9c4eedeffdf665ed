// SPDX-License-Identifier: GPL-2.0-only

#include "engine/option.hh"

#include <gtest/gtest.h>

namespace peer {
namespace {

constexpr std::uint32_t MIRROR = 0x4d495252;
const Features MIRRORS = {feature_called("mirror")};

Decoded option(std::uint32_t type, Bytes info, Bytes payload = {})
{
	Decoded message;
	message.header.xid = 0x1234;
	message.header.version = VERSION_2;
	message.header.type = RDMA2_OPTIONAL;
	message.header.option = type;
	message.header.option_info = std::move(info);
	message.payload = std::move(payload);
	return message;
}

void expect_error(const Decoded &message, const Features &features, std::uint32_t code)
{
	const auto answer = answer_to_option(message, features);
	ASSERT_TRUE(answer);
	EXPECT_EQ(answer->xid, 0x1234U);
	EXPECT_EQ(answer->version, VERSION_2);
	EXPECT_EQ(answer->type, RDMA_ERROR);
	EXPECT_EQ(answer->error, code);
}

TEST(Feature, IsKnownByItsName)
{
	ASSERT_TRUE(feature_called("mirror"));
	EXPECT_EQ(feature_called("mirror")->type, MIRROR);
	EXPECT_EQ(feature_called("mirrors"), nullptr);
	EXPECT_EQ(feature_called(""), nullptr);
}

TEST(Mirror, AnswersWithTheDataInTheOtherOrder)
{
	for (const Bytes &info : {Bytes{}, Bytes{1}, Bytes{1, 2, 3}, Bytes{0, 0xff}}) {
		const auto answer = answer_to_option(option(MIRROR, info), MIRRORS);
		ASSERT_TRUE(answer);
		EXPECT_EQ(answer->xid, 0x1234U);
		EXPECT_EQ(answer->version, VERSION_2);
		EXPECT_EQ(answer->type, RDMA2_OPTIONAL);
		EXPECT_EQ(answer->direction, DIRECTION_REPLY);
		EXPECT_EQ(answer->option, MIRROR);
		EXPECT_EQ(answer->option_info, Bytes(info.rbegin(), info.rend()));
	}
}

TEST(Mirror, RefusesDataThatBeginWith255)
{
	expect_error(option(MIRROR, {0xff}), MIRRORS, ERR_BAD_HEADER);
	expect_error(option(MIRROR, {0xff, 1}), MIRRORS, ERR_BAD_HEADER);
}

TEST(Option, OfNoFeatureThatAnEndHas_IsRefused)
{
	expect_error(option(MIRROR, {1}), {}, ERR_INVAL_OPTION);
	expect_error(option(MIRROR, {0xff}), {}, ERR_INVAL_OPTION);
	expect_error(option(MIRROR + 1, {1}), MIRRORS, ERR_INVAL_OPTION);
}

TEST(Option, WithAPayloadThatItsFeatureHasNot_IsRefused)
{
	expect_error(option(MIRROR, {1}, {0, 0, 0, 0}), MIRRORS, ERR_INVAL_OPTION);
	expect_error(option(MIRROR, {0xff}, {0}), MIRRORS, ERR_INVAL_OPTION);
}

TEST(Option, ThatIsNoRequest_IsNotAnswered)
{
	Decoded answer = option(MIRROR, {1});
	answer.header.direction = DIRECTION_REPLY;
	EXPECT_FALSE(answer_to_option(answer, MIRRORS));
	Decoded call = option(MIRROR, {1});
	call.header.type = RDMA_MSG;
	EXPECT_FALSE(answer_to_option(call, MIRRORS));
	Decoded older = option(MIRROR, {1});
	older.header.version = VERSION_1;
	EXPECT_FALSE(answer_to_option(older, MIRRORS));
}

} // namespace
} // namespace peer
