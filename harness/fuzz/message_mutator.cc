// SPDX-License-Identifier: GPL-2.0-only
/// For inputs that begin with a message.
#include "harness/fuzz/mutator.hh"

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t *data, std::size_t size, std::size_t max_size,
					       unsigned seed)
{
	return rpcordma::fuzz::mutate({}, data, size, max_size, seed);
}
