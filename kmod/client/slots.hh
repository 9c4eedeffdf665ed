/* SPDX-License-Identifier: GPL-2.0-only */
/* The slots of a transport: what an RPC has from its reservation to its release. */
#pragma once

#include "client/request.hh"
#include "kernel/reserve.hh"

namespace rpcordma::client {

class Transport;

/* sunrpc's requests, each within a Request, so that one allocation is all that an RPC needs before its buffers, and the next RPC
 * uses it again. sunrpc's `reserve_lock` guards it: under that lock sunrpc, too, has tasks wait for a slot. */
class Slots {
    public:
	explicit Slots(Transport &owner) noexcept
		: owner_(owner)
	{
	}

	/* Makes the first one. From then on there is one at least, so that a task that waits for a slot waits for one that is in
	 * use. Return: false if there is no memory. Context: process, once, before all else. */
	[[nodiscard]] bool open() noexcept;
	/* As sunrpc/xprt.h has it for alloc_slot(). Gives the task a slot, and sets its tk_status to 0. Sets that to -ENOMEM
	 * where there is no memory for one; to -EAGAIN where as many are in use as there may be: then the task waits for one.
	 * Context: a task; may sleep. */
	void allocate(rpc_task *task) noexcept;
	/* As free_slot(): takes the slot of an RPC that has no buffers any more. The next task of sunrpc's queue gets it.
	 * Context: a task; does not sleep. */
	void free(rpc_rqst *rqst) noexcept;
	/* Frees what has not been needed since the last call. Return: whether another call may free more. Context: process. */
	[[nodiscard]] bool trim() noexcept;

    private:
	/* Makes one that has been counted. Return: null if there is no memory. */
	[[nodiscard, gnu::noinline]] Request *make() noexcept;

	Transport &owner_;
	kernel::Reserve<Request> free_;
};

} // namespace rpcordma::client
