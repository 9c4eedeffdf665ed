// SPDX-License-Identifier: GPL-2.0-only
/// CM private data, as the connection manager delivers it.
#include "harness/fuzz/require.hh"
#include "wire/private_data.hh"

using namespace rpcordma;
using fuzz::require;

namespace {

void require_size(std::uint32_t size)
{
	require(size >= 1024 && size <= 262144 && size % 1024 == 0, "sizes are multiples of 1024 in their range");
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	const wire::PrivateData said = wire::PrivateData::decode(std::as_bytes(std::span(data, size)));
	require_size(said.send_size);
	require_size(said.receive_size);
	require(wire::PrivateData::decode(said.encode()) == said, "what was said can be said again");
	return 0;
}
