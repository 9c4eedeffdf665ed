// SPDX-License-Identifier: GPL-2.0-only
#include "proto/credits.hh"

namespace rpcordma::proto {

Grant Credits::granted(std::uint32_t value) noexcept
{
	if (value == 0) {
		limit_ = 1;
		return Grant::zero;
	}
	if (value > requested_) {
		limit_ = requested_;
		return Grant::above_request;
	}
	limit_ = value;
	return Grant::usual;
}

} // namespace rpcordma::proto
