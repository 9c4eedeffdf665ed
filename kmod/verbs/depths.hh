/* SPDX-License-Identifier: GPL-2.0-only */
/* How long a connection's queues are: what its RPCs take, within what the device can do. */
#pragma once

#include <cstdint>
#include <expected>

#include "kernel/page.hh"
#include "proto/segmenting.hh"

namespace rpcordma::verbs {

/* rpcordma_drain() posts one work request to each queue, beyond its depth. */
inline constexpr std::uint32_t drain_requests = 1;
/* A requester posts so many Receives beyond those that it needs when there are too few; queues have room for them. */
inline constexpr std::uint32_t receive_batch = 7;
/* The most segments that a chunk has: enough for 1 MiB where a registration covers no fewer than 15 pages, and for 4 MiB
 * where it covers no fewer than 57. With so many in the Read list and in a Write chunk, a Call fits the smallest inline
 * threshold, of 1024 bytes. */
inline constexpr std::uint32_t most_segments = 20;
/* What every connection carries, in bytes, and what its memory is sized for: a larger payload takes more of what there is.
 */
inline constexpr std::uint32_t usual_payload = 1 << 20;

/* The most pages that a payload of so many bytes has: it may begin within a page. */
[[nodiscard]] constexpr std::uint32_t pages_of_payload(std::uint32_t bytes) noexcept
{
	return bytes / kernel::page_size + 1;
}

/* The most pages that a registration covers. Each takes memory for so many, used or not. */
inline constexpr std::uint32_t most_registration_pages = pages_of_payload(usual_payload);

/* What a device can do. */
struct DeviceLimits {
	/* Work requests in a queue. */
	std::uint32_t requests;
	/* Entries of a completion queue. */
	std::uint32_t completions;
	/* Scatter/gather elements of a work request in a send queue. */
	std::uint32_t elements;
	/* Registrations, of all connections together. */
	std::uint32_t registrations;
	proto::RegistrationLimits registration;
};

/* What a requester's connection is to carry. */
struct RequesterLoad {
	/* Calls outstanding at a time; the device may allow fewer. */
	std::uint32_t credits;
	/* Calls of the reverse direction outstanding at a time. */
	std::uint32_t reverse_credits;
	/* The largest payload, in bytes; the device may allow a smaller one, down to usual_payload. */
	std::uint32_t payload;
};

/* What a responder's connection is to carry. */
struct ResponderLoad {
	/* Calls outstanding at a time; the device may allow fewer. */
	std::uint32_t credits;
	/* Receives that are posted beside those for Calls. */
	std::uint32_t spare_receives;
	/* The largest payload, in bytes. */
	std::uint32_t payload;
};

/* What a device has too little of for any connection. */
enum class Lack : std::uint8_t {
	/* Room in its queues. */
	room,
	/* Pages that a registration covers. */
	pages,
};

/* For the log. */
[[nodiscard]] constexpr const char *name_of(Lack lack) noexcept
{
	return lack == Lack::room ? "has too short queues" : "registers too few pages at a time";
}

/* In work requests, without those for draining. */
struct Depths {
	/* Calls outstanding at a time, at least 1. */
	std::uint32_t credits;
	std::uint32_t send;
	std::uint32_t receive;
	/* Scatter/gather elements of a work request in the send queue. */
	std::uint32_t elements;

	/* The entries that the completion queue of both takes. */
	[[nodiscard]] constexpr std::uint32_t completions() const noexcept
	{
		return send + receive + 2 * drain_requests;
	}
};

struct RequesterDepths : Depths {
	/* Registrations that the connection may have. */
	std::uint32_t registrations;
	/* Those that it has from the start, so that they need not grow first: enough for an RPC with the largest payload, and
	 * for one with two of usual_payload. */
	std::uint32_t first_registrations;
	/* The most segments that the chunks of one RPC may have together: those of the largest payload, or more. */
	std::uint32_t segments;
	/* The largest payload, in bytes. */
	std::uint32_t payload;
};

/* The registrations that a responder's RDMA Reads of a payload take, where each takes one and the payload is one segment; at
 * least 1. */
struct ReadLoad {
	/* Of no more than usual_payload. */
	std::uint32_t usual;
	/* Of the largest. */
	std::uint32_t largest;
};

/* What a responder's RDMA Reads take of a device where each takes a registration. */
struct ReadDepths {
	/* The connection's. */
	std::uint32_t registrations;
	/* The most segments that the Reads of one Call may have, at least 1: no Call takes more registrations than there
	 * are. */
	std::uint32_t segments;
};

/* Callable from any context. */
[[nodiscard]] ReadDepths read_depths_for(const DeviceLimits &device, std::uint32_t credits,
					 const ReadLoad &load) noexcept;

/* Callable from any context. */
[[nodiscard]] std::expected<RequesterDepths, Lack> depths_for(const DeviceLimits &device,
							      const RequesterLoad &load) noexcept;
[[nodiscard]] std::expected<Depths, Lack> depths_for(const DeviceLimits &device, const ResponderLoad &load) noexcept;

} // namespace rpcordma::verbs
