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
	void add(const wire::Segment &segment) noexcept
	{
		add(std::uint64_t{std::to_underlying(segment.handle)} << 32 | segment.length);
		add(segment.offset);
	}
	void add(const wire::WriteChunk &chunk) noexcept
	{
		add(chunk.count());
		for (std::uint32_t i = 0; i < chunk.count(); i++)
			add(chunk[i]);
	}
	[[nodiscard]] std::uint64_t value() const noexcept
	{
		return value_;
	}

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

Transaction transaction_of(Requester requester, const Call &call) noexcept
{
	Digest digest;
	digest.add(std::to_underlying(requester));
	digest.add(std::to_underlying(call.xid));
	digest.add(call.chunks.reads.count());
	for (const wire::ReadSegment segment : call.chunks.reads) {
		digest.add(std::to_underlying(segment.position));
		digest.add(segment.target);
	}
	digest.add(call.chunks.writes.count());
	for (const wire::WriteChunk chunk : call.chunks.writes)
		digest.add(chunk);
	if (call.chunks.reply)
		digest.add(*call.chunks.reply);
	return Transaction{digest.value()};
}

} // namespace rpcordma::proto
