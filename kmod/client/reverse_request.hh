/* SPDX-License-Identifier: GPL-2.0-only */
/* One Call in the reverse direction (RFC 8167), from its arrival until the Reply has left. */
#pragma once

#include "kernel/heap.hh"
#include "kernel/list.hh"
#include "proto/arrival.hh"
#include "verbs/live.hh"
#include "verbs/transfer.hh"
#include "wire/xdr.hh"

namespace rpcordma::client {

class ReverseResponder;

/* Owned by the ReverseResponder, or by sunrpc as the rpc_rqst that it holds. */
class ReverseRequest final : public kernel::Heap, public kernel::ListNode<ReverseRequest>, private verbs::Signal {
    public:
	/* Null where there is no memory. `size` is that of the largest message, in bytes. */
	[[nodiscard]] static ReverseRequest *make(ReverseResponder &owner, std::size_t size, gfp_t gfp) noexcept;
	[[nodiscard]] static ReverseRequest &of(rpc_rqst *rqst) noexcept;

	/* Keeps a message, of no more than the size that this was made for, that is a Call. */
	void hold(wire::Bytes message) noexcept;
	[[nodiscard]] const proto::Call &call() const noexcept
	{
		return call_;
	}
	/* The Payload stream, if some of it comes by chunks: so much memory, zeroed. False where there is none. */
	[[nodiscard]] bool make_room(std::size_t size, gfp_t gfp) noexcept;
	/* The whole of the Payload stream. */
	[[nodiscard]] wire::Bytes stream() const noexcept
	{
		return moved_ ? wire::Bytes(moved_.span()) : call_.payload;
	}
	/* As sunrpc wants to find it. */
	[[nodiscard]] rpc_rqst *give(rpc_xprt *xprt) noexcept;
	[[nodiscard]] std::size_t size() const noexcept
	{
		return message_.size();
	}

    private:
	friend class ReverseResponder;

	explicit ReverseRequest(ReverseResponder &owner) noexcept;

	/* What is answered where a service does not. */
	enum class Refusal : std::uint8_t {
		/* ERR_CHUNK. */
		chunks,
		/* PROG_UNAVAIL. */
		unserved,
	};
	/* Guarded by the owner's lock. */
	enum class State : std::uint8_t {
		/* Its chunks are read. */
		pulling,
		/* It is refused, once there is room for that. */
		refused,
		/* sunrpc has it. */
		served,
		/* sunrpc has it, and its Reply is written to its Reply chunk. */
		pushing,
		/* The same, but for sunrpc. */
		released,
	};

	Counted counted_{live_objects.requests};
	ReverseResponder &owner_;
	State state_ = State::served;
	Refusal refusal_ = Refusal::chunks;
	/* It has not been answered. Guarded likewise. */
	bool holds_credit_ = false;
	/* The number of the connection that the Call came on. Guarded likewise. */
	std::uint32_t connection_ = 0;
	kernel::Opaque<rpc_rqst> rqst_;
	kernel::Block message_;
	proto::Call call_{};
	kernel::Block reply_;
	/* What RDMA Reads fill: the Payload stream; later what RDMA Writes take: the Reply. */
	kernel::Block moved_;
	verbs::Transfers transfers_;
	verbs::Chain reads_;
};

} // namespace rpcordma::client
