// SPDX-License-Identifier: GPL-2.0-only
#include "proto/grants.hh"

namespace rpcordma::proto {

bool Grants::arrived() noexcept
{
	++outstanding_;
	peak_ = std::max(peak_, outstanding_);
	if (peak_ > announced_ / 4)
		shrinks_ = false;
	return outstanding_ <= most_;
}

void Grants::done() noexcept
{
	if (outstanding_ != 0)
		--outstanding_;
}

std::uint32_t Grants::next() const noexcept
{
	if (shrinks_)
		return std::max(announced_ / 2, first);
	const std::uint32_t wanted = announced_ < first ? first : 2 * announced_;
	const bool grows = announced_ < first || peak_ > announced_ / 2;
	return std::max(announced_, grows ? std::min({wanted, requested_, most_}) : announced_);
}

bool Grants::look_back() noexcept
{
	shrinks_ = announced_ > first && peak_ <= announced_ / 4;
	peak_ = outstanding_;
	return announced_ > first && !shrinks_;
}

/* Replies may be announced in another order than next() was asked for them: the larger of two counts. */
void Grants::announced(std::uint32_t credits) noexcept
{
	if (shrinks_ && credits < announced_) {
		announced_ = credits;
		shrinks_ = false;
	}
	announced_ = std::max(announced_, credits);
}

} // namespace rpcordma::proto
