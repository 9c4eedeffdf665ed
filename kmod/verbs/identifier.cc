// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/identifier.hh"

#include <algorithm>
#include <array>

#include "kernel/trace.hh"
#include "proto/reserved_ports.hh"
#include "verbs/disconnection.hh"

namespace rpcordma::verbs {

namespace field = kernel::field;
using proto::ConnectEvent;
using proto::ConnectOutcome;

namespace {

/* The time that resolving an address or a route may take, in milliseconds. */
constexpr unsigned long resolve_ms = 5000;
/* Attempts of the device before the connection is lost: few, so that another path is tried soon. */
constexpr u8 retries = 6;
/* The longest that one attempt may wait for its acknowledgement, where the requester says how long: 4.096 us * 2^20, some
 * four seconds. With the retries, what is sent to a peer that has vanished fails after some half a minute. */
constexpr u8 most_ack_timeout = 20;

constinit proto::ReservedPorts reserved_ports;

/* What the connection manager's errno stands for where nothing else is known. A lack says nothing of the peer, and a task that
 * does not wait for ever must not end for it. Where no route leads to the peer, as in a container whose network is gone, sunrpc
 * may have to end what waits. */
ConnectEvent event_of(int error, ConnectEvent otherwise) noexcept
{
	if (error == -kernel::ENOMEM || error == -kernel::EAGAIN)
		return ConnectEvent::short_of_resources;
	if (error == -kernel::ENETUNREACH || error == -kernel::ENETDOWN)
		return ConnectEvent::route_error;
	return otherwise;
}

/* What a connection is asked for, or accepted with. */
struct Parameters {
	Parameters(const wire::PrivateData &own, u8 reads, u8 own_reads) noexcept
		: private_data(own.encode())
	{
		field::rdma_conn_param::private_data(get()) = private_data.data();
		field::rdma_conn_param::private_data_len(get()) = private_data.size();
		field::rdma_conn_param::initiator_depth(get()) = reads;
		field::rdma_conn_param::responder_resources(get()) = own_reads;
		field::rdma_conn_param::retry_count(get()) = retries;
		field::rdma_conn_param::rnr_retry_count(get()) = retries;
	}
	[[nodiscard]] rdma_conn_param *get() noexcept { return parameters.get(); }

	const std::array<std::byte, RPCRDMA_CM_SIZE> private_data;
	kernel::Opaque<rdma_conn_param> parameters;
};

/* RDMA Reads that a device posts at a time, of those that are offered. */
u8 reads_of(ib_device *device, u8 offered) noexcept
{
	return static_cast<u8>(std::min<u32>(rpcordma_max_reads_posted(device), offered));
}

/* Where none is to be had, an arbitrary one has to do: few servers want more. */
void bind_reserved_port(rdma_cm_id *id, const Route &route) noexcept
{
	for (std::uint32_t tries = proto::ReservedPorts::count; tries != 0; tries--) {
		const int error = rpcordma_bind_port(id, route.source, route.destination, reserved_ports.next());
		if (error != -kernel::EADDRINUSE)
			return;
	}
}

} // namespace

ConnectOutcome Identifier::resolve(const Route &route) noexcept
{
	rdma_cm_id *const id = __rdma_create_kernel_id(route.network, event_handler, this, kernel::RDMA_PS_TCP,
						       kernel::IB_QPT_RC, "rpcordma");
	if (rpcordma_pointer_error(id) != 0)
		return Outcome::try_again;
	id_ = id;

	if (route.reserved_port)
		bind_reserved_port(id, route);
	const unsigned long patience = resolve_ms * kernel::HZ / 1000 + kernel::HZ;
	const Outcome resolved = step(rdma_resolve_addr(id_, route.source, route.destination, resolve_ms), patience);
	if (resolved != Outcome::connected)
		return resolved;
	return step(rdma_resolve_route(id_, resolve_ms), patience);
}

ConnectOutcome Identifier::connect(const wire::PrivateData &own, unsigned long patience) noexcept
{
	own_ = own;
	/* The responder reads. We do where it has Read chunks in the reverse direction, one at a time. */
	const auto own_reads = static_cast<u8>(std::clamp<u32>(rpcordma_max_reads_answered(device()), 1, 255));
	Parameters wanted(own, reads_of(device(), 1), own_reads);
	return step(rdma_connect(id_, wanted.get()), patience);
}

ConnectOutcome Identifier::step(int started, unsigned long patience) noexcept
{
	if (started == -kernel::ENODEV)
		return Outcome::no_device;
	if (started != 0)
		return proto::connect_outcome(event_of(started, ConnectEvent::unreachable), {});
	if (!step_done_.wait(patience))
		return Outcome::try_again;
	step_done_.reset();
	return step_outcome_;
}

void Identifier::take_over(rdma_cm_id *id) noexcept
{
	id_ = id;
	is_acceptor_ = true;
	field::rdma_cm_id::context(id) = this;
	field::rdma_cm_id::event_handler(id) = event_handler;
}

bool Identifier::accept(const wire::PrivateData &own, u8 reads, u8 own_reads) noexcept
{
	reads_ = reads_of(device(), reads);
	Parameters wanted(own, reads_, own_reads);
	rdma_lock_handler(id_);
	const int error = rpcordma_accept(id_, wanted.get(), most_ack_timeout);
	rdma_unlock_handler(id_);
	return error == 0;
}

void Identifier::destroy() noexcept
{
	if (!id_)
		return;
	/* With iWARP, TCP reports the end to the peer. An acceptor repeats nothing: hundreds of its peers may be gone at once, and one
	 * that is not learns of the end with its next Call. */
	if (!is_acceptor_ && is_established() && !rpcordma_is_iwarp(device()))
		Disconnection::begin(id_, [this] { return is_over_; });
	else
		rdma_destroy_id(id_);
	/* Last, because an event that is being handled reads it. */
	id_ = nullptr;
}

int Identifier::event_handler(rdma_cm_id *id, rdma_cm_event *event)
{
	static_cast<Identifier *>(field::rdma_cm_id::context(id))->event(event);
	/* The identifier is ours to destroy. */
	return 0;
}

void Identifier::event(rdma_cm_event *event) noexcept
{
	const unsigned int kind = field::rdma_cm_event::event(event);
	const int status = field::rdma_cm_event::status(event);

	rpcordma_trace_connection_event(destination(), rpcordma_event_name(kind), status);
	/* Of a connection that is there, or of an acceptor's, nobody waits for a step. */
	const auto failed = [&](ConnectEvent step) {
		if (is_acceptor_ || established_.read())
			user_.ended(rpcordma_event_name(kind));
		else
			step_ended(step, status);
	};
	if (Disconnection::is_needless_after(kind))
		is_over_ = true;
	switch (kind) {
	case kernel::RDMA_CM_EVENT_ADDR_RESOLVED:
	case kernel::RDMA_CM_EVENT_ROUTE_RESOLVED:
		step_ended(ConnectEvent::established, status);
		break;
	case kernel::RDMA_CM_EVENT_ADDR_ERROR:
		failed(event_of(status, ConnectEvent::address_error));
		break;
	case kernel::RDMA_CM_EVENT_ROUTE_ERROR:
		/* That no path was found says no more than that: a subnet manager is away for some seconds when another takes
		 * over. */
	case kernel::RDMA_CM_EVENT_CONNECT_ERROR:
	case kernel::RDMA_CM_EVENT_UNREACHABLE:
		failed(event_of(status, ConnectEvent::unreachable));
		break;
	case kernel::RDMA_CM_EVENT_REJECTED:
		failed(ConnectEvent::rejected);
		break;
	case kernel::RDMA_CM_EVENT_ESTABLISHED:
		if (is_acceptor_) {
			established_.set(true);
			user_.established();
			break;
		}
		said_ = wire::PrivateData::find({
			static_cast<const std::byte *>(field::rdma_cm_event::private_data(event)),
			field::rdma_cm_event::private_data_len(event),
		});
		agreement_ = proto::agree(own_, said_.value_or(wire::PrivateData{}));
		reads_ = field::rdma_cm_event::initiator_depth(event);
		established_.set(true);
		step_ended(ConnectEvent::established, status);
		break;
	case kernel::RDMA_CM_EVENT_ADDR_CHANGE:
	case kernel::RDMA_CM_EVENT_DEVICE_REMOVAL:
		failed(ConnectEvent::device_removed);
		break;
	case kernel::RDMA_CM_EVENT_DISCONNECTED:
		user_.ended(rpcordma_event_name(kind));
		break;
	default:
		break;
	}
}

void Identifier::step_ended(ConnectEvent event, int status) noexcept
{
	/* iWARP reports a negative errno instead of a reason. */
	const auto reason = status < 0 ? proto::RejectReason::consumer_defined :
					 static_cast<proto::RejectReason>(status);
	step_outcome_ = proto::connect_outcome(event, reason);
	step_done_.complete();
}

} // namespace rpcordma::verbs
