/* SPDX-License-Identifier: GPL-2.0-only */
/* What the requester holds for one RPC, from its allocation to its release by sunrpc. */
#pragma once

#include <array>
#include <span>

#include "kernel/heap.hh"
#include "kernel/list.hh"
#include "proto/reply.hh"
#include "proto/transfer.hh"
#include "verbs/endpoint.hh"
#include "verbs/live.hh"
#include "wire/chunk.hh"

namespace rpcordma::client {

class Transport;

/* The XID of an RPC, in the byte order of this machine. */
[[nodiscard]] wire::Xid xid_of(const rpc_rqst *rqst) noexcept;

/* What became of an attempt to send. Too large is also what the device can never register. */
enum class Sent : std::uint8_t { yes, no_room, no_memory, too_large, not_connected };

/* Owned by sunrpc's request while that has an rq_buffer, else by the transport's pool. */
class Request final : public kernel::Heap, public kernel::ListNode<Request>, private verbs::Signal {
    public:
	static constexpr std::uint32_t most_segments = verbs::most_segments;

	explicit Request(Transport &transport) noexcept;

	/* The Request of an RPC that has an rq_buffer. */
	[[nodiscard]] static Request &of(const rpc_rqst *rqst) noexcept;

	/* Sees to buffers of at least these sizes. False where there is no memory. */
	[[nodiscard]] bool reserve(std::size_t call_size, std::size_t reply_size, gfp_t gfp) noexcept;
	[[nodiscard]] std::byte *call_buffer() const noexcept;
	[[nodiscard]] std::byte *reply_buffer(std::size_t call_size) const noexcept;
	/* Large buffers are not kept for the next RPC. */
	void trim() noexcept;

	/* What was offered with the Call. */
	[[nodiscard]] proto::Offer offer() const noexcept;
	[[nodiscard]] wire::ChunksToSend chunks() noexcept;

    private:
	friend class Transport;

	/* What becomes of the reply. Guarded by the transport's lock. */
	enum class State : std::uint8_t {
		/* Nothing can come for it. */
		idle,
		/* Sent on the connection with the number `connection_`; a reply is awaited. */
		sent,
		/* Nobody waits for its reply any more, and its memory is on its way out of the peer's reach. A reply is late. */
		withdrawn,
		/* A reply has come and is being worked on. */
		replied,
	};

	Counted counted_{live_objects.requests};
	Transport &transport_;
	kernel::Block buffer_;
	rpc_rqst *rqst_ = nullptr;
	State state_ = State::idle;
	std::uint32_t connection_ = 0;

	/* Memory that the peer may reach. */
	verbs::Registrations reads_;
	verbs::Registrations room_;
	/* Whether there is such memory. Guarded by the transport's lock. */
	enum class Memory : std::uint8_t {
		none,
		advertised,
		/* It is on its way out of the peer's reach, and nobody but who does that touches reads_ and room_. */
		returning,
	};
	Memory memory_ = Memory::none;
	/* Who waits for the memory to be out of the peer's reach: completed then, for who frees the RPC, or woken then, for
	 * who sends it again. Guarded by the transport's lock. */
	kernel::Completion *fenced_ = nullptr;
	rpc_task *sleeper_ = nullptr;
	/* The status that the sleeping task had. */
	int status_ = 0;

	std::array<wire::ReadSegment, most_segments> read_segments_;
	std::uint32_t read_count_ = 0;
	std::array<wire::Segment, most_segments> room_segments_;
	std::uint32_t room_count_ = 0;
	proto::ReplyRoom room_kind_ = proto::ReplyRoom::inline_message;
	wire::SegmentArray write_list_[1];

	/* The reply, while its memory is being invalidated. */
	verbs::ReceiveBuffer *reply_ = nullptr;
	proto::Accepted verdict_;
};

} // namespace rpcordma::client
