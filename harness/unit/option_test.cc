// SPDX-License-Identifier: GPL-2.0-only
/// Optional features, shown by one of our own: its messages go in both directions, between both kinds of ends.
#include "harness/unit/support.hh"

#include <algorithm>
#include <array>

#include "proto/arrival.hh"
#include "proto/option.hh"
#include "proto/received.hh"

namespace rpcordma::unit {
namespace {

using namespace proto;
using wire::Direction;

constexpr std::uint32_t mirror_type = 0x4d495252;
constexpr std::uint32_t letter_type = 0x4c455454;

/// A few bytes, without a destructor: no global object of a kernel module has one.
struct Few {
	std::array<std::byte, 8> bytes = {};
	std::size_t size = 0;

	void assign(wire::Bytes from) { size = std::copy(from.begin(), from.end(), bytes.begin()) - bytes.begin(); }
};

/// What the features have been told since the test began.
struct Told {
	unsigned int taken = 0;
	std::optional<wire::Xid> xid = {};
	Few info = {};
	Few payload = {};
	unsigned int refusals = 0;
	std::optional<wire::Xid> refused = {};
} told;

/// Answers with the bytes of the rdma_optinfo in the other order, and with an error where the first is 255.
wire::Result<std::size_t> mirror(wire::Xid, const wire::Optional &message, wire::MutableBytes room) noexcept
{
	if (!message.info.empty() && message.info.front() == std::byte{255})
		return std::unexpected(wire::Error::truncated);
	if (message.info.size() <= room.size())
		std::reverse_copy(message.info.begin(), message.info.end(), room.begin());
	return message.info.size();
}

void take(wire::Xid xid, const wire::Optional &message) noexcept
{
	told.taken++;
	told.xid = xid;
	told.info.assign(message.info);
	told.payload.assign(message.payload);
}

void refused(wire::Xid xid) noexcept
{
	told.refusals++;
	told.refused = xid;
}

constexpr OptionalFeature features[] = {
	{.type = mirror_type, .may_carry_payload = false, .answer = mirror, .take = take, .refused = refused},
	{.type = letter_type, .may_carry_payload = true, .answer = mirror, .take = take, .refused = refused},
};

constexpr wire::Xid xid{0x1234};

/// A message of a feature's, as it is sent.
Exact option(Direction direction, std::uint32_t type, std::vector<std::byte> info, std::vector<std::byte> payload = {})
{
	std::vector<std::byte> bytes(wire::option_info_offset + info.size() + 3, std::byte{0xee});
	std::copy(info.begin(), info.end(), bytes.begin() + wire::option_info_offset);
	const auto size = wire::encode_option(bytes, xid, 7, direction, type, info.size());
	EXPECT_TRUE(size);
	bytes.resize(size.value_or(0));
	for (const std::byte byte : payload)
		bytes.push_back(byte);
	return Exact(bytes);
}

std::vector<std::byte> bytes_of(std::initializer_list<int> values)
{
	std::vector<std::byte> bytes;
	for (const int value : values)
		bytes.push_back(static_cast<std::byte>(value));
	return bytes;
}

std::vector<std::byte> bytes_of(const Few &few)
{
	return copy_of(wire::Bytes(few.bytes).first(few.size));
}

/// The answer to a message in direction CALL that is known. Each end that there is takes it.
std::vector<std::byte> answer_to(const Exact &message, bool at_responder, std::size_t room_size = 64)
{
	std::optional<Option> known;
	if (at_responder) {
		const Arrival arrival = classify_arrival(message, wire::Version::two, features);
		if (const auto *found = std::get_if<Option>(&arrival))
			known = *found;
	} else {
		const Received received = classify_received(message, wire::Version::two, features);
		if (const auto *found = std::get_if<Option>(&received))
			known = *found;
	}
	EXPECT_TRUE(known);
	if (!known)
		return {};
	EXPECT_EQ(known->xid, xid);
	EXPECT_EQ(known->credits, 7u);
	EXPECT_EQ(known->message.direction, Direction::call);
	Exact room = room_of(room_size);
	const auto size = answer_option(room, *known, 9);
	EXPECT_TRUE(size);
	return copy_of(wire::Bytes(room).first(size.value_or(0)));
}

TEST(OptionalFeature, IsAnsweredInTheForwardDirection)
{
	told = {};
	const auto answer = answer_to(option(Direction::call, mirror_type, bytes_of({1, 2, 3})), true);
	EXPECT_EQ(answer, on_wire({0x1234, 2, 9, 5, 1, mirror_type, 3, 0x03020100}));

	const Exact received(answer);
	const Received at_requester = classify_received(received, wire::Version::two, features);
	const auto *const taken = std::get_if<Option>(&at_requester);
	ASSERT_TRUE(taken);
	EXPECT_EQ(taken->credits, 9u);
	EXPECT_EQ(taken->message.direction, Direction::reply);
	taken->feature->take(taken->xid, taken->message);
	EXPECT_EQ(told.xid, xid);
	EXPECT_EQ(bytes_of(told.info), bytes_of({3, 2, 1}));
	EXPECT_EQ(told.payload.size, 0u);
}

TEST(OptionalFeature, IsAnsweredInTheReverseDirection)
{
	told = {};
	const auto answer = answer_to(option(Direction::call, mirror_type, bytes_of({1, 2, 3, 4})), false);
	EXPECT_EQ(answer, on_wire({0x1234, 2, 9, 5, 1, mirror_type, 4, 0x04030201}));

	const Exact received(answer);
	const Arrival at_responder = classify_arrival(received, wire::Version::two, features);
	const auto *const taken = std::get_if<Option>(&at_responder);
	ASSERT_TRUE(taken);
	EXPECT_EQ(taken->message.direction, Direction::reply);
	taken->feature->take(taken->xid, taken->message);
	EXPECT_EQ(told.taken, 1u);
	EXPECT_EQ(bytes_of(told.info), bytes_of({4, 3, 2, 1}));
}

TEST(OptionalFeature, ThatTakesNoPayload_IsUnknownWithOne)
{
	const Exact with_payload = option(Direction::call, mirror_type, bytes_of({1}), bytes_of({0, 0, 0, 0}));
	const Arrival at_responder = classify_arrival(with_payload, wire::Version::two, features);
	ASSERT_TRUE(std::holds_alternative<Refused>(at_responder));
	EXPECT_EQ(std::get<Refused>(at_responder).with, Refusal::option);
	const Received at_requester = classify_received(with_payload, wire::Version::two, features);
	ASSERT_TRUE(std::holds_alternative<Refused>(at_requester));
}

TEST(OptionalFeature, ThatTakesAPayload_IsGivenIt)
{
	told = {};
	const Exact message = option(Direction::reply, letter_type, bytes_of({1}), bytes_of({5, 6}));
	const Received received = classify_received(message, wire::Version::two, features);
	const auto *const taken = std::get_if<Option>(&received);
	ASSERT_TRUE(taken);
	taken->feature->take(taken->xid, taken->message);
	EXPECT_EQ(bytes_of(told.payload), bytes_of({5, 6}));
	EXPECT_EQ(answer_to(option(Direction::call, letter_type, bytes_of({8}), bytes_of({5})), true),
		  on_wire({0x1234, 2, 9, 5, 1, letter_type, 1, 0x08000000}));
}

TEST(OptionalFeature, ThatCannotAnswer_AnswersErrBadHeader)
{
	for (const bool at_responder : {false, true})
		EXPECT_EQ(answer_to(option(Direction::call, mirror_type, bytes_of({255})), at_responder),
			  on_wire({0x1234, 2, 9, 4, 2}));
}

TEST(OptionalFeature, WithoutInformation_FillsNoMoreThanItsHeader)
{
	EXPECT_EQ(answer_to(option(Direction::call, mirror_type, {}), true, wire::option_info_offset),
		  on_wire({0x1234, 2, 9, 5, 1, mirror_type, 0}));
}

TEST(OptionalFeature, WithTooLittleRoom_IsNoRoom)
{
	const Exact message = option(Direction::call, mirror_type, bytes_of({1, 2, 3, 4, 5}));
	const Arrival arrival = classify_arrival(message, wire::Version::two, features);
	ASSERT_TRUE(std::holds_alternative<Option>(arrival));
	for (const std::size_t size : {0, 4, 16, 27, 28, 32, 33, 35}) {
		Exact room = room_of(size);
		EXPECT_EQ(error_of(answer_option(room, std::get<Option>(arrival), 9)), wire::Error::no_room) << size;
	}
	Exact short_room = room_of(27);
	EXPECT_EQ(error_of(wire::encode_option(short_room, xid, 9, Direction::call, mirror_type, 0)),
		  wire::Error::no_room);
	Exact room = room_of(36);
	EXPECT_TRUE(answer_option(room, std::get<Option>(arrival), 9));
}

TEST(OptionalFeature, IsOfVersionTwoAlone)
{
	const Exact message = option(Direction::call, mirror_type, bytes_of({1}));
	const Arrival arrival = classify_arrival(message, wire::Version::one, features);
	ASSERT_TRUE(std::holds_alternative<Refused>(arrival));
	EXPECT_EQ(std::get<Refused>(arrival).with, Refusal::version);
	EXPECT_TRUE(std::holds_alternative<Dropped>(classify_received(message, wire::Version::one, features)));
}

TEST(OptionalFeature, IsToldOfEachErrInvalOption)
{
	told = {};
	tell_of_refusal(message({0x77, 2, 1, 4, 3}), features);
	EXPECT_EQ(told.refusals, std::size(features));
	EXPECT_EQ(told.refused, wire::Xid{0x77});
}

TEST(OptionalFeature, IsNotToldOfOtherMessages)
{
	told = {};
	tell_of_refusal(message({0x77, 2, 1, 4, 2}), features);
	tell_of_refusal(message({0x77, 2, 1, 4, 9}), features);
	tell_of_refusal(message({0x77, 2, 1}), features);
	tell_of_refusal(message({0x77, 2, 1, 4, 3}));
	EXPECT_EQ(told.refusals, 0u);
}

TEST(KnownFeatures, AreNoneInTheModuleAsShipped)
{
	EXPECT_TRUE(known_features.empty());
	const Exact message = option(Direction::call, mirror_type, bytes_of({1}));
	const Arrival at_responder = classify_arrival(message, wire::Version::two);
	ASSERT_TRUE(std::holds_alternative<Refused>(at_responder));
	EXPECT_EQ(std::get<Refused>(at_responder).with, Refusal::option);
	EXPECT_TRUE(std::holds_alternative<Refused>(classify_received(message, wire::Version::two)));
}

} // namespace
} // namespace rpcordma::unit
