// SPDX-License-Identifier: GPL-2.0-only
#include "client/connector.hh"

#include <algorithm>
#include <utility>

#include "client/transport.hh"
#include "kernel/trace.hh"

namespace rpcordma::client {

namespace field = kernel::field;

namespace {

/* Between attempts, from the second on. Where it grows, sunrpc doubles it up to the mount's limit. */
constexpr unsigned long first_delay = 5 * kernel::HZ;
/* How long a peer may take to answer an attempt. */
constexpr unsigned long patience = 30 * kernel::HZ;

/* What sunrpc tells those that wait for the connection. */
int errno_of(proto::ConnectOutcome outcome)
{
	static constexpr int errors[] = {0,
					 -kernel::ECONNREFUSED,
					 -kernel::ECONNREFUSED,
					 -kernel::EHOSTUNREACH,
					 -kernel::ENETUNREACH,
					 -kernel::ENOTCONN,
					 -kernel::EHOSTUNREACH};
	return errors[std::to_underlying(outcome)];
}

} // namespace

Connector::Connector(Transport &owner, const sockaddr *source, std::size_t source_length) noexcept
	: owner_(owner)
	, xprt_(owner.xprt())
	, has_wanted_source_(source != nullptr)
{
	if (source)
		__builtin_memcpy(wanted_source_.get(), source, source_length);
	rpcordma_delayed_work_init(work_.get(), RPCORDMA_WORK_CONNECTOR, [](work_struct *work) {
		kernel::owner_of(&Connector::work_, rpcordma_delayed_work_of(work))->attempt();
	});
}

void Connector::connect(rpc_task *task) noexcept
{
	if (!xprt_lock_connect(xprt_, task, this))
		return;
	const unsigned long delay = next_delay();
	rpcordma_trace_connect_attempt(owner_.peer(), static_cast<u32>(delay * 1000 / kernel::HZ));
	rpcordma_queue_attempt(work_.get(), delay);
}

/* How long the next attempt waits, in jiffies. */
unsigned long Connector::next_delay() noexcept
{
	using Pace = proto::Reconnection::Pace;
	const Pace pace = this->pace();
	if (pace == Pace::at_once)
		return 0;
	unsigned long &next = field::rpc_xprt::reestablish_timeout(xprt_);
	if (pace == Pace::steady)
		kernel::write_once(next, std::min(next, first_delay));
	const unsigned long delay = xprt_reconnect_delay(xprt_);
	xprt_reconnect_backoff(xprt_, first_delay);
	return delay;
}

void Connector::attempt() noexcept
{
	const unsigned int scope = rpcordma_reclaim_scope_enter(owner_.carries_swap());
	useful_.set(false);
	{
		kernel::Guard guard(lock_);
		began_ = rpcordma_jiffies();
		reconnection_.begin();
		ending_ = {};
	}
	const proto::ConnectOutcome outcome = make();
	const bool connected = outcome == proto::ConnectOutcome::connected;
	if (!connected) {
		kernel::Guard guard(lock_);
		reconnection_.failed(outcome, since_began());
	}

	rpcordma_xprt_clear_connecting(xprt_);
	/* Also after a failure: those that are woken have sunrpc close the connection that they waited for, which must not be the
	 * next one. */
	new_cookie();
	if (connected) {
		owner_.negotiator().connected();
		established();
		field::rpc_xprt::connect_count(xprt_)++;
		field::rpc_xprt::connect_time(xprt_) += rpcordma_jiffies() - field::rpc_xprt::connect_start(xprt_);
		const proto::Agreement &agreed = endpoint_->agreement();
		rpcordma_trace_connected(owner_.peer(), endpoint_->id().device_name(), endpoint_->capacity().credits,
					 agreed.inline_thresholds.call, agreed.inline_thresholds.reply,
					 agreed.remote_invalidation);
		rpcordma_xprt_set_connected(xprt_);
		owner_.tell(RPCORDMA_HAPPENING_CONNECTED, verbs::address_of(owner_.peer()));
	} else {
		rpcordma_trace_connect_failed(owner_.peer(), name_of(outcome));
		owner_.tell(RPCORDMA_HAPPENING_CONNECT_FAILED, verbs::address_of(owner_.peer()), {name_of(outcome)});
	}
	/* Those that wait are to look again, or are told why there is no connection. Not after the lock is given up: a Call
	 * that was sent meanwhile would be sent again. */
	xprt_wake_pending_tasks(xprt_, connected ? -kernel::EAGAIN : errno_of(outcome));
	xprt_unlock_connect(xprt_, this);
	rpcordma_reclaim_scope_leave(scope);
}

proto::ConnectOutcome Connector::make() noexcept
{
	owner_.negotiator().begin();
	auto endpoint = verbs::Endpoint::create(
		{
			.route = {.network = field::rpc_xprt::xprt_net(xprt_),
				  .destination = owner_.peer(),
				  .source = has_wanted_source_ ? reinterpret_cast<sockaddr *>(wanted_source_.get()) :
								 nullptr,
				  .reserved_port = rpcordma_xprt_wants_reserved_port(xprt_)},
			.load = {.credits = field::rpc_xprt::max_reqs(xprt_),
				 .reverse_credits = reverse_credits,
				 .payload = most_payload},
			.reverse_receives = owner_.reverse().begin_connection(),
			.reverse_transfers = most_reverse_segments,
			.highest_version = owner_.negotiator().highest(),
			.own = {.send_size = rpcordma_max_inline_write,
				.receive_size = rpcordma_max_inline_read,
				.remote_invalidation = true},
		},
		owner_);
	if (!endpoint)
		return endpoint.error();
	{
		kernel::Guard guard(lock_);
		endpoint_ = std::move(*endpoint);
		__builtin_memcpy(source_.get(), endpoint_->id().source(), kernel::Layout<sockaddr_storage>::size);
		destination_ = verbs::address_of(endpoint_->id().destination());
	}
	/* Upper layers ask for it when they have got an answer. */
	field::rpc_xprt::max_payload(xprt_) = endpoint_->capacity().payload;
	owner_.outstanding().connected(endpoint_->capacity().credits);
	const proto::ConnectOutcome outcome = endpoint_->establish(patience);
	if (outcome != proto::ConnectOutcome::connected)
		drop(name_of(outcome));
	return outcome;
}

void Connector::established() noexcept
{
	kernel::Guard guard(lock_);
	established_at_ = verbs::seconds_now();
}

void Connector::close(const char *reason) noexcept
{
	drop(reason);
	new_cookie();
	xprt_disconnect_done(xprt_);
}

/* Only who holds sunrpc's lock of the transport does so; others look at it without. */
void Connector::new_cookie() noexcept
{
	unsigned int &cookie = field::rpc_xprt::connect_cookie(xprt_);
	kernel::write_once(cookie, cookie + 1);
}

/* Devices allocate to end a connection as well, and memory that this one carried may be what is to be reclaimed. */
void Connector::drop(const char *reason) noexcept
{
	if (!endpoint_)
		return;
	const unsigned int scope = rpcordma_reclaim_scope_enter(owner_.carries_swap());
	take_down(reason);
	rpcordma_reclaim_scope_leave(scope);
}

void Connector::take_down(const char *reason) noexcept
{
	endpoint_->stop();
	owner_.negotiator().end();
	owner_.outstanding().sweep();
	owner_.reverse().sweep();
	/* Under the lock for those who look, but not destroyed under it. */
	kernel::Owned<verbs::Endpoint> old;
	std::optional<std::uint64_t> since;
	verbs::Ending why;
	rpcordma_address destination;
	{
		kernel::Guard guard(lock_);
		registrations_of_past_connections_ += endpoint_->registrations().made();
		old = std::move(endpoint_);
		since = std::exchange(established_at_, {});
		why = ending_.reason ? ending_ : verbs::Ending{reason};
		destination = destination_;
	}
	rpcordma_trace_disconnected(reinterpret_cast<const sockaddr *>(destination.bytes),
				    owner_.outstanding().count());
	if (since)
		verbs::tell_disconnected(owner_, destination, verbs::seconds_now() - *since, why);
}

void Connector::cancel() noexcept
{
	cancel_delayed_work_sync(work_.get());
}

void Connector::set_timeouts(unsigned long connect, unsigned long reconnect) noexcept
{
	kernel::KernelGuard guard(field::rpc_xprt::transport_lock(xprt_));
	if (connect < field::rpc_xprt::connect_timeout(xprt_)) {
		field::rpc_xprt::connect_timeout(xprt_) = connect;
		/* A reply is waited for as long as two attempts to connect may take, at the least. */
		const unsigned long reply = std::max(connect, 2 * first_delay);
		field::rpc_timeout::to_initval(timeout_.get()) = reply;
		field::rpc_timeout::to_maxval(timeout_.get()) = reply;
		field::rpc_xprt::timeout(xprt_) = timeout_.get();
	}
	field::rpc_xprt::max_reconnect_timeout(xprt_) =
		std::min(field::rpc_xprt::max_reconnect_timeout(xprt_), reconnect);
}

int Connector::print_source(char *buffer, std::size_t size) noexcept
{
	if (!rpcordma_xprt_connected(xprt_))
		return -kernel::ENOTCONN;
	kernel::Guard guard(lock_);
	return static_cast<int>(rpc_ntop(reinterpret_cast<const sockaddr *>(source_.get()), buffer, size));
}

unsigned short Connector::source_port() noexcept
{
	kernel::Guard guard(lock_);
	return rpcordma_address_port(reinterpret_cast<const sockaddr *>(source_.get()));
}

void Connector::end(proto::Reconnection::By by, const verbs::Ending &why) noexcept
{
	{
		kernel::Guard guard(lock_);
		if (!ending_.reason)
			ending_ = why;
		reconnection_.ended(by, since_began());
	}
	xprt_force_disconnect(xprt_);
}

void Connector::give_up(const char *reason) noexcept
{
	rpcordma_trace_disconnect(owner_.peer(), reason, "");
	end(proto::Reconnection::By::requester, {reason});
}

/* The first Reply of a connection has come. */
void Connector::useful() noexcept
{
	useful_.set(true);
	owner_.negotiator().confirmed();
	/* The delay that xprt_reconnect_backoff() makes longer. */
	kernel::write_once(field::rpc_xprt::reestablish_timeout(xprt_), 0);
	kernel::Guard guard(lock_);
	reconnection_.replied();
}

proto::Reconnection::Pace Connector::pace() noexcept
{
	kernel::Guard guard(lock_);
	return reconnection_.pace();
}

/* In milliseconds. */
std::uint64_t Connector::since_began() const noexcept
{
	return std::uint64_t{rpcordma_jiffies() - began_} * 1000 / kernel::HZ;
}

proto::InlineThresholds Connector::thresholds() noexcept
{
	kernel::Guard guard(lock_);
	return endpoint_ ? endpoint_->agreement().inline_thresholds :
			   proto::InlineThresholds{proto::least_threshold(wire::Version::one),
						   proto::least_threshold(wire::Version::one)};
}

unsigned long Connector::registrations_made() noexcept
{
	kernel::Guard guard(lock_);
	return registrations_of_past_connections_ + (endpoint_ ? endpoint_->registrations().made() : 0);
}

} // namespace rpcordma::client
