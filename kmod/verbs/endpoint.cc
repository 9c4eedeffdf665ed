// SPDX-License-Identifier: GPL-2.0-only
#include "verbs/endpoint.hh"

#include <algorithm>

#include "kernel/trace.hh"
#include "proto/grants.hh"
#include "verbs/transfer.hh"

namespace rpcordma::verbs {

namespace field = kernel::field;
using proto::ConnectOutcome;

namespace {

/* In jiffies. What is kept for the next RPCs is freed when none has needed it for so long. */
constexpr unsigned long look_interval = 10 * kernel::HZ;

/* A connection of so few is not worth a smaller one where a device refuses it. */
constexpr std::uint32_t fewest_credits = proto::Grants::first;

DeviceLimits limits_of(ib_device *device)
{
	return {.requests = rpcordma_max_requests(device),
		.completions = rpcordma_max_completions(device),
		.elements = rpcordma_max_elements(device),
		.registrations = rpcordma_max_registrations(device),
		.registration = RegistrationPool::limits_of(device)};
}

/* Registering by work requests comes with Send With Invalidate. */
bool has_memory_management(ib_device *device) noexcept
{
	return (field::ib_device::device_cap_flags(device) & kernel::IB_DEVICE_MEM_MGT_EXTENSIONS) != 0;
}

/* What a device cannot do that registrations take, in words; null where it can do all. */
const char *lack_of_registration(ib_device *device) noexcept
{
	if (!has_memory_management(device))
		return "cannot register memory by work requests";
	if (!rpcordma_registers_pages(device))
		return "cannot register pages as large as the kernel's";
	if (!rpcordma_invalidates(device))
		return "cannot invalidate memory by work requests";
	return nullptr;
}

/* An administrator has to know: no other device is tried. Each attempt of a peer comes here, too. */
ConnectOutcome cannot_use(ib_device *device, const char *lack) noexcept
{
	rpcordma_log_peer("device %s %s: it cannot be used, use another or proto=tcp", field::ib_device::name(device),
			  lack);
	return ConnectOutcome::no_device;
}

/* Each Transfer of a payload takes registrations of its own, where it takes any. */
ReadDepths read_depths(ib_device *device, u32 port, std::uint32_t credits, const ResponderLoad &load) noexcept
{
	if (!rpcordma_transfers_take_registrations(device, port))
		return {.registrations = 0, .segments = ~0u};
	const std::uint32_t most = most_pieces_of_reads(device, port);
	const auto taken = [&](std::uint32_t payload) { return (pages_of_payload(payload) + most - 1) / most; };
	return read_depths_for(limits_of(device), credits,
			       {.usual = taken(std::min(load.payload, usual_payload)), .largest = taken(load.payload)});
}

} // namespace

Endpoint::Endpoint(User &user) noexcept
	: user_(user)
{
	rpcordma_delayed_work_init(looking_.get(), RPCORDMA_WORK_ENDPOINT, [](work_struct *work) {
		kernel::owner_of(&Endpoint::looking_, rpcordma_delayed_work_of(work))->look();
	});
}

std::expected<kernel::Owned<Endpoint>, ConnectOutcome> Endpoint::create(const EndpointWishes &wishes,
									User &user) noexcept
{
	kernel::Owned<Endpoint> endpoint(new (kernel::GFP_KERNEL) Endpoint(user));
	if (!endpoint)
		return std::unexpected(ConnectOutcome::try_again);
	if (const Outcome outcome = endpoint->id_.resolve(wishes.route); outcome != Outcome::connected)
		return std::unexpected(outcome);
	if (const Outcome outcome = endpoint->make_queues(wishes); outcome != Outcome::connected)
		return std::unexpected(outcome);
	return endpoint;
}

ConnectOutcome Endpoint::make_queues(const EndpointWishes &wishes) noexcept
{
	/* As the responder will read it: sizes are rounded. */
	own_ = wire::PrivateData::decode(wishes.own.encode());
	highest_version_ = wishes.highest_version;
	ib_device *const device = id_.device();
	if (const char *const lack = lack_of_registration(device))
		return cannot_use(device, lack);
	/* As large as any responder may use them: what it sends is known when it has accepted. */
	const std::uint32_t receive_size = proto::receive_size(own_.receive_size, own_.receive_size, highest_version_);
	const bool takes_registrations = rpcordma_transfers_take_registrations(device, id_.port());
	const std::uint32_t transfers = wishes.load.reverse_credits * wishes.reverse_transfers;
	return make_queues_for(wishes.load, [&](const RequesterDepths &depths) noexcept {
		capacity_ = {.credits = depths.credits, .segments = depths.segments, .payload = depths.payload};
		return QueueSizes{.depths = static_cast<const Depths &>(depths),
				  .transfers = takes_registrations ? transfers : 0,
				  .send_size = largest_sent(own_.send_size),
				  .receive_size = receive_size,
				  .most_registrations = depths.registrations,
				  .first_registrations = depths.first_registrations,
				  .first_receives = 1 + wishes.reverse_receives};
	});
}

/* A device may refuse queues as long as it says that they can be: how long they can be may depend on what is in them. Then they
 * are for half as many credits, and so on. */
template <typename Load, typename SizesFor>
ConnectOutcome Endpoint::make_queues_for(Load load, SizesFor sizes_for) noexcept
{
	ib_device *const device = id_.device();
	for (;;) {
		const auto depths = depths_for(limits_of(device), load);
		if (!depths)
			return cannot_use(device, name_of(depths.error()));
		if (queues_.make(id_.get(), sizes_for(*depths)))
			return Outcome::connected;
		/* What is lacking otherwise, memory above all, is there when it is tried again. */
		if (queues_.has_queue_pair() || depths->credits <= fewest_credits)
			return Outcome::try_again;
		queues_.free(id_.get());
		load.credits = depths->credits / 2;
	}
}

ConnectOutcome Endpoint::make_queues(const std::optional<wire::PrivateData> &requester,
				     const AcceptWishes &wishes) noexcept
{
	own_ = wire::PrivateData::decode(wishes.own.encode());
	highest_version_ = wishes.highest_version;
	ib_device *const device = id_.device();
	/* A responder registers nothing but chunks of its own, where its RDMA Reads and Writes take no registrations. */
	const char *const lack = lack_of_registration(device);
	if (lack && rpcordma_transfers_take_registrations(device, id_.port()))
		return cannot_use(device, lack);
	const std::uint32_t registrations = lack ? 0 : wishes.registrations;
	if (!has_memory_management(device))
		own_.remote_invalidation = false;
	id_.agree(requester, own_);
	const proto::InlineThresholds thresholds = agreement().inline_thresholds;
	const std::uint32_t receive_size = proto::receive_size(own_.receive_size, thresholds.call, highest_version_);
	const std::uint32_t first_receives = proto::Grants::first + wishes.load.spare_receives;
	const Outcome outcome = make_queues_for(wishes.load, [&](const Depths &depths) noexcept {
		const ReadDepths reads = read_depths(device, id_.port(), depths.credits, wishes.load);
		capacity_ = {.credits = depths.credits,
			     .read_segments = rpcordma_is_iwarp(device) ? reads.segments : ~0u};
		return QueueSizes{.depths = depths,
				  .transfers = reads.registrations,
				  .send_size = largest_sent(thresholds.reply),
				  .receive_size = receive_size,
				  .most_registrations = registrations,
				  .first_registrations = registrations,
				  .first_receives = std::min(depths.receive, first_receives)};
	});
	if (outcome != Outcome::connected)
		return outcome;
	return queues_.agree(largest_sent(thresholds.reply), receive_size) ? outcome : Outcome::try_again;
}

ConnectOutcome Endpoint::establish(unsigned long patience) noexcept
{
	const Outcome outcome = id_.connect(own_, patience);
	if (outcome != Outcome::connected)
		return outcome;
	const proto::InlineThresholds thresholds = agreement().inline_thresholds;
	const bool has_memory =
		queues_.agree(largest_sent(thresholds.call),
			      proto::receive_size(own_.receive_size, thresholds.reply, highest_version_));
	return has_memory ? Outcome::connected : Outcome::try_again;
}

void Endpoint::look() noexcept
{
	/* Nothing that is left to free is ours any more: see look_later(). */
	if (is_lost())
		return;
	const bool is_acceptor = is_acceptor_.read();
	if (is_acceptor)
		probe_.look(sends(), receives().arrived());
	SendQueue::Progress progress = sends().progress();
	progress.is_owed = progress.is_owed || user_.awaits_room();
	if (standstill_.look(progress))
		return lose("send queue", "nothing completes");
	if (trim() || is_acceptor || progress.is_owed)
		look_later();
}

/* stop() waits for this, and devices may need memory to give some back: what is reclaimed may wait for a new connection. */
bool Endpoint::trim() noexcept
{
	const unsigned int scope = rpcordma_reclaim_scope_enter(carries_swap());
	const bool queues_have_more = queues_.trim();
	const bool user_has_more = user_.look();
	rpcordma_reclaim_scope_leave(scope);
	return queues_have_more || user_has_more;
}

void Endpoint::has_spares() noexcept
{
	look_later();
}

/* A buffer may be given back while the connection ends, and later, so that this may be queued behind stop()'s back: until
 * dismantle() is through. */
void Endpoint::look_later() noexcept
{
	if (!is_lost())
		rpcordma_queue_delayed_work(looking_.get(), look_interval);
}

void Endpoint::stop() noexcept
{
	/* What fails from here on is meant to. */
	(void)lost_.xchg(true);
	/* An event from before may be on its way to the user still. */
	id_.flush();
	cancel_delayed_work_sync(looking_.get());
	queues_.stop();
	id_.disconnect();
	rpcordma_drain(id_.queue_pair());
}

Endpoint::~Endpoint()
{
	dismantle();
}

void Endpoint::dismantle() noexcept
{
	/* Nobody hears of the end of a connection that was never made. */
	(void)lost_.xchg(true);
	cancel_delayed_work_sync(looking_.get());
	queues_.free(id_.get());
	/* Devices flush Receives while the queue pair goes, and who gave one back may have read before that it is not lost. */
	cancel_delayed_work_sync(looking_.get());
	/* Last: a device waits for its identifiers when it is removed, and must find nothing else of ours then. */
	id_.destroy();
}

void observe(Endpoint &endpoint, wire::Version version, rpcordma_connection &to) noexcept
{
	const Identifier &id = endpoint.id();
	const proto::InlineThresholds thresholds = endpoint.agreement().terms(version).thresholds;
	to.local = address_of(id.source());
	__builtin_memcpy(to.device, id.device_name(), sizeof(to.device));
	to.port = id.port();
	to.queue_pair = endpoint.queue_pair_number();
	to.call_threshold = thresholds.call;
	to.reply_threshold = thresholds.reply;
	to.remote_invalidation = endpoint.agreement().remote_invalidation;
	to.receive_memory = endpoint.receives().memory();
	to.send_memory = endpoint.sends().memory();
	to.registration_memory = endpoint.registrations().memory();
	to.private_data = id.said().has_value();
	if (const auto &said = id.said()) {
		to.valid |= RPCORDMA_OBSERVED_PRIVATE_DATA;
		to.peer_send_size = said->send_size;
		to.peer_receive_size = said->receive_size;
		to.peer_remote_invalidation = said->remote_invalidation;
	}
}

/* Only what was first is a reason: the rest follows from it. */
void Endpoint::lose(const char *reason, const char *detail) noexcept
{
	if (lost_.xchg(true))
		return;
	rpcordma_trace_disconnect(id_.destination(), reason, detail);
	user_.lost({reason, detail});
}

void Endpoint::received(ReceiveBuffer &buffer) noexcept
{
	user_.received(buffer);
}

void Endpoint::room() noexcept
{
	user_.room();
}

void Endpoint::failed(const char *queue, const char *how) noexcept
{
	lose(queue, how);
}

bool Endpoint::carries_swap() noexcept
{
	return user_.carries_swap();
}

void Endpoint::established() noexcept
{
	user_.established();
	is_acceptor_.set(true);
	look_later();
}

void Endpoint::ended(const char *event) noexcept
{
	lose("connection event", event);
}

} // namespace rpcordma::verbs
