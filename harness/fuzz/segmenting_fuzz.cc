// SPDX-License-Identifier: GPL-2.0-only
/// The division of memory into segments.
#include <fuzzer/FuzzedDataProvider.h>

#include "harness/fuzz/require.hh"
#include "proto/segmenting.hh"

using namespace rpcordma;
using namespace rpcordma::proto;
using fuzz::require;

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	FuzzedDataProvider input(data, size);
	const RegistrationLimits limits{
		.pages = input.ConsumeBool() ? input.ConsumeIntegralInRange<std::uint32_t>(0, 64) :
					       input.ConsumeIntegral<std::uint32_t>(),
		.gaps = input.ConsumeBool(),
	};
	const std::uint32_t most = limits.pages == 0 ? 1 : limits.pages;
	// Long runs with few pages to a piece are right, and slow.
	const std::uint32_t longest = most < 1024 ? 1 << 20 : 0xffffffff;
	std::vector<MemoryRun> runs;
	while (input.remaining_bytes() != 0 && runs.size() < 32)
		runs.push_back({.offset = input.ConsumeIntegralInRange<std::uint32_t>(0, kernel::page_size - 1),
				.length = input.ConsumeIntegralInRange<std::uint32_t>(0, longest)});

	std::uint64_t bytes_left = 0;
	std::uint64_t pages_left = 0;
	std::uint32_t used_runs = 0;
	for (const MemoryRun &run : runs) {
		bytes_left += run.length;
		pages_left += run.pages();
		used_runs += run.length != 0;
	}

	Segmenter segmenter(runs, limits);
	std::uint32_t pieces = 0;
	while (const auto piece = segmenter.next()) {
		++pieces;
		require(piece->pages >= 1 && piece->pages <= most, "a piece keeps its limit");
		require(piece->length >= 1 && piece->length <= std::uint64_t{piece->pages} * kernel::page_size,
			"a piece is no "
			"longer than "
			"its pages");
		require(piece->length <= bytes_left && piece->pages <= pages_left, "nothing is covered twice");
		bytes_left -= piece->length;
		pages_left -= piece->pages;
	}
	require(bytes_left == 0 && pages_left == 0, "all is covered");
	require(limits.gaps || pieces >= used_runs, "without gaps, each run has pieces of its own");
	require(segments_needed(runs, limits) == pieces, "pieces are counted as they come");
	return 0;
}
