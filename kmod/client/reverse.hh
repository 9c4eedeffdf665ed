/* SPDX-License-Identifier: GPL-2.0-only */
/* One Call in the reverse direction (RFC 8167), from its arrival until sunrpc has sent the Reply. */
#pragma once

#include "kernel/heap.hh"
#include "kernel/list.hh"
#include "verbs/live.hh"
#include "wire/xdr.hh"

namespace rpcordma::client {

/* Owned by the transport's pool, or by sunrpc as the rpc_rqst that it holds. */
class ReverseRequest final : public kernel::Heap, public kernel::ListNode<ReverseRequest> {
    public:
	/* Null where there is no memory. `size` is that of the largest Call and the largest Reply, in bytes. */
	[[nodiscard]] static ReverseRequest *make(std::size_t size, gfp_t gfp) noexcept;
	[[nodiscard]] static ReverseRequest &of(rpc_rqst *rqst) noexcept;

	/* Takes a Call's Payload stream, of no more than the size that this was made for, as sunrpc wants to find it. */
	void take(rpc_xprt *xprt, wire::Bytes payload) noexcept;
	[[nodiscard]] rpc_rqst *rqst() noexcept
	{
		return rqst_.get();
	}
	[[nodiscard]] std::size_t size() const noexcept
	{
		return call_.size();
	}

    private:
	Counted counted_{live_objects.requests};
	kernel::Opaque<rpc_rqst> rqst_;
	kernel::Block call_;
	kernel::Block reply_;
};

} // namespace rpcordma::client
