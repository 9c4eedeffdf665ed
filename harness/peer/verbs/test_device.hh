// SPDX-License-Identifier: GPL-2.0-only
//
// What tests share that need an RDMA device.

#pragma once

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "verbs/verbs.hh"

namespace peer {

inline Deadline soon()
{
	return Clock::now() + std::chrono::seconds(20);
}

/// The device's address.
inline std::string device_address()
{
	const char *const given = std::getenv("PEER_TEST_ADDRESS");
	if (!given)
		throw std::runtime_error("PEER_TEST_ADDRESS must be the address of an RDMA device");
	return given;
}

} // namespace peer
