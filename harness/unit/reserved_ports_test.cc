// SPDX-License-Identifier: GPL-2.0-only
#include "harness/unit/support.hh"

#include "proto/reserved_ports.hh"

namespace rpcordma::unit {
namespace {

using proto::is_reserved_port;
using proto::ReservedPorts;

TEST(ReservedPorts, AreBelow1024)
{
	EXPECT_FALSE(is_reserved_port(0));
	EXPECT_TRUE(is_reserved_port(1));
	EXPECT_TRUE(is_reserved_port(664));
	EXPECT_TRUE(is_reserved_port(1023));
	EXPECT_FALSE(is_reserved_port(1024));
	EXPECT_FALSE(is_reserved_port(65535));
}

TEST(ReservedPorts, AreAllTriedBeforeOneComesAgain)
{
	ReservedPorts ports;
	for (int round = 0; round < 2; round++) {
		for (std::uint32_t port = 1023; port >= 665; port--)
			EXPECT_EQ(ports.next(), port);
	}
	EXPECT_EQ(ReservedPorts::count, 359u);
}

} // namespace
} // namespace rpcordma::unit
