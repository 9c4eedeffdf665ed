// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/endpoint.hh"

#include <algorithm>

#include "kernel/trace.hh"
#include "proto/grants.hh"
#include "proto/reserved_ports.hh"

namespace rpcordma::verbs {

namespace field = kernel::field;
using proto::ConnectEvent;
using proto::ConnectOutcome;

namespace {

/* The time that resolving an address or a route may take, in milliseconds. */
constexpr unsigned long resolve_ms = 5000;
constexpr std::uint32_t first_send_buffers = 8;
/* Attempts of the device before the connection is lost: few, so that another path is tried soon. */
constexpr u8 retries = 6;
/* The longest that one attempt may wait for its acknowledgement, where the requester says how long: 4.096 us * 2^20, some
 * four seconds. With the retries, what is sent to a peer that has vanished fails after some half a minute. */
constexpr u8 most_ack_timeout = 20;

DeviceLimits limits_of(ib_device *device)
{
	const auto count = [](int limit) { return static_cast<std::uint32_t>(std::max(limit, 0)); };

	return {.requests = count(field::ib_device::max_qp_wr(device)),
		.completions = count(field::ib_device::max_cqe(device)),
		.elements = count(field::ib_device::max_send_sge(device)),
		.registrations = count(field::ib_device::max_mr(device)),
		.registration = RegistrationPool::limits_of(device)};
}

constinit proto::ReservedPorts reserved_ports;

/* What the connection manager's errno stands for where nothing else is known: a lack says nothing of the peer, and a task that
 * does not wait for ever must not end for it. */
ConnectEvent event_of(int error, ConnectEvent otherwise) noexcept
{
	return error == -kernel::ENOMEM || error == -kernel::EAGAIN ? ConnectEvent::short_of_resources : otherwise;
}

/* Errors after which a queue pair carries nothing, whether or not what is posted is completed as flushed. */
bool is_fatal(unsigned int event) noexcept
{
	switch (event) {
	case kernel::IB_EVENT_QP_FATAL:
	case kernel::IB_EVENT_QP_REQ_ERR:
	case kernel::IB_EVENT_QP_ACCESS_ERR:
	case kernel::IB_EVENT_PATH_MIG_ERR:
	case kernel::IB_EVENT_DEVICE_FATAL:
		return true;
	default:
		return false;
	}
}

} // namespace

Endpoint::Endpoint(User &user) noexcept
	: user_(user)
{
	rpcordma_work_init(error_work_.get(), [](work_struct *work) {
		Endpoint &endpoint = *kernel::owner_of(&Endpoint::error_work_, work);
		endpoint.lose("queue pair", rpcordma_queue_pair_event_name(endpoint.queue_pair_error_.load()));
	});
}

std::expected<kernel::Owned<Endpoint>, ConnectOutcome> Endpoint::create(const EndpointWishes &wishes,
									User &user) noexcept
{
	kernel::Owned<Endpoint> endpoint(new (kernel::GFP_KERNEL) Endpoint(user));
	if (!endpoint)
		return std::unexpected(ConnectOutcome::try_again);
	/* As the responder will read it: sizes are rounded. */
	endpoint->own_ = wire::PrivateData::decode(wishes.own.encode());
	if (const Outcome outcome = endpoint->resolve(wishes); outcome != Outcome::connected)
		return std::unexpected(outcome);
	if (const Outcome outcome = endpoint->create_queues(wishes); outcome != Outcome::connected)
		return std::unexpected(outcome);
	return endpoint;
}

ConnectOutcome Endpoint::resolve(const EndpointWishes &wishes) noexcept
{
	rdma_cm_id *const id = __rdma_create_kernel_id(wishes.network, event_handler, this, kernel::RDMA_PS_TCP,
						       kernel::IB_QPT_RC, "rpcordma");
	if (rpcordma_pointer_error(id) != 0)
		return Outcome::try_again;
	id_ = id;

	if (wishes.reserved_port)
		bind_reserved_port(wishes);
	const unsigned long patience = resolve_ms * kernel::HZ / 1000 + kernel::HZ;
	const Outcome resolved = step(rdma_resolve_addr(id_, wishes.source, wishes.destination, resolve_ms), patience);
	if (resolved != Outcome::connected)
		return resolved;
	return step(rdma_resolve_route(id_, resolve_ms), patience);
}

/* Where none is to be had, an arbitrary one has to do: few servers want more. */
void Endpoint::bind_reserved_port(const EndpointWishes &wishes) noexcept
{
	for (std::uint32_t tries = proto::ReservedPorts::count; tries != 0; tries--) {
		const int error = rpcordma_bind_port(id_, wishes.source, wishes.destination, reserved_ports.next());
		if (error != -kernel::EADDRINUSE)
			return;
	}
}

/* An administrator has to know: no other device is tried. Each attempt of a peer comes here, too. */
bool Endpoint::can_register() const noexcept
{
	ib_device *const device = field::rdma_cm_id::device(id_);
	if ((field::ib_device::device_cap_flags(device) & kernel::IB_DEVICE_MEM_MGT_EXTENSIONS) != 0)
		return true;
	rpcordma_log_peer("device %s cannot register memory by work requests: it cannot be used, use another or "
			  "proto=tcp",
			  field::ib_device::name(device));
	return false;
}

ConnectOutcome Endpoint::cannot_use(Lack lack) const noexcept
{
	const char *const name = field::ib_device::name(field::rdma_cm_id::device(id_));
	if (lack == Lack::room)
		rpcordma_log_peer("device %s has too short queues: it cannot be used, use another or proto=tcp", name);
	else
		rpcordma_log_peer("device %s registers too few pages at a time: it cannot be used, use another or "
				  "proto=tcp",
				  name);
	return Outcome::no_device;
}

bool Endpoint::create_queues(const Depths &depths, std::uint32_t transfers, std::uint32_t send_size,
			     std::uint32_t receive_size) noexcept
{
	ib_device *const device = field::rdma_cm_id::device(id_);

	ib_pd *const pd = __ib_alloc_pd(device, 0, "rpcordma");
	if (rpcordma_pointer_error(pd) != 0)
		return false;
	pd_ = pd;
	const u32 lkey = field::ib_pd::local_dma_lkey(pd_);
	receives_.reset(new (kernel::GFP_KERNEL, device)
				ReceiveQueue(device, lkey, receive_size, depths.receive, *this));
	sends_.reset(new (kernel::GFP_KERNEL, device) SendQueue(device, lkey, send_size, depths.send, *this));
	return receives_ && sends_ && create_queue_pair(device, depths, transfers);
}

ConnectOutcome Endpoint::create_queues(const EndpointWishes &wishes) noexcept
{
	if (!can_register())
		return Outcome::no_device;
	const auto depths = depths_for(limits_of(field::rdma_cm_id::device(id_)), wishes.load);
	if (!depths)
		return cannot_use(depths.error());
	credits_ = depths->credits;
	most_segments_ = depths->segments;
	const bool made = create_queues(*depths, wishes.load.reverse_credits * wishes.reverse_transfers,
					wishes.own.send_size, wishes.own.receive_size) &&
			  make_registrations(depths->registrations, most_segments_) &&
			  fill_queues(wishes.reverse_receives);
	return made ? Outcome::connected : Outcome::try_again;
}

void Endpoint::take_over(rdma_cm_id *id) noexcept
{
	id_ = id;
	is_acceptor_ = true;
	field::rdma_cm_id::context(id) = this;
	field::rdma_cm_id::event_handler(id) = event_handler;
}

ConnectOutcome Endpoint::make_acceptable(const wire::PrivateData &requester, const AcceptWishes &wishes) noexcept
{
	own_ = wire::PrivateData::decode(wishes.own.encode());
	agreement_ = proto::agree(requester, own_);
	if (!can_register())
		return Outcome::no_device;
	ib_device *const device = field::rdma_cm_id::device(id_);
	const auto depths = depths_for(limits_of(device), wishes.load);
	if (!depths)
		return cannot_use(depths.error());
	credits_ = depths->credits;
	const ReadDepths reads = read_depths_for(limits_of(device), credits_,
						 rdma_rw_mr_factor(device, port(), wishes.load.payload_pages()));
	most_read_segments_ = rpcordma_is_iwarp(device) ? reads.segments : ~0u;
	const std::uint32_t first_receives = proto::Grants::first + wishes.load.spare_receives;
	const bool made =
		create_queues(*depths, reads.registrations, agreement_.inline_thresholds.reply, own_.receive_size) &&
		sends_->prepare(first_send_buffers, kernel::GFP_KERNEL) &&
		receives_->provide(std::min(depths->receive, first_receives), 0, kernel::GFP_KERNEL) != 0 &&
		make_registrations(wishes.registrations, wishes.registrations);
	return made ? Outcome::connected : Outcome::try_again;
}

bool Endpoint::accept(u8 reads, u8 own_reads) noexcept
{
	const int most = field::ib_device::max_qp_init_rd_atom(field::rdma_cm_id::device(id_));
	reads_ = static_cast<u8>(std::clamp(most, 0, int{reads}));

	const auto private_data = own_.encode();
	kernel::Opaque<rdma_conn_param> parameters;
	rdma_conn_param *const wanted = parameters.get();
	field::rdma_conn_param::private_data(wanted) = private_data.data();
	field::rdma_conn_param::private_data_len(wanted) = private_data.size();
	field::rdma_conn_param::initiator_depth(wanted) = reads_;
	field::rdma_conn_param::responder_resources(wanted) = own_reads;
	field::rdma_conn_param::retry_count(wanted) = retries;
	field::rdma_conn_param::rnr_retry_count(wanted) = retries;
	rdma_lock_handler(id_);
	const int error = rpcordma_accept(id_, wanted, most_ack_timeout);
	rdma_unlock_handler(id_);
	return error == 0;
}

bool Endpoint::create_queue_pair(ib_device *device, const Depths &depths, std::uint32_t transfers) noexcept
{
	ib_cq *const cq = __ib_alloc_cq_any(device, this, static_cast<int>(depths.completions()),
					    kernel::IB_POLL_WORKQUEUE, "rpcordma");
	if (rpcordma_pointer_error(cq) != 0)
		return false;
	cq_ = cq;

	kernel::Opaque<ib_qp_init_attr> attributes;
	ib_qp_init_attr *const wanted = attributes.get();
	field::ib_qp_init_attr::send_cq(wanted) = cq_;
	field::ib_qp_init_attr::recv_cq(wanted) = cq_;
	field::ib_qp_init_attr::max_send_wr(wanted) = depths.send + drain_requests;
	field::ib_qp_init_attr::max_recv_wr(wanted) = depths.receive + drain_requests;
	field::ib_qp_init_attr::max_send_sge(wanted) = depths.elements;
	field::ib_qp_init_attr::max_recv_sge(wanted) = 1;
	field::ib_qp_init_attr::event_handler(wanted) = queue_pair_event;
	field::ib_qp_init_attr::qp_context(wanted) = this;
	field::ib_qp_init_attr::sq_sig_type(wanted) = kernel::IB_SIGNAL_REQ_WR;
	field::ib_qp_init_attr::qp_type(wanted) = kernel::IB_QPT_RC;
	field::ib_qp_init_attr::max_rdma_ctxs(wanted) = transfers;
	field::ib_qp_init_attr::port_num(wanted) = port();
	if (rdma_create_qp(id_, pd_, wanted) != 0)
		return false;
	has_queue_pair_ = true;
	receives_->attach(field::rdma_cm_id::qp(id_));
	sends_->attach(field::rdma_cm_id::qp(id_));
	return true;
}

/* The first are enough for one RPC at a time, so that an RPC never depends on growth. */
bool Endpoint::make_registrations(std::uint32_t most, std::uint32_t first) noexcept
{
	ib_device *const device = field::rdma_cm_id::device(id_);
	registrations_.reset(new (kernel::GFP_KERNEL, device) RegistrationPool(device, pd_, *sends_, most, *this));
	return registrations_ && registrations_->prepare(first);
}

/* The same goes for what is made here. */
bool Endpoint::fill_queues(std::uint32_t reverse_receives) noexcept
{
	const std::uint32_t first_receives = 1 + reverse_receives;

	return sends_->prepare(first_send_buffers, kernel::GFP_KERNEL) &&
	       receives_->provide(first_receives, receive_batch, kernel::GFP_KERNEL) >= first_receives;
}

ConnectOutcome Endpoint::establish(unsigned long patience) noexcept
{
	const auto private_data = own_.encode();
	kernel::Opaque<rdma_conn_param> parameters;
	rdma_conn_param *const wanted = parameters.get();
	field::rdma_conn_param::private_data(wanted) = private_data.data();
	field::rdma_conn_param::private_data_len(wanted) = private_data.size();
	/* The responder reads. We do where it has Read chunks in the reverse direction, one at a time. */
	field::rdma_conn_param::initiator_depth(wanted) = static_cast<u8>(
		std::clamp(field::ib_device::max_qp_init_rd_atom(field::rdma_cm_id::device(id_)), 0, 1));
	field::rdma_conn_param::responder_resources(wanted) =
		static_cast<u8>(std::clamp(field::ib_device::max_qp_rd_atom(field::rdma_cm_id::device(id_)), 1, 255));
	field::rdma_conn_param::retry_count(wanted) = retries;
	field::rdma_conn_param::rnr_retry_count(wanted) = retries;

	return step(rdma_connect(id_, wanted), patience);
}

ConnectOutcome Endpoint::step(int started, unsigned long patience) noexcept
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

int Endpoint::event_handler(rdma_cm_id *id, rdma_cm_event *event)
{
	static_cast<Endpoint *>(field::rdma_cm_id::context(id))->event(field::rdma_cm_event::event(event), event);
	/* The identifier is ours to destroy. */
	return 0;
}

/* sunrpc's locks are for process context, and a device may be in an interrupt. */
void Endpoint::queue_pair_event(ib_event *event, void *endpoint)
{
	const unsigned int kind = field::ib_event::event(event);
	if (!is_fatal(kind))
		return;
	auto &self = *static_cast<Endpoint *>(endpoint);
	self.queue_pair_error_.store(kind);
	rpcordma_queue_work(self.error_work_.get());
}

void Endpoint::event(unsigned int kind, rdma_cm_event *event) noexcept
{
	const int status = field::rdma_cm_event::status(event);

	rpcordma_trace_connection_event(destination(), rpcordma_event_name(kind), status);
	if (is_acceptor_)
		return acceptor_event(kind);
	switch (kind) {
	case kernel::RDMA_CM_EVENT_ADDR_RESOLVED:
	case kernel::RDMA_CM_EVENT_ROUTE_RESOLVED:
		attempt_ended(ConnectEvent::established, status);
		break;
	case kernel::RDMA_CM_EVENT_ADDR_ERROR:
		attempt_ended(event_of(status, ConnectEvent::address_error), status);
		break;
	case kernel::RDMA_CM_EVENT_ROUTE_ERROR:
		attempt_ended(event_of(status, ConnectEvent::route_error), status);
		break;
	case kernel::RDMA_CM_EVENT_CONNECT_ERROR:
	case kernel::RDMA_CM_EVENT_UNREACHABLE:
		attempt_ended(event_of(status, ConnectEvent::unreachable), status);
		break;
	case kernel::RDMA_CM_EVENT_REJECTED:
		attempt_ended(ConnectEvent::rejected, status);
		break;
	case kernel::RDMA_CM_EVENT_ESTABLISHED:
		agreement_ = proto::agree(
			own_, wire::PrivateData::decode({
				      static_cast<const std::byte *>(field::rdma_cm_event::private_data(event)),
				      field::rdma_cm_event::private_data_len(event),
			      }));
		reads_ = field::rdma_cm_event::initiator_depth(event);
		established_.store(true);
		attempt_ended(ConnectEvent::established, status);
		break;
	case kernel::RDMA_CM_EVENT_ADDR_CHANGE:
	case kernel::RDMA_CM_EVENT_DEVICE_REMOVAL:
		if (established_.load())
			lose("connection event", rpcordma_event_name(kind));
		else
			attempt_ended(ConnectEvent::device_removed, status);
		break;
	case kernel::RDMA_CM_EVENT_DISCONNECTED:
		lose("connection event", rpcordma_event_name(kind));
		break;
	default:
		break;
	}
}

/* Nobody waits for a step: a connection is there, or is no more. */
void Endpoint::acceptor_event(unsigned int kind) noexcept
{
	switch (kind) {
	case kernel::RDMA_CM_EVENT_ESTABLISHED:
		established_.store(true);
		user_.established();
		break;
	case kernel::RDMA_CM_EVENT_CONNECT_ERROR:
	case kernel::RDMA_CM_EVENT_UNREACHABLE:
	case kernel::RDMA_CM_EVENT_REJECTED:
	case kernel::RDMA_CM_EVENT_ADDR_CHANGE:
	case kernel::RDMA_CM_EVENT_DEVICE_REMOVAL:
	case kernel::RDMA_CM_EVENT_DISCONNECTED:
		lose("connection event", rpcordma_event_name(kind));
		break;
	default:
		break;
	}
}

void Endpoint::attempt_ended(ConnectEvent event, int status) noexcept
{
	/* iWARP reports a negative errno instead of a reason. */
	const auto reason = status < 0 ? proto::RejectReason::consumer_defined :
					 static_cast<proto::RejectReason>(status);
	step_outcome_ = proto::connect_outcome(event, reason);
	step_done_.complete();
}

void Endpoint::stop() noexcept
{
	/* What fails from here on is meant to. */
	lost_.store(true);
	/* An event from before may be on its way to the user still. */
	rdma_lock_handler(id_);
	rdma_unlock_handler(id_);
	cancel_work_sync(error_work_.get());
	receives_->stop();
	sends_->stop();
	if (registrations_)
		registrations_->stop();
	rdma_disconnect(id_);
	ib_drain_qp(field::rdma_cm_id::qp(id_));
}

Endpoint::~Endpoint()
{
	dismantle();
}

void Endpoint::dismantle() noexcept
{
	if (std::exchange(has_queue_pair_, false))
		rdma_destroy_qp(id_);
	/* What it reported at last is on its way, to nobody. */
	cancel_work_sync(error_work_.get());
	if (ib_cq *const cq = std::exchange(cq_, nullptr))
		ib_free_cq(cq);
	registrations_.reset();
	if (sends_)
		sends_->free_buffers();
	if (receives_)
		receives_->unmap();
	if (ib_pd *const pd = std::exchange(pd_, nullptr))
		ib_dealloc_pd_user(pd, nullptr);
	/* Last: a device waits for its identifiers when it is removed, and must find nothing else of ours then. */
	if (rdma_cm_id *const id = std::exchange(id_, nullptr))
		rdma_destroy_id(id);
}

void Endpoint::break_off() noexcept
{
	rdma_disconnect(id_);
}

/* Only what was first is a reason: the rest follows from it. */
void Endpoint::lose(const char *reason, const char *detail) noexcept
{
	if (lost_.exchange(true))
		return;
	rpcordma_trace_disconnect(destination(), reason, detail);
	user_.lost();
}

void Endpoint::received(ReceiveBuffer &buffer) noexcept
{
	user_.received(buffer);
}

void Endpoint::receive_failed(const char *how) noexcept
{
	lose("receive queue", how);
}

void Endpoint::send_failed(const char *how) noexcept
{
	lose("send queue", how);
}

void Endpoint::send_room() noexcept
{
	user_.room();
}

void Endpoint::more_registrations() noexcept
{
	user_.room();
}

bool Endpoint::carries_swap() noexcept
{
	return user_.carries_swap();
}

} // namespace rpcordma::verbs
