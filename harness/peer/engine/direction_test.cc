// SPDX-License-Identifier: GPL-2.0-only

#include "engine/direction.hh"

#include <gtest/gtest.h>

namespace peer {
namespace {

// The first words of a Call, and of a Reply.
const Bytes CALL_STREAM = {0, 0, 0, 7, 0, 0, 0, 0};
const Bytes REPLY_STREAM = {0, 0, 0, 7, 0, 0, 0, 1};

Decoded message_of(std::uint32_t version, std::uint32_t type, std::uint32_t direction, Bytes payload)
{
	Decoded message;
	message.header.version = version;
	message.header.type = type;
	message.header.direction = direction;
	message.payload = std::move(payload);
	return message;
}

TEST(DirectionOfVersion1, IsThatOfTheRpcMessage)
{
	EXPECT_TRUE(is_call_message(message_of(VERSION_1, RDMA_MSG, DIRECTION_REPLY, CALL_STREAM)));
	EXPECT_FALSE(is_call_message(message_of(VERSION_1, RDMA_MSG, DIRECTION_CALL, REPLY_STREAM)));
	EXPECT_FALSE(is_call_message(message_of(VERSION_1, RDMA_MSG, DIRECTION_CALL, {})));
	Decoded long_call = message_of(VERSION_1, RDMA_NOMSG, DIRECTION_REPLY, {});
	EXPECT_FALSE(is_call_message(long_call));
	long_call.header.reads = {{0, {1, 2, 3}}};
	EXPECT_TRUE(is_call_message(long_call));
	EXPECT_EQ(direction_fault(message_of(VERSION_1, RDMA_MSG, DIRECTION_REPLY, CALL_STREAM)), std::nullopt);
}

TEST(DirectionOfVersion2, IsThatOfTheHeader)
{
	EXPECT_TRUE(is_call_message(message_of(VERSION_2, RDMA_MSG, DIRECTION_CALL, REPLY_STREAM)));
	EXPECT_FALSE(is_call_message(message_of(VERSION_2, RDMA_MSG, DIRECTION_REPLY, CALL_STREAM)));
	EXPECT_TRUE(is_call_message(message_of(VERSION_2, RDMA_NOMSG, DIRECTION_CALL, {})));
	EXPECT_FALSE(is_call_message(message_of(VERSION_2, RDMA_ERROR, DIRECTION_CALL, {})));
	EXPECT_FALSE(is_call_message(message_of(VERSION_2, RDMA2_OPTIONAL, DIRECTION_CALL, CALL_STREAM)));
}

TEST(DirectionOfVersion2, HasToBeThatOfTheRpcMessage)
{
	for (const std::uint32_t type : {RDMA_MSG, RDMA2_OPTIONAL}) {
		EXPECT_EQ(direction_fault(message_of(VERSION_2, type, DIRECTION_CALL, CALL_STREAM)), std::nullopt);
		EXPECT_EQ(direction_fault(message_of(VERSION_2, type, DIRECTION_REPLY, REPLY_STREAM)), std::nullopt);
		EXPECT_NE(direction_fault(message_of(VERSION_2, type, DIRECTION_REPLY, CALL_STREAM)), std::nullopt);
		EXPECT_NE(direction_fault(message_of(VERSION_2, type, DIRECTION_CALL, REPLY_STREAM)), std::nullopt);
		EXPECT_EQ(direction_fault(message_of(VERSION_2, type, DIRECTION_CALL, {})), std::nullopt);
	}
	EXPECT_EQ(direction_fault(message_of(VERSION_2, RDMA_NOMSG, DIRECTION_CALL, REPLY_STREAM)), std::nullopt);
}

} // namespace
} // namespace peer
