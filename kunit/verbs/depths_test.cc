// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/depths.hh"

#include <algorithm>

#include <gtest/gtest.h>

namespace rpcordma::kunit {
namespace {

using verbs::depths_for;
using verbs::DeviceLimits;
using verbs::Lack;
using verbs::RequesterLoad;
using verbs::ResponderLoad;

constexpr std::uint32_t mebibyte = 1 << 20;
constexpr RequesterLoad usual_calls{.credits = 128, .reverse_credits = 8, .payload = mebibyte};
constexpr RequesterLoad large_calls{.credits = 128, .reverse_credits = 8, .payload = 4 * mebibyte};
constexpr ResponderLoad usual_service{.credits = 64, .spare_receives = 8, .payload = mebibyte};
constexpr ResponderLoad large_service{.credits = 64, .spare_receives = 8, .payload = 4 * mebibyte};

constexpr DeviceLimits large{.requests = 32768,
			     .completions = 4194303,
			     .elements = 30,
			     .registrations = 1 << 24,
			     .registration = {.pages = verbs::most_registration_pages, .gaps = true}};

constexpr DeviceLimits large_but(std::uint32_t DeviceLimits::*limit, std::uint32_t value)
{
	DeviceLimits device = large;
	device.*limit = value;
	return device;
}

/* What the kernel has for so many pages of 4 KiB. */
constexpr std::uint32_t pages_of(std::uint32_t small_pages)
{
	return small_pages * 4096 / kernel::page_size;
}

constexpr DeviceLimits with_pages(std::uint32_t small_pages)
{
	DeviceLimits device = large;
	device.registration.pages = pages_of(small_pages);
	return device;
}

/* Completions are four per credit but for one, which makes them fewer than a power of two: those of 72 Receives, of draining both
 * queues, and of the send queue. Or the Writes of four Replies of 1 MiB, whose data may begin within a page, and have a head and a
 * tail. */
constexpr std::uint32_t service_queue(std::uint32_t elements)
{
	const std::uint32_t pieces = verbs::pages_of_payload(mebibyte) + 2;
	return std::max(4 * usual_service.credits - 1 - 72 - 2, 4 * ((pieces + elements - 1) / elements));
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

/* A requester's send queue is 4 requests per credit, but for one that drains it and one that makes it shorter than a power of two,
 * or 26 for two payloads of 1 MiB; its receive queue is 15 beyond the credits. A responder's are as above, and 8 beyond the credits. */
constexpr Device devices[] = {
	{"Large", large, {128, 510, 143, 1}, {64, 181, 72, 16}, 768, 6},
	{"FewElements", large_but(&DeviceLimits::elements, 3), {128, 510, 143, 1}, {64, service_queue(3), 72, 3}, 768, 6},
	{"NoElements", large_but(&DeviceLimits::elements, 0), {128, 510, 143, 1}, {64, service_queue(1), 72, 1}, 768, 6},
	{"FewRegistrations", large_but(&DeviceLimits::registrations, 48), {128, 510, 143, 1}, {64, 181, 72, 16}, 24, 6},
	{"NoRegistrations", large_but(&DeviceLimits::registrations, 0), {128, 510, 143, 1}, {64, 181, 72, 16}, 6, 6},
	{"FewCompletions", large_but(&DeviceLimits::completions, 160), {28, 110, 43, 1}, {64, 86, 72, 16}, 168, 6},
	{"FewRequests", large_but(&DeviceLimits::requests, 32), {7, 26, 22, 1}, {23, 31, 31, 16}, 42, 6},
	/* 11 segments for 1 MiB; two take 90 requests, of which there are 71. */
	{"SmallRegistrations",
	 {.requests = 72, .completions = 160, .elements = 1, .registrations = 48, .registration = {pages_of(32), false}},
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
	EXPECT_EQ(depths->payload, mebibyte);
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

/* What a requester that would have 4 MiB in an RPC gets of a device. */
struct LargeCalls {
	const char *name;
	DeviceLimits limits;
	std::uint32_t send;
	std::uint32_t registrations;
	std::uint32_t first_registrations;
	std::uint32_t segments;
	std::uint32_t payload;
};

constexpr std::uint32_t page = kernel::page_size;

constexpr LargeCalls large_payloads[] = {
	/* 1025 pages in 4 segments, with head and tail 6; and as many for a Reply. */
	{"Large", large, 510, 128 * 12, 6, 12, 4 * mebibyte},
	{"NoRegistrations", large_but(&DeviceLimits::registrations, 0), 510, 12, 6, 12, 4 * mebibyte},
	/* The most segments are 20. */
	{"16Pages", with_pages(16), 510, 128 * 40, 38, 40, 18 * 16 * 4096 - page},
#if RPCORDMA_PAGE_SIZE == 4096
	/* 1025 pages in 18 segments, with head and tail 20. */
	{"57Pages", with_pages(57), 510, 128 * 40, 20, 40, 4 * mebibyte},
	{"56Pages", with_pages(56), 510, 128 * 40, 20, 40, (18 * 56 - 1) * page},
	{"15Pages", with_pages(15), 510, 128 * 40, 40, 40, (18 * 15 - 1) * page},
#endif
	/* 2 * (2 * 3 + 1) requests are for 1 MiB, 18 for one segment more. */
	{"ShortestQueue", large_but(&DeviceLimits::requests, 17), 16, 12, 3, 3, mebibyte},
	{"ShortQueue", large_but(&DeviceLimits::requests, 20), 19, 48, 4, 4,
	 (2 * verbs::most_registration_pages - 1) * page},
};

class AnyLargeCalls : public testing::TestWithParam<LargeCalls> {};
INSTANTIATE_TEST_SUITE_P(Devices, AnyLargeCalls, testing::ValuesIn(large_payloads),
			 [](const auto &info) { return info.param.name; });

TEST_P(AnyLargeCalls, HaveWhatTheDeviceCarries)
{
	const auto depths = depths_for(GetParam().limits, large_calls);
	ASSERT_TRUE(depths.has_value());
	EXPECT_EQ(depths->send, GetParam().send);
	EXPECT_EQ(depths->registrations, GetParam().registrations);
	EXPECT_EQ(depths->first_registrations, GetParam().first_registrations);
	EXPECT_EQ(depths->segments, GetParam().segments);
	EXPECT_EQ(depths->payload, GetParam().payload);
}

TEST(FewCalls, OfALargePayload_HaveAQueueForTheirSegments)
{
	const auto depths = depths_for(large, {.credits = 1, .reverse_credits = 8, .payload = 4 * mebibyte});
	ASSERT_TRUE(depths.has_value());
	EXPECT_EQ(depths->send, 2u * (2 * 12 + 1));
	EXPECT_EQ(depths->segments, 12u);
}

TEST(LargeService, HasNoLongerQueuesThanTheUsual)
{
	for (const std::uint32_t elements : {0u, 1u, 3u, 30u}) {
		const DeviceLimits device = large_but(&DeviceLimits::elements, elements);
		const auto depths = depths_for(device, large_service);
		ASSERT_TRUE(depths.has_value());
		EXPECT_EQ(depths->send, depths_for(device, usual_service)->send);
	}
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

/* With what rpcordma_drain() posts. */
bool fits(const DeviceLimits &device, const verbs::Depths &depths)
{
	return depths.send + 1 <= device.requests && depths.receive + 1 <= device.requests &&
	       depths.send + depths.receive + 2 <= device.completions && depths.completions() <= device.completions;
}

TEST(AnyLength, Requester_StaysWithinTheDevice)
{
	constexpr RequesterLoad loads[] = {
		usual_calls, large_calls, {1, 0, mebibyte}, {1, 8, 4 * mebibyte}, {16384, 8, mebibyte}};

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
			/* Without growth, an RPC with the largest payload, or one with two of 1 MiB if it may be. */
			const std::uint32_t largest =
				2 + (verbs::pages_of_payload(depths->payload) + verbs::most_registration_pages - 1) /
					    verbs::most_registration_pages;
			ASSERT_TRUE(depths->payload >= mebibyte && depths->payload <= load.payload);
			ASSERT_TRUE(depths->first_registrations >= largest &&
				    depths->first_registrations >= std::min(depths->segments, 6u));
			ASSERT_TRUE(depths->first_registrations <= depths->segments);
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

TEST(SmallRegistrations, OfFewerThan15Pages_AreRefused)
{
	/* 1 MiB may begin within a page, and has 18 segments at most. */
	constexpr std::uint32_t least = (verbs::pages_of_payload(mebibyte) + 17) / 18;
	DeviceLimits device = large;
	device.registration.pages = least;
	EXPECT_TRUE(depths_for(device, usual_calls).has_value());
	if (least == 1)
		return;
	device.registration.pages = least - 1;
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
	verbs::ReadLoad load;
	verbs::ReadDepths depths;
};

constexpr Reads reads[] = {
	{"Usual", 1 << 24, 64, {2, 2}, {128, 63}},
	{"FewPagesEach", 1 << 24, 64, {17, 17}, {1088, 535}},
	/* A requester's 20 segments, however few the Calls are. */
	{"FewCredits", 1 << 24, 4, {2, 2}, {42, 20}},
	{"FewRegistrations", 48, 64, {2, 2}, {24, 11}},
	{"NoRegistrations", 0, 64, {2, 2}, {4, 1}},
	/* No more of them, and one Call has its fill. */
	{"Large", 1 << 24, 64, {2, 9}, {128, 59}},
	{"LargeAndFewCredits", 1 << 24, 4, {2, 9}, {49, 20}},
	{"LargeAndNoRegistrations", 0, 64, {2, 9}, {11, 1}},
};

class AnyReads : public testing::TestWithParam<Reads> {};
INSTANTIATE_TEST_SUITE_P(Depths, AnyReads, testing::ValuesIn(reads), [](const auto &info) { return info.param.name; });

TEST_P(AnyReads, HaveWhatTheyTake)
{
	const verbs::ReadDepths depths = verbs::read_depths_for(
		large_but(&DeviceLimits::registrations, GetParam().device), GetParam().credits, GetParam().load);
	EXPECT_EQ(depths.registrations, GetParam().depths.registrations);
	EXPECT_EQ(depths.segments, GetParam().depths.segments);
}

} // namespace
} // namespace rpcordma::kunit
