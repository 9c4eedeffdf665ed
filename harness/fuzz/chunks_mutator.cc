// SPDX-License-Identifier: GPL-2.0-only
/// For inputs that begin with the chunk lists of an RDMA_MSG.
#include "harness/fuzz/mutator.hh"

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t *data, std::size_t size, std::size_t max_size,
					       unsigned seed)
{
	// XID, version, credits, and the type: in front of the lists.
	static constexpr std::array<std::uint8_t, 16> FIXED_FIELDS = {0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 1};
	return rpcordma::fuzz::mutate(FIXED_FIELDS, data, size, max_size, seed);
}
