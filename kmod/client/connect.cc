// SPDX-License-Identifier: GPL-2.0-only
/* How a transport gets a connection, and how it gives it up. */
#include <algorithm>
#include <utility>

#include "client/transport.hh"
#include "kernel/trace.hh"

namespace rpcordma::client {

namespace field = kernel::field;

namespace {

/* Between attempts, from the second on: sunrpc doubles it up to the mount's limit. */
constexpr unsigned long first_delay = 5 * kernel::HZ;
/* How long a peer may take to answer an attempt. */
constexpr unsigned long patience = 30 * kernel::HZ;

int errno_of(proto::ConnectOutcome outcome)
{
	switch (outcome) {
	case proto::ConnectOutcome::connected:
		return 0;
	case proto::ConnectOutcome::refused:
		return -kernel::ECONNREFUSED;
	case proto::ConnectOutcome::host_unreachable:
	case proto::ConnectOutcome::no_device:
		return -kernel::EHOSTUNREACH;
	case proto::ConnectOutcome::network_unreachable:
		return -kernel::ENETUNREACH;
	case proto::ConnectOutcome::try_again:
		break;
	}
	return -kernel::ENOTCONN;
}

} // namespace

void Transport::connect(rpc_task *task) noexcept
{
	if (!xprt_lock_connect(xprt_, task, this))
		return;
	unsigned long delay = 0;
	if (backs_off()) {
		delay = xprt_reconnect_delay(xprt_);
		xprt_reconnect_backoff(xprt_, first_delay);
	}
	rpcordma_trace_connect_attempt(peer(), static_cast<u32>(delay * 1000 / kernel::HZ));
	rpcordma_queue_delayed_work(connect_work_.get(), delay);
}

void Transport::attempt() noexcept
{
	const unsigned int scope = rpcordma_reclaim_scope_enter(carries_swap());
	const verbs::EndpointWishes wishes{
		.network = field::rpc_xprt::xprt_net(xprt_),
		.destination = reinterpret_cast<const sockaddr *>(&field::rpc_xprt::addr(xprt_)),
		.source = has_wanted_source_ ? reinterpret_cast<sockaddr *>(wanted_source_.get()) : nullptr,
		.reserved_port = rpcordma_xprt_wants_reserved_port(xprt_),
		.load = {.credits = field::rpc_xprt::max_reqs(xprt_), .reverse_credits = reverse_credits},
		.reverse_receives = reverse_.wanted_receives(),
		.reverse_transfers = most_reverse_segments,
		.own = {.send_size = rpcordma_max_inline_write,
			.receive_size = rpcordma_max_inline_read,
			.remote_invalidation = true},
	};
	useful_ = false;
	{
		kernel::Guard guard(reconnection_lock_);
		connect_began_ = rpcordma_jiffies();
		reconnection_.begin();
	}
	const proto::ConnectOutcome outcome = connect_to(wishes);
	const bool connected = outcome == proto::ConnectOutcome::connected;
	if (!connected) {
		kernel::Guard guard(reconnection_lock_);
		reconnection_.failed(since_connect_began());
	}

	rpcordma_xprt_clear_connecting(xprt_);
	if (connected) {
		field::rpc_xprt::connect_cookie(xprt_)++;
		field::rpc_xprt::connect_count(xprt_)++;
		field::rpc_xprt::connect_time(xprt_) += rpcordma_jiffies() - field::rpc_xprt::connect_start(xprt_);
		const proto::Agreement &agreed = endpoint_->agreement();
		rpcordma_trace_connected(peer(), endpoint_->device_name(), endpoint_->credits(),
					 agreed.inline_thresholds.call, agreed.inline_thresholds.reply,
					 agreed.remote_invalidation);
		rpcordma_xprt_set_connected(xprt_);
	} else {
		rpcordma_trace_connect_failed(peer(), name_of(outcome));
	}
	/* Those that wait are to look again, or are told why there is no connection. Not after the lock is given up: a Call
	 * that was sent meanwhile would be sent again. */
	xprt_wake_pending_tasks(xprt_, connected ? -kernel::EAGAIN : errno_of(outcome));
	xprt_unlock_connect(xprt_, this);
	rpcordma_reclaim_scope_leave(scope);
}

proto::ConnectOutcome Transport::connect_to(const verbs::EndpointWishes &wishes) noexcept
{
	auto endpoint = verbs::Endpoint::create(wishes, *this);
	if (!endpoint)
		return endpoint.error();
	{
		kernel::Guard guard(lock_);
		endpoint_ = std::move(*endpoint);
		credits_ = proto::Credits(endpoint_->credits());
		in_flight_ = 0;
		abandoned_ = 0;
		unclaimed_ = 0;
		connection_++;
		__builtin_memcpy(source_.get(), endpoint_->source(), kernel::Layout<sockaddr_storage>::size);
	}
	reverse_.connected();
	const proto::ConnectOutcome outcome = endpoint_->establish(patience);
	if (outcome != proto::ConnectOutcome::connected)
		drop_endpoint();
	return outcome;
}

void Transport::close() noexcept
{
	drop_endpoint();
	field::rpc_xprt::connect_cookie(xprt_)++;
	xprt_disconnect_done(xprt_);
}

void Transport::drop_endpoint() noexcept
{
	if (!endpoint_)
		return;
	endpoint_->stop();
	sweep();
	reverse_.sweep();
	/* Under the lock for those who look, but not destroyed under it. */
	kernel::Owned<verbs::Endpoint> old;
	std::uint32_t calls;
	{
		kernel::Guard guard(lock_);
		registrations_of_past_connections_ += endpoint_->registrations().size();
		old = std::move(endpoint_);
		calls = in_flight_;
	}
	rpcordma_trace_disconnected(peer(), calls);
}

std::size_t Transport::reverse_size() noexcept
{
	kernel::Guard guard(lock_);
	const std::uint32_t threshold = endpoint_ ? std::min(endpoint_->agreement().inline_thresholds.call,
							     endpoint_->agreement().inline_thresholds.reply) :
						    RPCRDMA_V1_DEFAULT_INLINE;
	return std::min<std::size_t>(threshold, kernel::PAGE_SIZE) - wire::chunks_size(0, 0, 0) - RPCRDMA_V1_FIXED_SIZE;
}

/* The queue pair is drained: no peer reaches anything any more, and no completion comes. */
void Transport::sweep() noexcept
{
	for (;;) {
		Request *request;
		{
			kernel::Guard guard(lock_);
			request = advertising_.pop_front();
			if (!request)
				return;
			request->memory_ = Request::Memory::returning;
		}
		trace_invalidated(*request, "disconnect");
		statistics_.registrations_lost += request->reads_.size() + request->room_.size();
		give_back_memory(*request);
		rpc_rqst *const rqst = request->rqst_;
		verbs::ReceiveBuffer *reply;
		{
			kernel::Guard guard(lock_);
			/* It came when nothing could be invalidated any more. */
			reply = std::exchange(request->reply_, nullptr);
			if (reply)
				request->state_ = Request::State::idle;
			memory_is_back(*request);
		}
		/* Not before: sunrpc waits for that with the request. */
		if (reply)
			let_go(rqst, *reply);
	}
}

void Transport::cancel_connect() noexcept
{
	cancel_delayed_work_sync(connect_work_.get());
}

void Transport::break_off() noexcept
{
	if (rpcordma_xprt_connected(xprt_))
		give_up("injected");
}

void Transport::give_up(const char *reason) noexcept
{
	rpcordma_trace_disconnect(peer(), reason, "");
	end(proto::Reconnection::By::requester);
}

void Transport::set_timeouts(unsigned long connect, unsigned long reconnect) noexcept
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

const sockaddr *Transport::peer() const noexcept
{
	return reinterpret_cast<const sockaddr *>(&field::rpc_xprt::addr(xprt_));
}

void Transport::lost() noexcept
{
	end(proto::Reconnection::By::others);
}

void Transport::end(proto::Reconnection::By by) noexcept
{
	{
		kernel::Guard guard(reconnection_lock_);
		reconnection_.ended(by, since_connect_began());
	}
	xprt_force_disconnect(xprt_);
}

/* The first Reply of a connection has come. */
void Transport::useful() noexcept
{
	useful_ = true;
	field::rpc_xprt::reestablish_timeout(xprt_) = 0;
	kernel::Guard guard(reconnection_lock_);
	reconnection_.replied();
}

bool Transport::backs_off() noexcept
{
	kernel::Guard guard(reconnection_lock_);
	return reconnection_.backs_off();
}

/* In milliseconds. */
std::uint64_t Transport::since_connect_began() const noexcept
{
	return std::uint64_t{rpcordma_jiffies() - connect_began_} * 1000 / kernel::HZ;
}

bool Transport::carries_swap() noexcept
{
	return rpcordma_xprt_swapping(xprt_);
}

} // namespace rpcordma::client
