// SPDX-License-Identifier: GPL-2.0-only
#include "proto/credits.hh"

namespace rpcordma::proto {

Grant Credits::granted(std::uint32_t value) noexcept
{
	has_grant_ = true;
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

void Credits::abandon() noexcept
{
	if (unclaimed_ != 0) {
		unclaimed_--;
		outstanding_--;
	} else {
		abandoned_++;
	}
}

void Credits::unclaimed() noexcept
{
	if (abandoned_ != 0) {
		abandoned_--;
		outstanding_--;
	} else if (unclaimed_ < outstanding_) {
		unclaimed_++;
	}
}

} // namespace rpcordma::proto
