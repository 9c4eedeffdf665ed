// SPDX-License-Identifier: GPL-2.0-only
#include "proto/grants.hh"

namespace rpcordma::proto {

bool Grants::arrived() noexcept
{
	++outstanding_;
	peak_ = std::max(peak_, outstanding_);
	return outstanding_ <= most_;
}

void Grants::done() noexcept
{
	if (outstanding_ != 0)
		--outstanding_;
}

std::uint32_t Grants::next() const noexcept
{
	const std::uint32_t wanted = announced_ < first ? first : 2 * announced_;
	const bool grows = announced_ < first || peak_ > announced_ / 2;
	return std::max(announced_, grows ? std::min({wanted, requested_, most_}) : announced_);
}

} // namespace rpcordma::proto
