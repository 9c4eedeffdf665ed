/* SPDX-License-Identifier: GPL-2.0-only */
/* One Call in the reverse direction (RFC 8167), from its arrival until the Reply has left. */
#pragma once

#include "kernel/heap.hh"
#include "kernel/list.hh"
#include "proto/assembly.hh"
#include "proto/received.hh"
#include "verbs/endpoint.hh"
#include "verbs/live.hh"
#include "verbs/transfer.hh"
#include "wire/xdr.hh"

namespace rpcordma::client {

class ReverseResponder;

/* Owned by the ReverseResponder, or by sunrpc as the rpc_rqst that it holds. What is not in `Progress` belongs to one of
 * them at a time, and to the device while RDMA Reads or Writes are posted. */
class ReverseRequest final : public kernel::Heap, public kernel::ListNode<ReverseRequest>, private verbs::Signal {
    public:
	explicit ReverseRequest(ReverseResponder &owner) noexcept;
	[[nodiscard]] static ReverseRequest &of(rpc_rqst *rqst) noexcept;

	/* Keeps a copy of a message that is a Call, or an optional one in direction CALL. Return: false where there is no memory. */
	[[nodiscard]] bool hold(wire::Bytes message, gfp_t gfp) noexcept;
	[[nodiscard]] const proto::Call &call() const noexcept { return call_; }
	/* None where it is a Call, or an optional message that is not known. */
	[[nodiscard]] const std::optional<proto::Option> &option() const noexcept { return option_; }
	/* The whole of the Payload stream. */
	[[nodiscard]] wire::Bytes stream() const noexcept
	{
		return moved_ ? wire::Bytes(moved_.span()) : call_.payload;
	}
	/* The Call as sunrpc wants to find it, with memory for its Reply. */
	[[nodiscard]] rpc_rqst *give(rpc_xprt *xprt) noexcept;

	/* Puts the Payload stream of the Call together: copies what is in the message, and makes RDMA Reads of the rest,
	 * which are not prepared. Return: false where there is no memory. */
	[[nodiscard]] bool make_reads(verbs::TransferPool &pool, const verbs::Endpoint &endpoint) noexcept;
	/* Copies the Reply, and makes the RDMA Writes of it that fill the Reply chunk, as make_reads(). */
	[[nodiscard]] bool make_writes(const wire::WriteChunk &room, const xdr_buf &reply, verbs::TransferPool &pool,
				       const verbs::Endpoint &endpoint) noexcept;

    private:
	friend class ReverseResponder;

	[[nodiscard]] bool move(const wire::Segment &segment, std::size_t offset, verbs::Direction direction,
				verbs::TransferPool &pool, const verbs::Endpoint &endpoint) noexcept;

	/* What is answered where a service does not. */
	enum class Refusal : std::uint8_t {
		/* ERR_CHUNK. */
		chunks,
		/* PROG_UNAVAIL. */
		unserved,
		/* ERR_INVAL_OPTION, or what its feature answers. */
		option,
	};
	enum class State : std::uint8_t {
		/* Its chunks are read. */
		pulling,
		/* It is refused, once there is room for that. */
		refused,
		/* sunrpc has it. */
		served,
		/* sunrpc has it, and its Reply is written to its Reply chunk. */
		pushing,
		/* sunrpc is done with it, and its Reply is still being written. */
		released,
	};
	/* Guarded by the lock of the ReverseResponder, through whose progress_of() alone it is reached. */
	struct Progress {
		State state = State::served;
		/* It has not been answered. */
		bool holds_credit = false;
		/* The number of the connection that the Call came on. */
		std::uint32_t connection = 0;
	};

	Counted counted_{live_objects.requests};
	ReverseResponder &owner_;
	Progress progress_;
	Refusal refusal_ = Refusal::chunks;
	kernel::Opaque<rpc_rqst> rqst_;
	kernel::Block message_;
	proto::Call call_{};
	/* Of its chunks; refers to call_. */
	proto::Assembly assembly_;
	std::optional<proto::Option> option_;
	kernel::Block reply_;
	/* What RDMA Reads fill: the Payload stream; later what RDMA Writes take: the Reply. */
	kernel::Block moved_;
	verbs::Transfers transfers_;
};

} // namespace rpcordma::client
