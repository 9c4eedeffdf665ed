// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/disconnection.hh"

#include <utility>

#include "kernel/trace.hh"
#include "verbs/disconnections.h"

namespace rpcordma::verbs {

namespace field = kernel::field;

namespace {

/* The connection manager tries for 74 to 98 s in most fabrics, and then reports the failure. It reports nothing where the request
 * itself could not be sent. */
constexpr unsigned long patience = 120 * kernel::HZ;
/* Each keeps a port number, of which 359 are reserved ones. With newer kernels it also keeps one of the 128 requests that may be
 * unanswered at a time on a port of a device. */
constexpr std::uint32_t most_waiting = 64;

struct Disconnections : kernel::Heap {
	kernel::SpinLock lock{RPCORDMA_LOCK_DISCONNECTIONS};
	kernel::List<Disconnection> waiting RPCORDMA_GUARDED_BY(lock);
};

constinit Disconnections *disconnections = nullptr;

} // namespace

int Disconnection::start() noexcept
{
	disconnections = new (kernel::GFP_KERNEL) Disconnections;
	return disconnections ? 0 : -kernel::ENOMEM;
}

void Disconnection::stop() noexcept
{
	{
		kernel::Guard guard(disconnections->lock);
		while (Disconnection *const waiting = disconnections->waiting.pop_front())
			waiting->end_soon();
	}
	rpcordma_flush_ends();
	delete disconnections;
}

Disconnection::Disconnection(rdma_cm_id *id) noexcept
	: id_(id)
{
	rpcordma_delayed_work_init(end_.get(), RPCORDMA_WORK_DISCONNECTION, [](work_struct *work) {
		kernel::owner_of(&Disconnection::end_, rpcordma_delayed_work_of(work))->end();
	});
}

bool Disconnection::wait() noexcept
{
	kernel::Guard guard(disconnections->lock);
	if (disconnections->waiting.size() == most_waiting)
		return false;
	field::rdma_cm_id::context(id_) = this;
	field::rdma_cm_id::event_handler(id_) = event_handler;
	waits_ = true;
	disconnections->waiting.push_back(*this);
	rpcordma_restart_delayed_end(end_.get(), patience);
	/* Here, because end() frees the handler's lock, and takes this one first. */
	rdma_unlock_handler(id_);
	return true;
}

int Disconnection::event_handler(rdma_cm_id *id, rdma_cm_event *event)
{
	static_cast<Disconnection *>(field::rdma_cm_id::context(id))->event(event);
	/* The identifier is ours to destroy. */
	return 0;
}

void Disconnection::event(rdma_cm_event *event) noexcept
{
	const unsigned int kind = field::rdma_cm_event::event(event);
	rpcordma_trace_connection_event(reinterpret_cast<const sockaddr *>(&field::rdma_cm_id::destination(id_)),
					rpcordma_event_name(kind), field::rdma_cm_event::status(event));
	if (!is_needless_after(kind))
		return;
	kernel::Guard guard(disconnections->lock);
	if (!waits_)
		return;
	disconnections->waiting.remove(*this);
	end_soon();
}

/* Whoever takes it off the list queues its end. That happens once, so that stop() waits for all ends by one flush. */
void Disconnection::end_soon() noexcept
{
	waits_ = false;
	rpcordma_restart_delayed_end(end_.get(), 0);
}

void Disconnection::end() noexcept
{
	{
		kernel::Guard guard(disconnections->lock);
		if (std::exchange(waits_, false))
			disconnections->waiting.remove(*this);
	}
	rdma_destroy_id(id_);
	/* The work is queued once more where its timer expired at the moment when an event, or stop(), took it off the list. */
	cancel_delayed_work(end_.get());
	delete this;
}

} // namespace rpcordma::verbs

using namespace rpcordma;

int rpcordma_disconnections_start(void)
{
	return verbs::Disconnection::start();
}

void rpcordma_disconnections_stop(void)
{
	verbs::Disconnection::stop();
}
