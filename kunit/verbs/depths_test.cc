// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/depths.hh"

#include <gtest/gtest.h>

namespace rpcordma::kunit {
namespace {

using verbs::depths_for;
using verbs::DeviceLimits;
using verbs::Lack;
using verbs::RequesterLoad;
using verbs::ResponderLoad;

constexpr std::uint32_t mebibyte = 1 << 20;
constexpr RequesterLoad usual_calls{.credits = 128, .reverse_credits = 8};
constexpr ResponderLoad usual_service{.credits = 64, .spare_receives = 8, .payload = mebibyte};

constexpr DeviceLimits large{.requests = 32768,
			     .completions = 4194303,
			     .elements = 30,
			     .registrations = 1 << 24,
			     .registration = {.pages = 257, .gaps = true}};

constexpr DeviceLimits large_but(std::uint32_t DeviceLimits::*limit, std::uint32_t value)
{
	DeviceLimits device = large;
	device.*limit = value;
	return device;
}

/* What is there, and what comes of it: credits, send queue, receive queue, elements. */
struct Device {
	const char *name;
	DeviceLimits limits;
	verbs::Depths requester;
	verbs::Depths responder;
	std::uint32_t registrations;
	std::uint32_t segments;
};

/* A requester's send queue is 4 requests per credit and 8 for reverse Calls, or 26 for two payloads of 1 MiB; its receive
 * queue is 15 beyond the credits. A responder's are 4 per credit, or four Replies' Writes; and 8 beyond the credits. */
constexpr Device devices[] = {
	{"Large", large, {128, 520, 143, 1}, {64, 256, 72, 16}, 768, 6},
	{"FewElements", large_but(&DeviceLimits::elements, 3), {128, 520, 143, 1}, {64, 348, 72, 3}, 768, 6},
	{"NoElements", large_but(&DeviceLimits::elements, 0), {128, 520, 143, 1}, {64, 1036, 72, 1}, 768, 6},
	{"FewRegistrations", large_but(&DeviceLimits::registrations, 48), {128, 520, 143, 1}, {64, 256, 72, 16}, 24, 6},
	{"NoRegistrations", large_but(&DeviceLimits::registrations, 0), {128, 520, 143, 1}, {64, 256, 72, 16}, 6, 6},
	{"FewCompletions", large_but(&DeviceLimits::completions, 160), {27, 116, 42, 1}, {64, 86, 72, 16}, 162, 6},
	{"FewRequests", large_but(&DeviceLimits::requests, 32), {7, 31, 22, 1}, {23, 31, 31, 16}, 42, 6},
	/* 11 segments for 1 MiB; two take 90 requests, of which there are 71. */
	{"SmallRegistrations",
	 {.requests = 72, .completions = 160, .elements = 1, .registrations = 48, .registration = {32, false}},
	 {17, 71, 32, 1},
	 {63, 71, 71, 1},
	 24,
	 17},
};

class AnyDevice : public testing::TestWithParam<Device> {};
INSTANTIATE_TEST_SUITE_P(Devices, AnyDevice, testing::ValuesIn(devices),
			 [](const auto &info) { return info.param.name; });

TEST_P(AnyDevice, Requester_HasWhatItTakes)
{
	const auto depths = depths_for(GetParam().limits, usual_calls);
	ASSERT_TRUE(depths.has_value());
	EXPECT_EQ(depths->credits, GetParam().requester.credits);
	EXPECT_EQ(depths->send, GetParam().requester.send);
	EXPECT_EQ(depths->receive, GetParam().requester.receive);
	EXPECT_EQ(depths->elements, GetParam().requester.elements);
	EXPECT_EQ(depths->registrations, GetParam().registrations);
	EXPECT_EQ(depths->segments, GetParam().segments);
}

TEST_P(AnyDevice, Responder_HasWhatItTakes)
{
	const auto depths = depths_for(GetParam().limits, usual_service);
	ASSERT_TRUE(depths.has_value());
	EXPECT_EQ(depths->credits, GetParam().responder.credits);
	EXPECT_EQ(depths->send, GetParam().responder.send);
	EXPECT_EQ(depths->receive, GetParam().responder.receive);
	EXPECT_EQ(depths->elements, GetParam().responder.elements);
}

/* Devices of every length of queues, from none at all to more than is asked for. */
template <typename Check> void for_each_length(Check check)
{
	constexpr std::uint32_t past_all = 1200;

	for (std::uint32_t requests = 0; requests < past_all; requests += requests < 100 ? 1 : 37)
		for (std::uint32_t completions = 0; completions < 2 * past_all;
		     completions += completions < 200 ? 1 : 73) {
			DeviceLimits device = large;
			device.requests = requests;
			device.completions = completions;
			check(device);
		}
}

/* With what ib_drain_qp() posts. */
bool fits(const DeviceLimits &device, const verbs::Depths &depths)
{
	return depths.send + 1 <= device.requests && depths.receive + 1 <= device.requests &&
	       depths.send + depths.receive + 2 <= device.completions && depths.completions() <= device.completions;
}

TEST(AnyLength, Requester_StaysWithinTheDevice)
{
	constexpr RequesterLoad loads[] = {usual_calls, {1, 0}, {1, 8}, {16384, 8}};

	for (const RequesterLoad &load : loads)
		for_each_length([&](const DeviceLimits &device) {
			const auto depths = depths_for(device, load);
			if (!depths)
				return;
			ASSERT_TRUE(fits(device, *depths));
			ASSERT_TRUE(depths->credits >= 1 && depths->credits <= load.credits);
			ASSERT_TRUE(depths->receive == depths->credits + load.reverse_credits + verbs::receive_batch);
			/* An RPC fills half of the queue at most, and a payload of 1 MiB is in 3 segments with its
			 * head and tail. */
			ASSERT_TRUE(depths->segments >= 3 && 2 * depths->segments + 1 <= depths->send / 2);
			ASSERT_TRUE(depths->registrations >= depths->segments);
		});
}

TEST(AnyLength, Responder_StaysWithinTheDevice)
{
	constexpr ResponderLoad loads[] = {usual_service, {4, 8, mebibyte}, {16384, 8, mebibyte}, {64, 0, 4096}};

	for (const ResponderLoad &load : loads)
		for_each_length([&](const DeviceLimits &device) {
			const auto depths = depths_for(device, load);
			if (!depths)
				return;
			ASSERT_TRUE(fits(device, *depths));
			ASSERT_TRUE(depths->credits >= 1 && depths->credits <= load.credits);
			ASSERT_TRUE(depths->receive == depths->credits + load.spare_receives);
			ASSERT_TRUE(depths->send >= 1);
		});
}

/* The shortest queues that will do; one entry less, and the device is refused. */
struct Shortest {
	std::uint32_t requests;
	std::uint32_t completions;
};

template <typename Load> void expect_shortest(const Load &load, Shortest shortest)
{
	DeviceLimits device = large;
	device.requests = shortest.requests;
	device.completions = shortest.completions;
	EXPECT_TRUE(depths_for(device, load).has_value());

	device.requests--;
	const auto fewer_requests = depths_for(device, load);
	ASSERT_FALSE(fewer_requests.has_value());
	EXPECT_TRUE(fewer_requests.error() == Lack::room);

	device.requests = large.requests;
	device.completions--;
	const auto fewer_completions = depths_for(device, load);
	ASSERT_FALSE(fewer_completions.has_value());
	EXPECT_TRUE(fewer_completions.error() == Lack::room);
}

TEST(ShortQueues, OfARequester_AreRefusedWhereTheyWillNotDo)
{
	/* 1 credit, 8 reverse Calls and a batch of 7 to receive, and one for draining; 14 to send a payload of 1 MiB. */
	expect_shortest(usual_calls, {.requests = 17, .completions = 2 + 16 + 14});
}

TEST(ShortQueues, OfAResponder_AreRefusedWhereTheyWillNotDo)
{
	/* 1 credit and 8 spare Receives, and one for draining; 16 to send. */
	expect_shortest(usual_service, {.requests = 10, .completions = 2 + 9 + 16});
}

TEST(SmallRegistrations, OfFewerThan16Pages_AreRefused)
{
	DeviceLimits device = large;
	device.registration.pages = 15;
	EXPECT_TRUE(depths_for(device, usual_calls).has_value());
	device.registration.pages = 14;
	const auto depths = depths_for(device, usual_calls);
	ASSERT_FALSE(depths.has_value());
	EXPECT_TRUE(depths.error() == Lack::pages);
	/* A responder's own registrations are rdma_rw's affair. */
	EXPECT_TRUE(depths_for(device, usual_service).has_value());
}

struct Reads {
	const char *name;
	std::uint32_t device;
	std::uint32_t credits;
	std::uint32_t per_payload;
	verbs::ReadDepths depths;
};

constexpr Reads reads[] = {
	{"Usual", 1 << 24, 64, 2, {128, 63}},
	{"FewPagesEach", 1 << 24, 64, 17, {1088, 535}},
	/* A requester's 20 segments, however few the Calls are. */
	{"FewCredits", 1 << 24, 4, 2, {42, 20}},
	{"FewRegistrations", 48, 64, 2, {24, 11}},
	{"NoRegistrations", 0, 64, 2, {4, 1}},
};

class AnyReads : public testing::TestWithParam<Reads> {};
INSTANTIATE_TEST_SUITE_P(Depths, AnyReads, testing::ValuesIn(reads), [](const auto &info) { return info.param.name; });

TEST_P(AnyReads, HaveWhatTheyTake)
{
	const verbs::ReadDepths depths = verbs::read_depths_for(
		large_but(&DeviceLimits::registrations, GetParam().device), GetParam().credits, GetParam().per_payload);
	EXPECT_EQ(depths.registrations, GetParam().depths.registrations);
	EXPECT_EQ(depths.segments, GetParam().depths.segments);
}

} // namespace
} // namespace rpcordma::kunit
