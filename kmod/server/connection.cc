// SPDX-License-Identifier: GPL-2.0-only
/* The life of a connection: accepted, used, ended, freed. */
#include "server/connection.hh"

#include <algorithm>

#include "kernel/trace.hh"
#include "proto/reserved_ports.hh"
#include "server/listener.hh"

namespace rpcordma::server {

namespace field = kernel::field;

Connection::Connection(svc_xprt *listener) noexcept
	: verbs::ObservedConnection(field::svc_xprt::xpt_net(listener), RPCORDMA_ROLE_RESPONDER)
{
	rpcordma_svc_init_connection(xprt(), listener);
	rpcordma_work_init(ending_.get(), RPCORDMA_WORK_CONNECTION, [](work_struct *work) {
		Connection &connection = *kernel::owner_of(&Connection::ending_, work);
		connection.end();
		/* May be the last one. */
		svc_xprt_put(connection.xprt());
	});
}

Connection &Connection::of(svc_xprt *xprt) noexcept
{
	return *kernel::owner_of(&Connection::xprt_, xprt);
}

svc_xprt *Connection::accept(kernel::Owned<ConnectRequest> request, svc_xprt *listener) noexcept
{
	auto *const connection = new (kernel::GFP_KERNEL) Connection(listener);
	if (!connection) {
		rdma_destroy_id(request->id);
		return nullptr;
	}
	if (connection->start(*request))
		return connection->xprt();
	if (connection->endpoint_)
		connection->begin_end();
	/* sunrpc drops the module's reference that goes with the call, and the end of the svc_xprt another. */
	(void)rpcordma_module_get();
	svc_xprt_put(connection->xprt());
	return nullptr;
}

bool Connection::start(ConnectRequest &request) noexcept
{
	set_addresses(request.id);
	const auto chunks = static_cast<proto::ReverseChunks>(rpcordma_svc_reverse_chunks);
	const verbs::AcceptWishes wishes{
		.load = {.credits = rpcordma_svc_max_requests,
			 .spare_receives = spare_receives,
			 .payload = field::svc_serv::sv_max_payload(field::svc_xprt::xpt_server(xprt()))},
		/* For a Read chunk and a Reply chunk each. */
		.registrations = chunks != proto::ReverseChunks::never ? 2 * reverse_credits : 0,
		.highest_version = highest_version_,
		.own = {.send_size = rpcordma_svc_max_req_size,
			.receive_size = rpcordma_svc_max_req_size,
			.remote_invalidation = true},
	};
	const auto reads = static_cast<u8>(std::min<unsigned int>(request.reads, rpcordma_svc_max_reads));
	auto endpoint = verbs::Endpoint::adopt(request.id, request.requester, wishes, *this,
					       [&request] { return !request.is_gone; });
	if (!endpoint) {
		rpcordma_trace_connect_failed(peer(), name_of(endpoint.error()));
		return false;
	}
	endpoint_ = std::move(*endpoint);
	const bool offers = endpoint_->registrations().most() != 0;
	const bool has_own_reads = offers && request.own_reads != 0;
	postings_.begin();
	calls_.backlog().begin(endpoint_->capacity().credits, std::max<std::uint32_t>(reads, 1));
	reverse_.begin(offers ? chunks : proto::ReverseChunks::never, has_own_reads);
	enlist();
	if (!endpoint_->accept(reads, has_own_reads ? 1 : 0)) {
		rpcordma_trace_connect_failed(peer(), "not accepted");
		return false;
	}
	is_accepted_.set(true);
	/* lost() reads it after the loss was noted, this looks for the loss after it was set: one of them sees the other. */
	kernel::smp_mb();
	if (endpoint_->is_lost())
		begin_end();
	return true;
}

/* The port is another on each connection: without it, upper layers know a requester again. It may be any user's, whom
 * nothing keeps from the connection manager, unless it is a reserved one. The in-tree client has none, so that all count as
 * such by default. */
void Connection::set_addresses(rdma_cm_id *id) noexcept
{
	const auto *const from = reinterpret_cast<const sockaddr *>(&field::rdma_cm_id::destination(id));
	rpcordma_svc_set_local(xprt(), reinterpret_cast<const sockaddr *>(&field::rdma_cm_id::source(id)));
	rpcordma_svc_set_remote(xprt(), from);
	remote_ = verbs::address_of(from);
	requester_ = requester_of(from);
	has_secure_port_ = rpcordma_svc_reserved_ports == 0 || proto::is_reserved_port(rpcordma_address_port(from));
}

void Connection::change_version(wire::Version version) noexcept
{
	version_.set(version);
	rpcordma_trace_version(peer(), std::to_underlying(version));
}

void Connection::refused(const char *reason) noexcept
{
	tallies_.refused.count(reason);
	rpcordma_svc_count(RPCORDMA_SVC_REFUSED);
	tell(RPCORDMA_HAPPENING_REFUSED, remote_, {reason});
}

const sockaddr *Connection::peer() const noexcept
{
	return reinterpret_cast<const sockaddr *>(remote_.bytes);
}

void Connection::detach() noexcept
{
	begin_end();
	/* Who ends a service finds nothing of it afterwards: neither its device nor the module is in use. */
	if (kernel::read_once(field::svc_serv::sv_nrthreads(field::svc_xprt::xpt_server(xprt()))) == 0)
		rpcordma_flush_end(ending_.get());
}

/* An end takes as long as peer and device like: no thread of the service waits for it, and it waits for none that is in the
 * upper layer. */
void Connection::begin_end() noexcept
{
	/* The work's reference. It is there before anybody can see that the end has begun: sunrpc's detach() drops sunrpc's
	 * reference as soon as it does. */
	rpcordma_svc_xprt_get(xprt());
	bool had_begun;
	{
		/* What finds that the end has begun finds its work queued, and can wait for it. */
		kernel::Guard guard(end_lock_);
		had_begun = is_ending_.xchg(true);
		/* After it: a transport that is opened now is seen here, or sees that the end has begun. */
		reverse_.lose();
		if (!had_begun)
			rpcordma_queue_end(ending_.get());
	}
	if (had_begun)
		svc_xprt_put(xprt());
}

/* On a work item of its own. */
void Connection::end() noexcept
{
	/* Who looks finds the device's part of it. */
	withdraw();
	/* Flushes the queues, which is what is waited for inside. */
	endpoint_->break_off();
	gate_.close();
	endpoint_->stop();
	/* Nothing completes any more, and no thread is inside. */
	postings_.clear();
	const std::uint32_t unanswered = calls_.backlog().clear();
	replies_.clear();
	reverse_.clear();
	endpoint_->dismantle();
	rpcordma_trace_disconnected(peer(), unanswered);
	const std::uint64_t since = established_at_.read();
	if (since == 0)
		return;
	rpcordma_svc_count(RPCORDMA_SVC_DISCONNECTS);
	verbs::Ending why;
	{
		kernel::Guard guard(end_lock_);
		why = why_;
	}
	verbs::tell_disconnected(*this, remote_, verbs::seconds_now() - since,
				 why.reason ? why : verbs::Ending{"closed by the service"});
}

/* In the context of the completion queue. */
void Connection::received(verbs::ReceiveBuffer &buffer) noexcept
{
	if (reverse_.take(buffer)) [[unlikely]] {
		endpoint_->receives().give_back(buffer);
		return calls_.backlog().keep_receives();
	}
	rpcordma_svc_count(RPCORDMA_SVC_RECEIVES);
	buffer.arrived_at = ktime_get();
	if (!calls_.backlog().arrived(buffer))
		return endpoint_->lose("credits exceeded", "");
	/* arrived() has set a bit of sunrpc's, established() looks at that after it was noted: one of them sees the other. */
	kernel::smp_mb_after_atomic();
	if (endpoint_->id().is_established())
		svc_xprt_enqueue(xprt());
}

void Connection::established() noexcept
{
	rpcordma_trace_connected(peer(), endpoint_->id().device_name(), endpoint_->capacity().credits,
				 endpoint_->agreement().inline_thresholds.call,
				 endpoint_->agreement().inline_thresholds.reply,
				 endpoint_->agreement().remote_invalidation);
	established_at_.set(std::max<std::uint64_t>(verbs::seconds_now(), 1));
	rpcordma_svc_count(RPCORDMA_SVC_CONNECTS);
	tell(RPCORDMA_HAPPENING_CONNECTED, remote_);
	/* What came before was left lying: see received(). */
	kernel::smp_mb();
	svc_xprt_enqueue(xprt());
}

/* Without the first, Calls of the reverse direction would be tried again and again until the connection has been closed. */
void Connection::lost(const verbs::Ending &why) noexcept
{
	{
		kernel::Guard guard(end_lock_);
		why_ = why;
	}
	reverse_.lose();
	svc_xprt_deferred_close(xprt());
	if (is_accepted_.read())
		begin_end();
}

bool Connection::look() noexcept
{
	const bool has_calls = calls_.backlog().trim();
	const bool has_replies = replies_.trim();
	const bool has_transfers = postings_.trim();
	return has_calls || has_replies || has_transfers;
}

void Connection::room() noexcept
{
	postings_.room();
	reverse_.room();
}

} // namespace rpcordma::server
