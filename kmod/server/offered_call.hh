/* SPDX-License-Identifier: GPL-2.0-only */
/* A Call in the reverse direction whose chunks the peer may reach, from its sending until it reaches them no more. */
#pragma once

#include <optional>

#include "kernel/heap.hh"
#include "kernel/list.hh"
#include "proto/reply.hh"
#include "proto/reverse.hh"
#include "verbs/live.hh"
#include "verbs/receive_queue.hh"
#include "verbs/registration.hh"

namespace rpcordma::server {

class ReverseRequester;

/* Its memory is its own, so that sunrpc may give the RPC up at any time. Owned by the ReverseRequester. */
class OfferedCall final : public kernel::Heap, public kernel::ListNode<OfferedCall>, public verbs::Signal {
    public:
	/* Makes memory for what the plan has travel by chunks, fills it, and appends its registration to the chain. `taken`
	 * has a registration for each. Null where there is no memory, or where it is more than a registration covers: then
	 * `taken` has all of them again, and the chain is not to be posted. */
	[[nodiscard]] static kernel::Owned<OfferedCall> make(ReverseRequester &owner, wire::Xid xid,
							     const proto::ReversePlan &plan, rpc_rqst *rqst,
							     proto::RegistrationLimits limits,
							     verbs::Registrations &taken, verbs::Chain &chain) noexcept;
	/* Unmaps what is registered, and moves it to `to`. The peer can no longer reach it. */
	void take_back(verbs::Registrations &to) noexcept;

	/* Marks what the peer has invalidated with a message. False: it is none of the Call's registrations. */
	[[nodiscard]] bool mark_invalidated(const verbs::ReceiveBuffer &buffer) noexcept;

	[[nodiscard]] wire::ChunksToSend chunks() const noexcept
	{
		wire::ChunksToSend chunks{.reads = {&read_, call_ ? 1u : 0u}, .writes = {}, .reply = {}};
		if (reply_)
			chunks.reply = room();
		return chunks;
	}
	[[nodiscard]] proto::Offer offered() const noexcept
	{
		return {.write_chunk = {}, .reply_chunk = room()};
	}

	[[nodiscard]] verbs::Registrations &registrations() noexcept
	{
		return registrations_;
	}
	/* What was written to the Reply chunk. */
	[[nodiscard]] wire::Bytes reply() const noexcept
	{
		return reply_.span().first(written);
	}

	const wire::Xid xid;
	/* The size of a Reply that was written to the Reply chunk, and what it grants; 0 where there is none. */
	std::uint32_t written = 0;
	std::uint32_t credits = 0;

    private:
	OfferedCall(ReverseRequester &owner, wire::Xid xid) noexcept;
	/* False: take_back() is due. */
	[[nodiscard]] bool offer(const proto::ReversePlan &plan, rpc_rqst *rqst, proto::RegistrationLimits limits,
				 verbs::Registrations &taken, verbs::Chain &chain) noexcept;
	[[nodiscard]] wire::SegmentArray room() const noexcept
	{
		return {&room_, reply_ ? 1u : 0u};
	}
	[[nodiscard]] std::optional<wire::Segment> map(const kernel::Block &block, verbs::Access access,
						       proto::RegistrationLimits limits, verbs::Registrations &taken,
						       verbs::Chain &chain) noexcept;

	Counted counted_{live_objects.offered_calls};
	ReverseRequester &owner_;
	kernel::Block call_;
	kernel::Block reply_;
	verbs::Registrations registrations_;
	wire::ReadSegment read_{};
	wire::Segment room_{};
};

} // namespace rpcordma::server
