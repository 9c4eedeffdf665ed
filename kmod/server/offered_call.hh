/* SPDX-License-Identifier: GPL-2.0-only */
/* A Call in the reverse direction whose chunks the peer may reach, from its sending until it reaches them no more. */
#pragma once

#include "kernel/heap.hh"
#include "kernel/list.hh"
#include "proto/reply.hh"
#include "proto/reverse.hh"
#include "verbs/advertised.hh"
#include "verbs/live.hh"

namespace rpcordma::server {

class ReverseRequester;

/* Its memory is its own, so that sunrpc may give the RPC up at any time. Owned by the ReverseRequester. */
class OfferedCall final : public kernel::Heap, public kernel::ListNode<OfferedCall>, public verbs::Signal {
    public:
	OfferedCall(ReverseRequester &owner, wire::Xid xid) noexcept;

	/* Makes memory for what the plan has travel by chunks, fills it, and appends its registration to the chain, for which
	 * `advertised` has a registration each.
	 * Return: false where there is no memory, or where it is more than a registration covers: the chain is not to be posted,
	 * and `advertised` is to be put back. */
	[[nodiscard]] bool offer(const proto::ReversePlan &plan, rpc_rqst *rqst, proto::RegistrationLimits limits,
				 verbs::Chain &chain) noexcept;

	[[nodiscard]] wire::ChunksToSend chunks() const noexcept
	{
		wire::ChunksToSend chunks{.reads = {&read_, call_ ? 1u : 0u}, .writes = {}, .reply = {}};
		if (reply_)
			chunks.reply = room();
		return chunks;
	}
	[[nodiscard]] proto::Offer offered() const noexcept { return {.write_chunk = {}, .reply_chunk = room()}; }

	/* What was written to the Reply chunk. */
	[[nodiscard]] wire::Bytes reply() const noexcept { return reply_.span().first(written); }

	/* What the client reaches of it. */
	verbs::Advertised advertised;
	const wire::Xid xid;
	/* The size of a Reply that was written to the Reply chunk, and what it grants; 0 where there is none. */
	std::uint32_t written = 0;
	std::uint32_t credits = 0;

    private:
	[[nodiscard]] bool advertise(const kernel::Block &block, verbs::Access access, proto::RegistrationLimits limits,
				     verbs::Chain &chain, wire::Segment &to) noexcept;
	[[nodiscard]] wire::SegmentArray room() const noexcept { return {&room_, reply_ ? 1u : 0u}; }

	Counted counted_{live_objects.offered_calls};
	ReverseRequester &owner_;
	kernel::Block call_;
	kernel::Block reply_;
	wire::ReadSegment read_{};
	wire::Segment room_{};
};

} // namespace rpcordma::server
