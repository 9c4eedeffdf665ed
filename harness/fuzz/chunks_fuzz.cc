// SPDX-License-Identifier: GPL-2.0-only
/// The chunk lists of a message, without the header in front of them.
#include <algorithm>

#include "harness/fuzz/require.hh"

using namespace rpcordma;

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	const wire::Bytes bytes = std::as_bytes(std::span(data, size));
	wire::Reader reader(bytes);
	if (const auto chunks = wire::Chunks::decode(reader))
		fuzz::require_round_trip(*chunks, bytes.first(size - reader.rest().size()));
	return 0;
}
