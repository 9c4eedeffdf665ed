// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/farewell.hh"

#include "kernel/trace.hh"
#include "verbs/farewells.h"

namespace rpcordma::verbs {

namespace field = kernel::field;

namespace {

/* The connection manager tries for some 70 s, and then says so; but not where it lacked the memory for the request. */
constexpr unsigned long patience = 90 * kernel::HZ;

struct Farewells : kernel::Heap {
	kernel::SpinLock lock{RPCORDMA_LOCK_FAREWELLS};
	/* Those whose end has not begun. */
	kernel::List<Farewell> waiting RPCORDMA_GUARDED_BY(lock);
};

constinit Farewells *farewells = nullptr;

} // namespace

int Farewell::start() noexcept
{
	farewells = new (kernel::GFP_KERNEL) Farewells;
	return farewells ? 0 : -kernel::ENOMEM;
}

void Farewell::stop() noexcept
{
	{
		kernel::Guard guard(farewells->lock);
		farewells->waiting.for_each(
			[](Farewell &farewell) { rpcordma_restart_delayed_end(farewell.end_.get(), 0); });
	}
	rpcordma_flush_ends();
	delete farewells;
}

Farewell::Farewell(rdma_cm_id *id) noexcept
	: id_(id)
{
	rpcordma_delayed_work_init(end_.get(), RPCORDMA_WORK_FAREWELL, [](work_struct *work) {
		kernel::owner_of(&Farewell::end_, rpcordma_delayed_work_of(work))->end();
	});
}

void Farewell::wait() noexcept
{
	field::rdma_cm_id::context(id_) = this;
	field::rdma_cm_id::event_handler(id_) = event_handler;
	kernel::Guard guard(farewells->lock);
	farewells->waiting.push_back(*this);
	rpcordma_restart_delayed_end(end_.get(), patience);
}

int Farewell::event_handler(rdma_cm_id *id, rdma_cm_event *event)
{
	static_cast<Farewell *>(field::rdma_cm_id::context(id))->event(event);
	/* The identifier is ours to destroy. */
	return 0;
}

/* Whatever comes is the last: the peer has answered, has disconnected by itself, or is not there, or the device goes. */
void Farewell::event(rdma_cm_event *event) noexcept
{
	rpcordma_trace_connection_event(
		reinterpret_cast<const sockaddr *>(&field::rdma_cm_id::destination(id_)),
		rpcordma_event_name(field::rdma_cm_event::event(event)), field::rdma_cm_event::status(event));
	kernel::Guard guard(farewells->lock);
	/* Where its time was over, its end waits for this event to be through. */
	if (farewells->waiting.find([&](const Farewell &farewell) { return &farewell == this; }))
		rpcordma_restart_delayed_end(end_.get(), 0);
}

void Farewell::end() noexcept
{
	{
		kernel::Guard guard(farewells->lock);
		farewells->waiting.remove(*this);
	}
	rdma_destroy_id(id_);
	/* An event or stop() may have queued it once more, when this had begun and was waiting for the lock. */
	cancel_delayed_work(end_.get());
	delete this;
}

} // namespace rpcordma::verbs

using namespace rpcordma;

int rpcordma_farewells_start(void)
{
	return verbs::Farewell::start();
}

void rpcordma_farewells_stop(void)
{
	verbs::Farewell::stop();
}
