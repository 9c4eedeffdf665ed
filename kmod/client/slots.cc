// SPDX-License-Identifier: GPL-2.0-only
#include "client/slots.hh"

#include "client/transport.hh"
#include "kernel/sync.hh"

namespace rpcordma::client {

namespace field = kernel::field;

namespace {

spinlock &lock_of(rpc_xprt *xprt)
{
	return field::rpc_xprt::reserve_lock(xprt);
}

/* Counts another slot, which is to be made; false where there are as many as there may be. Under sunrpc's lock. */
bool count_another(rpc_xprt *xprt)
{
	unsigned int &count = field::rpc_xprt::num_reqs(xprt);
	if (count >= field::rpc_xprt::max_reqs(xprt))
		return false;
	count++;
	return true;
}

} // namespace

bool Slots::open() noexcept
{
	auto *const request = new (kernel::GFP_KERNEL) Request(owner_.outstanding());
	if (!request)
		return false;
	field::rpc_xprt::num_reqs(owner_.xprt()) = 1;
	free_.put(*request);
	return true;
}

void Slots::allocate(rpc_task *task) noexcept
{
	rpc_xprt *const xprt = owner_.xprt();
	Request *request;
	{
		kernel::KernelGuard guard(lock_of(xprt));
		request = free_.take();
		if (!request && !count_another(xprt)) {
			xprt_add_backlog(xprt, task);
			field::rpc_task::tk_status(task) = -kernel::EAGAIN;
			return;
		}
	}
	if (!request)
		request = make();
	field::rpc_task::tk_status(task) = request ? 0 : -kernel::ENOMEM;
	if (request) [[likely]]
		field::rpc_task::tk_rqstp(task) = request->rqst();
}

Request *Slots::make() noexcept
{
	if (auto *const request = new (rpc_task_gfp_mask()) Request(owner_.outstanding()))
		return request;
	rpc_xprt *const xprt = owner_.xprt();
	kernel::KernelGuard guard(lock_of(xprt));
	field::rpc_xprt::num_reqs(xprt)--;
	/* The task that gets none may be killed. One that waits because this one was counted tries next. */
	if (rpcordma_xprt_congested(xprt))
		(void)rpc_wake_up_next(&field::rpc_xprt::backlog(xprt));
	return nullptr;
}

void Slots::free(rpc_rqst *rqst) noexcept
{
	rpc_xprt *const xprt = owner_.xprt();
	/* sunrpc expects a free one to be zero: it initialises only some members of it. */
	__builtin_memset(rqst, 0, kernel::Layout<rpc_rqst>::size);
	kernel::KernelGuard guard(lock_of(xprt));
	/* Whoever has a task wait says so before, under this lock. */
	if (rpcordma_xprt_congested(xprt) && xprt_wake_up_backlog(xprt, rqst)) [[unlikely]]
		return;
	free_.put(Request::of(rqst));
}

bool Slots::trim() noexcept
{
	rpc_xprt *const xprt = owner_.xprt();
	kernel::List<Request> unneeded;
	bool is_more;
	{
		kernel::KernelGuard guard(lock_of(xprt));
		/* One at least has to be left: open(). */
		static_assert(kernel::least_kept != 0);
		is_more = free_.give_up(unneeded);
		field::rpc_xprt::num_reqs(xprt) -= unneeded.size();
	}
	unneeded.delete_all();
	return is_more;
}

} // namespace rpcordma::client
