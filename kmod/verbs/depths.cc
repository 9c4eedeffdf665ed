// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/depths.hh"

#include <algorithm>

namespace rpcordma::verbs {

namespace {

/* Work requests per call: a registration, a Send and an invalidation, and one to spare. More wait for room. */
constexpr std::uint32_t send_requests_per_call = 4;
/* Devices round a queue up to a power of two, and soft-RoCE leaves one place of it free: with this, the queue for a power of
 * two of calls does not take twice the memory. */
constexpr std::uint32_t unused_requests = drain_requests + 1;
/* A scatter/gather element takes memory of the device's queue, used or not. */
constexpr std::uint32_t most_elements = 16;
/* The shortest send queue that a responder asks for where a device's completion queue is short. */
constexpr std::uint32_t least_send_queue = 16;

/* What is left of a limit. */
constexpr std::uint32_t left(std::uint32_t limit, std::uint32_t taken)
{
	return limit - std::min(limit, taken);
}

/* The number of segments of the largest Call or Reply: its pages, head and tail. */
constexpr std::uint32_t largest_message(std::uint32_t payload, proto::RegistrationLimits limits)
{
	return 2 + (pages_of_payload(payload) + limits.pages - 1) / limits.pages;
}

/* The largest payload that has no more segments than that, with head and tail; of those that there can be. */
constexpr std::uint32_t payload_in(std::uint32_t segments, proto::RegistrationLimits limits)
{
	return (std::min(segments, most_segments) - 2) * limits.pages * kernel::page_size - kernel::page_size;
}

constexpr std::uint32_t queue_for_calls(std::uint32_t credits)
{
	return left(credits * send_requests_per_call, unused_requests);
}

/* A send queue that takes an RPC of so many segments, a registration and an invalidation each, and the Send. Half of the
 * queue is the most that one may fill. */
constexpr std::uint32_t queue_for_segments(std::uint32_t segments)
{
	return 2 * (2 * segments + 1);
}

constexpr std::uint32_t segments_in(std::uint32_t queue)
{
	return left(queue / 2, 1) / 2;
}

} // namespace

std::expected<RequesterDepths, Lack> depths_for(const DeviceLimits &device, const RequesterLoad &load) noexcept
{
	const std::uint32_t most_requests = left(device.requests, drain_requests);
	const std::uint32_t most_completions = left(device.completions, 2 * drain_requests);
	const std::uint32_t other_receives = load.reverse_credits + receive_batch;
	const std::uint32_t usual = largest_message(std::min(load.payload, usual_payload), device.registration);
	if (usual > most_segments)
		return std::unexpected(Lack::pages);
	const std::uint32_t largest = std::min(largest_message(load.payload, device.registration), most_segments);

	RequesterDepths depths{};
	depths.credits =
		std::min({load.credits, most_requests / send_requests_per_call, left(most_requests, other_receives),
			  left(most_completions, other_receives) / (send_requests_per_call + 1)});
	depths.receive = depths.credits + other_receives;
	/* However few credits there are, the queue takes an RPC with the largest Call and Reply, where the device can. */
	depths.send = std::min({most_requests, left(most_completions, depths.receive),
				std::max(queue_for_calls(depths.credits), queue_for_segments(2 * largest))});
	depths.segments = std::min(2 * largest, segments_in(depths.send));
	if (depths.credits == 0 || depths.segments < usual)
		return std::unexpected(Lack::room);
	depths.payload = std::min(load.payload, payload_in(depths.segments, device.registration));
	/* Every message is in one piece, so that no device has too few. */
	depths.elements = 1;
	/* The device is not for one connection alone. */
	depths.registrations = std::clamp(device.registrations / 2, 2 * largest, depths.credits * 2 * largest);
	depths.first_registrations = std::min(depths.segments, std::max(2 * usual, largest));
	return depths;
}

/* A responder's work requests may have to wait for room one by one, so that the shortest of queues will do. Its completion queue
 * is the one that does not exceed a power of two: it is for Receives as well. */
std::expected<Depths, Lack> depths_for(const DeviceLimits &device, const ResponderLoad &load) noexcept
{
	const std::uint32_t most_requests = left(device.requests, drain_requests);
	const std::uint32_t most_completions = left(device.completions, 2 * drain_requests);
	const std::uint32_t fewest_sends = std::min(most_completions, least_send_queue);

	Depths depths{};
	depths.credits = std::min({load.credits, left(most_requests, load.spare_receives),
				   left(most_completions, load.spare_receives + fewest_sends)});
	if (depths.credits == 0)
		return std::unexpected(Lack::room);
	depths.receive = depths.credits + load.spare_receives;
	depths.elements = std::clamp(device.elements, 1u, most_elements);
	/* A larger one takes as much as several of these. */
	const std::uint32_t usual_reply = pages_of_payload(std::min(load.payload, usual_payload)) / depths.elements + 2;
	depths.send = std::min(
		{most_requests, left(most_completions, depths.receive),
		 std::max(left(queue_for_calls(depths.credits), depths.receive + drain_requests), 4 * usual_reply)});
	return depths;
}

/* A segment takes a registration of its own, and so does what goes beyond one in it. */
ReadDepths read_depths_for(const DeviceLimits &device, std::uint32_t credits, const ReadLoad &load) noexcept
{
	/* However few credits there are, the Calls of such a requester as ours are read. */
	const std::uint32_t wanted = std::max(credits * load.usual, load.largest + 2 * most_segments);
	/* The device is not for one connection alone. */
	const std::uint32_t registrations = std::clamp(device.registrations / 2, load.largest + 2, wanted);
	return {.registrations = registrations, .segments = (registrations - load.largest) / 2};
}

} // namespace rpcordma::verbs
