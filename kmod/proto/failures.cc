// SPDX-License-Identifier: GPL-2.0-only
#include "proto/failures.hh"

#include <utility>

namespace rpcordma::proto {
namespace {

class Digest {
    public:
	/// Different words leave different values behind.
	void add(std::uint64_t word) noexcept
	{
		value_ = (value_ ^ word) * factor;
		value_ ^= value_ >> 32;
	}
	/// Two words at a time: an odd one at the end says that there is no Reply chunk, and so does its absence.
	void add(wire::Bytes chunk_lists) noexcept
	{
		constexpr std::size_t two = 2 * wire::xdr_unit;
		for (; chunk_lists.size() >= two; chunk_lists = chunk_lists.subspan(two))
			add(wire::load_u64(chunk_lists.first<two>()));
	}
	[[nodiscard]] std::uint64_t value() const noexcept { return value_; }

    private:
	/// Odd, and without a pattern in its bits.
	static constexpr std::uint64_t factor = 0x9e3779b97f4a7c15;
	std::uint64_t value_ = factor;
};

} // namespace

Requester requester_at(wire::Bytes address) noexcept
{
	Digest digest;
	for (const std::byte byte : address)
		digest.add(std::to_integer<std::uint8_t>(byte));
	return Requester{digest.value()};
}

Transaction transaction_of(Requester requester, const Call &call, wire::Bytes message) noexcept
{
	// Not the fixed fields: a Call that is sent again may ask for other credits.
	const wire::Bytes header = message.first(message.size() - call.payload.size());
	Digest digest;
	digest.add(std::to_underlying(requester));
	digest.add(std::to_underlying(call.xid));
	digest.add(header.subspan(wire::front_size(call.version)));
	return Transaction{digest.value()};
}

} // namespace rpcordma::proto
