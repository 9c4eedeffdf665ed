// SPDX-License-Identifier: GPL-2.0-only
#include "server/listener.hh"

#include <algorithm>
#include <utility>

#include "kernel/trace.hh"
#include "server/connection.hh"
#include "server/service.hh"

namespace rpcordma::server {

namespace field = kernel::field;

namespace {

/* With so many connections that wait to be accepted no other may: the threads that accept them are few, and each costs
 * memory. Those whose turn comes meanwhile are more. */
constexpr std::uint32_t most_waiting = 64;
/* The same of those that wait for their turn before. Over iWARP nobody but the listener can have them wait. */
constexpr std::uint32_t most_early = 256;
constexpr unsigned long first_delay = kernel::HZ;
constexpr unsigned long longest_delay = 30 * kernel::HZ;

/* Not less. */
unsigned long jiffies_of(std::uint64_t nanoseconds) noexcept
{
	return nanoseconds / (1'000'000'000 / kernel::HZ) + 1;
}

const sockaddr *peer_of(rdma_cm_id *id) noexcept
{
	return reinterpret_cast<const sockaddr *>(&field::rdma_cm_id::destination(id));
}

} // namespace

Listener::Listener(svc_xprt_class *xprt_class, svc_serv *server, net *network, const sockaddr *address) noexcept
	: verbs::ObservedListener(network, RPCORDMA_ROLE_RESPONDER)
{
	rpcordma_svc_init_listener(xprt(), xprt_class, network, server);
	rpcordma_address_copy(address_.get(), address);
	rpcordma_delayed_work_init(letting_in_.get(), RPCORDMA_WORK_LISTENER, [](work_struct *work) {
		kernel::owner_of(&Listener::letting_in_, rpcordma_delayed_work_of(work))->let_in();
	});
	rpcordma_delayed_work_init(again_.get(), RPCORDMA_WORK_LISTENER, [](work_struct *work) {
		kernel::owner_of(&Listener::again_, rpcordma_delayed_work_of(work))->listen_again();
	});
}

Listener &Listener::of(svc_xprt *xprt) noexcept
{
	return *kernel::owner_of(&Listener::xprt_, xprt);
}

svc_xprt *Listener::create(svc_xprt_class *xprt_class, svc_serv *server, net *network, const sockaddr *address) noexcept
{
	auto *const listener = new (kernel::GFP_KERNEL) Listener(xprt_class, server, network, address);
	if (!listener)
		return kernel::error_pointer<svc_xprt>(-kernel::ENOMEM);
	listener->enlist();
	if (const int error = listener->listen(); error != 0) {
		/* It may have listened at some device until another one failed, and requests may wait since. */
		listener->detach();
		/* sunrpc drops the module's reference that goes with the call, and the end of the svc_xprt another. */
		(void)rpcordma_module_get();
		svc_xprt_put(listener->xprt());
		return kernel::error_pointer<svc_xprt>(error);
	}
	rpcordma_svc_set_local(listener->xprt(), listener->address());
	return listener->xprt();
}

int Listener::listen() noexcept
{
	auto *const address = reinterpret_cast<sockaddr *>(address_.get());
	{
		kernel::Guard guard(lock_);
		/* The next identifier may have the same address. */
		useless_ = nullptr;
	}
	rdma_cm_id *const id = __rdma_create_kernel_id(field::svc_xprt::xpt_net(xprt()), event_handler, this,
						       kernel::RDMA_PS_TCP, kernel::IB_QPT_RC, "rpcordma");
	if (const int error = rpcordma_pointer_error(id); error != 0)
		return error;
	/* Listeners of both families may share a port. */
	int error = rdma_set_afonly(id, 1);
	if (error == 0)
		error = rdma_bind_addr(id, address);
	if (error == 0)
		error = rdma_listen(id, most_waiting);
	if (error != 0) {
		rdma_destroy_id(id);
		return error;
	}
	{
		kernel::Guard guard(lock_);
		/* With the port that was chosen, if it was left to choose: from then on nobody changes it any more. */
		if (rpcordma_address_port(address) == 0)
			rpcordma_address_copy(address_.get(),
					      reinterpret_cast<const sockaddr *>(&field::rdma_cm_id::source(id)));
		error = useless_ == id ? -kernel::ENODEV : 0;
		if (error == 0 && !is_detached_) {
			id_ = id;
			return 0;
		}
	}
	rdma_destroy_id(id);
	return error;
}

/* On a workqueue that memory to be reclaimed may wait for. */
void Listener::listen_again() noexcept
{
	const unsigned int scope = rpcordma_reclaim_scope_enter(false);
	const int error = listen();
	rpcordma_reclaim_scope_leave(scope);
	rpcordma_trace_listener(address(), "listens again", error);
	if (error == 0) {
		delay_ = 0;
		kernel::Guard guard(lock_);
		if (id_)
			tell(RPCORDMA_HAPPENING_LISTENER_BACK, verbs::address_of(address()));
		return;
	}
	delay_ = std::clamp(2 * delay_, first_delay, longest_delay);
	rpcordma_queue_delayed_work(again_.get(), delay_);
}

int Listener::event_handler(rdma_cm_id *id, rdma_cm_event *event)
{
	auto &listener = *static_cast<Listener *>(field::rdma_cm_id::context(id));
	const unsigned int kind = field::rdma_cm_event::event(event);

	rpcordma_trace_listener(listener.address(), rpcordma_event_name(kind), field::rdma_cm_event::status(event));
	switch (kind) {
	case kernel::RDMA_CM_EVENT_CONNECT_REQUEST:
		return listener.ask(id, event);
	case kernel::RDMA_CM_EVENT_ADDR_CHANGE:
	case kernel::RDMA_CM_EVENT_DEVICE_REMOVAL:
		return listener.lose(id, rpcordma_event_name(kind));
	default:
		return 0;
	}
}

/* The connection manager destroys an identifier where the answer is not 0. With -ENOMEM it does not reject what that stands
 * for: the requester's asks again in some seconds. */
int Listener::ask(rdma_cm_id *id, rdma_cm_event *event) noexcept
{
	auto *const request = new (kernel::GFP_KERNEL) ConnectRequest(*this, id);
	if (!request)
		return -kernel::ENOMEM;
	request->requester = wire::PrivateData::find({
		static_cast<const std::byte *>(field::rdma_cm_event::private_data(event)),
		field::rdma_cm_event::private_data_len(event),
	});
	request->reads = field::rdma_cm_event::initiator_depth(event);
	request->own_reads = field::rdma_cm_event::responder_resources(event);

	if (const char *const reason = keep_waiting(*request)) {
		rpcordma_trace_connect_failed(peer_of(id), reason);
		delete request;
		return -kernel::ENOMEM;
	}
	field::rdma_cm_id::context(id) = request;
	field::rdma_cm_id::event_handler(id) = waiting_event_handler;
	let_in();
	return 0;
}

/* Why it cannot, or null. */
const char *Listener::keep_waiting(ConnectRequest &request) noexcept
{
	const proto::Requester requester = requester_of(peer_of(request.id));
	const auto now = static_cast<std::uint64_t>(ktime_get());
	kernel::Guard guard(lock_);
	if (is_detached_ || waiting_.size() >= most_waiting)
		return "too many wait to be accepted";
	const auto turn = admission_.admit(requester, now, kernel::read_once(rpcordma_svc_max_connects),
					   early_.size() < most_early);
	if (!turn)
		return "too many of one requester";
	request.turn = *turn;
	request.in = &early_;
	early_.push_back(request);
	return nullptr;
}

/* Those whose turn has come wait to be accepted. */
void Listener::let_in() noexcept
{
	{
		kernel::Guard guard(lock_);
		const auto now = static_cast<std::uint64_t>(ktime_get());
		std::uint64_t next = now + decltype(admission_)::longest_wait;
		ConnectRequest *behind = nullptr;
		for (ConnectRequest *request = early_.front(); request; request = behind) {
			behind = early_.behind(*request);
			if (request->turn <= now)
				move(*request, waiting_);
			else
				next = std::min(next, request->turn);
		}
		if (!early_.empty())
			rpcordma_restart_delayed_work(letting_in_.get(), jiffies_of(next - now));
		if (waiting_.empty())
			return;
	}
	rpcordma_svc_set_connecting(xprt(), true);
	svc_xprt_enqueue(xprt());
}

void Listener::move(ConnectRequest &request, kernel::List<ConnectRequest> &to) noexcept
{
	request.in->remove(request);
	request.in = &to;
	to.push_back(request);
}

int Listener::lose(rdma_cm_id *id, const char *event) noexcept
{
	{
		kernel::Guard guard(lock_);
		/* Who has taken it, or is making it, destroys it. */
		if (id_ != id) {
			useless_ = id;
			return 0;
		}
		id_ = nullptr;
		if (is_detached_)
			return 1;
		/* Inside of the lock: without an identifier, detach() does not wait for its events. */
		tell(RPCORDMA_HAPPENING_LISTENER_LOST, verbs::address_of(address()), {event});
		rpcordma_queue_delayed_work(again_.get(), 0);
	}
	return 1;
}

int Listener::waiting_event_handler(rdma_cm_id *id, rdma_cm_event *event)
{
	auto &request = *static_cast<ConnectRequest *>(field::rdma_cm_id::context(id));

	rpcordma_trace_connection_event(peer_of(id), rpcordma_event_name(field::rdma_cm_event::event(event)),
					field::rdma_cm_event::status(event));
	request.is_gone = true;
	{
		Listener &listener = request.listener;
		kernel::Guard guard(listener.lock_);
		/* Who has taken it over destroys both. */
		if (!request.in)
			return 0;
		request.in->remove(request);
	}
	delete &request;
	return 1;
}

void Listener::observe(rpcordma_listener &to) noexcept
{
	kernel::Guard guard(lock_);
	to.address = verbs::address_of(address());
	to.is_listening = id_ != nullptr;
}

/* The request is its taker's: events find it no more in the list. */
kernel::Owned<ConnectRequest> Listener::next() noexcept
{
	kernel::Guard guard(lock_);
	kernel::Owned<ConnectRequest> request(waiting_.pop_front());
	if (request)
		request->in = nullptr;
	rpcordma_svc_set_connecting(xprt(), !waiting_.empty());
	return request;
}

svc_xprt *Listener::accept() noexcept
{
	kernel::Owned<ConnectRequest> request = next();
	return request ? Connection::accept(std::move(request), xprt()) : nullptr;
}

void Listener::detach() noexcept
{
	withdraw();
	rdma_cm_id *id;
	{
		kernel::Guard guard(lock_);
		is_detached_ = true;
		id = std::exchange(id_, nullptr);
		while (ConnectRequest *const request = early_.front())
			move(*request, waiting_);
	}
	cancel_delayed_work_sync(again_.get());
	cancel_delayed_work_sync(letting_in_.get());
	/* No connection arrives after this. */
	if (id)
		rdma_destroy_id(id);
	while (const kernel::Owned<ConnectRequest> request = next())
		rdma_destroy_id(request->id);
	/* Connections that were lost before hold the device and the module until their end is through. */
	rpcordma_flush_ends();
}

} // namespace rpcordma::server
