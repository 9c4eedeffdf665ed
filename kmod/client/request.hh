/* SPDX-License-Identifier: GPL-2.0-only */
/* What the requester holds for one RPC, from its reservation to its release by sunrpc: its slot, and what belongs to it. */
#pragma once

#include <array>
#include <span>

#include "client/runs.hh"
#include "kernel/heap.hh"
#include "kernel/list.hh"
#include "kernel/sync.hh"
#include "proto/reply.hh"
#include "proto/transfer.hh"
#include "verbs/advertised.hh"
#include "verbs/live.hh"
#include "wire/chunk.hh"

namespace rpcordma::client {

class Outstanding;

/* The XID of an RPC, in the byte order of this machine. Any context. */
[[nodiscard]] wire::Xid xid_of(const rpc_rqst *rqst) noexcept;

/* What became of an attempt to send. Too large is also what the device can never register. */
enum class Sent : std::uint8_t { yes, no_room, no_memory, too_large, not_connected };

/* Belongs to a task of sunrpc's, or is one of the free ones of `Slots`. `Progress` has a lock, and so has the list that it is
 * on. All else belongs to one context at a time: to the task; to the holder of the send lock until the Call is posted; to
 * completions from its Reply on. */
class Request final : public kernel::Heap, public kernel::ListNode<Request>, public verbs::Signal {
    public:
	explicit Request(Outstanding &owner) noexcept;

	/* The Request of a slot. */
	[[nodiscard]] static Request &of(rpc_rqst *rqst) noexcept;
	/* The slot, for sunrpc. */
	[[nodiscard]] rpc_rqst *rqst() noexcept { return rqst_.get(); }

	/* Gives the RPC buffers of the sizes that it asks for. Return: false if there is no memory. Context: may sleep if
	 * `gfp` allows that. */
	[[nodiscard]] bool lend_buffers(gfp_t gfp) noexcept;
	/* The RPC has no use for them any more. Large ones are not kept for the next. */
	void take_buffers() noexcept;

	/* Registers what the plan has travel by chunks, with registrations that `advertised` has taken, and appends the work
	 * requests to `chain`. Nothing is offered before. Where the result is not yes, `advertised` is to be put back.
	 * Context: the send lock. */
	[[nodiscard]] verbs::Mapped advertise(const xdr_buf &call, const xdr_buf &reply, const proto::Plan &plan,
					      proto::RegistrationLimits limits, verbs::Chain &chain) noexcept;
	/* What a Reply may refer to. */
	[[nodiscard]] const proto::Offer &offer() const noexcept { return offer_; }
	/* Nothing is offered any more. */
	void withdraw_offer() noexcept
	{
		read_count_ = 0;
		offer_ = {};
	}
	/* The segments of the Read chunk, and those of the Write or Reply chunk. */
	[[nodiscard]] std::span<const wire::ReadSegment> reads() const noexcept
	{
		return std::span(read_segments_).first(read_count_);
	}
	[[nodiscard]] wire::SegmentArray room() const noexcept
	{
		return offer_.write_chunk.empty() ? offer_.reply_chunk : offer_.write_chunk;
	}
	/* All of them as the Call's header has them. Refers to this. */
	[[nodiscard]] wire::ChunksToSend chunks() const noexcept;

	verbs::Advertised advertised;
	/* The Reply that is being worked on, and what it has been found to be. */
	verbs::ReceiveBuffer *reply = nullptr;
	std::expected<proto::Accepted, proto::ReplyError> verdict;

    private:
	friend class Outstanding;

	/* Guarded by the lock of `Outstanding`, which reaches it by progress_of(). The task that ends the RPC reads `state` without:
	 * nobody else writes it then. */
	struct Progress {
		/* What becomes of the reply. */
		enum class State : std::uint8_t {
			/* Nothing can come for it. A reply that has come, and has given the credit back, is delivered, or has
			 * been. */
			idle,
			/* Sent; a reply is awaited. */
			sent,
			/* Nobody waits for its reply any more, and its memory is on its way out of the peer's reach. A
			 * reply is late. */
			withdrawn,
			/* The same, and its memory is out of the peer's reach: it is sent again on another connection. */
			abandoned,
			/* A reply has come and is being worked on: its memory is awaited, or it has to be looked at. */
			replied,
		};
		/* Where the memory is that the peer may reach. */
		enum class Memory : std::uint8_t {
			/* There is none. */
			none,
			advertised,
			/* On its way out of the peer's reach. Only the one that does that touches `advertised`. */
			returning,
		};

		State state = State::idle;
		Memory memory = Memory::none;
		/* The number of the connection that the Call was sent on. */
		std::uint32_t connection = 0;
		/* How often look() has found its memory on its way. */
		std::uint32_t looks = 0;
		/* These wait until the memory is out of the peer's reach: `fenced` to free the RPC, the task `sleeper` to
		 * send it again. `status` is that of the task before it slept. */
		kernel::Completion *fenced = nullptr;
		rpc_task *sleeper = nullptr;
		int status = 0;
	};

	Counted counted_{live_objects.requests};
	Outstanding &owner_;
	kernel::Opaque<rpc_rqst> rqst_;
	kernel::Block buffer_;
	Progress progress_;
	std::array<wire::ReadSegment, verbs::most_segments> read_segments_;
	std::uint32_t read_count_ = 0;
	std::array<wire::Segment, verbs::most_segments> room_segments_;
	proto::Offer offer_;
};

} // namespace rpcordma::client
