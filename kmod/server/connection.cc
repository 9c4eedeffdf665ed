// SPDX-License-Identifier: GPL-2.0-only
/* The life of a connection: accepted, used, ended, freed. */
#include "server/connection.hh"

#include <algorithm>

#include "kernel/trace.hh"
#include "proto/reserved_ports.hh"
#include "server/listener.hh"

namespace rpcordma::server {

namespace field = kernel::field;

namespace {

/* Whether a work request failed because of what the requester had offered. */
bool is_requesters_fault(unsigned int status) noexcept
{
	return status == kernel::IB_WC_REM_ACCESS_ERR || status == kernel::IB_WC_REM_INV_REQ_ERR ||
	       status == kernel::IB_WC_REM_OP_ERR;
}

} // namespace

Connection::Connection(svc_xprt *listener) noexcept
{
	rpcordma_svc_init_connection(xprt(), listener);
	rpcordma_work_init(ending_.get(), [](work_struct *work) {
		Connection &connection = *kernel::owner_of(&Connection::ending_, work);
		connection.end();
		/* May be the last one. */
		svc_xprt_put(connection.xprt());
	});
	rpcordma_delayed_work_init(looks_.get(), [](work_struct *work) {
		kernel::owner_of(&Connection::looks_, rpcordma_delayed_work_of(work))->look();
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
	const bool offers = chunks != proto::ReverseChunks::never;
	const verbs::AcceptWishes wishes{
		.load = {.credits = rpcordma_svc_max_requests,
			 .spare_receives = spare_receives,
			 .payload = std::min(field::svc_serv::sv_max_payload(field::svc_xprt::xpt_server(xprt())),
					     (Pages::most - 4) * proto::page_size)},
		/* For a Read chunk and a Reply chunk each. */
		.registrations = offers ? 2 * reverse_credits : 0,
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
	outbox_.attach(endpoint_->sends());
	most_reading_ = std::max<std::uint32_t>(reads, 1);
	{
		kernel::Guard guard(lock_);
		grants_ = proto::Grants(endpoint_->credits());
	}
	reverse_chunks_.store(chunks);
	has_own_reads_ = offers && request.own_reads != 0;
	if (!endpoint_->accept(reads, has_own_reads_ ? 1 : 0)) {
		rpcordma_trace_connect_failed(peer(), "not accepted");
		return false;
	}
	is_accepted_.store(true);
	/* Before, lost() has left it to this. */
	if (endpoint_->is_lost())
		begin_end();
	return true;
}

/* The port is another on each connection: without it, upper layers know a requester again. It may be any user's, whom
 * nothing keeps from the connection manager, unless it is a reserved one. The in-tree client has none, so that all count as
 * such by default. */
void Connection::set_addresses(rdma_cm_id *id) noexcept
{
	rpcordma_svc_set_local(xprt(), reinterpret_cast<const sockaddr *>(&field::rdma_cm_id::source(id)));
	rpcordma_svc_set_remote(xprt(), reinterpret_cast<const sockaddr *>(&field::rdma_cm_id::destination(id)));
	std::array<std::byte, 28> address;
	__builtin_memcpy(address.data(), &field::svc_xprt::xpt_remote(xprt()), address.size());
	requester_ = proto::requester_at(address);
	const auto *const from = reinterpret_cast<const sockaddr *>(&field::rdma_cm_id::destination(id));
	has_secure_port_ = rpcordma_svc_reserved_ports == 0 || proto::is_reserved_port(rpcordma_address_port(from));
}

const sockaddr *Connection::peer() noexcept
{
	return reinterpret_cast<const sockaddr *>(&field::svc_xprt::xpt_remote(xprt()));
}

void Connection::detach() noexcept
{
	begin_end();
	/* Who ends a service finds nothing of it afterwards: neither its device nor the module is in use. */
	if (field::svc_serv::sv_nrthreads(field::svc_xprt::xpt_server(xprt())) == 0)
		rpcordma_flush_end(ending_.get());
}

Connection::~Connection()
{
	free_calls_.delete_all();
	free_pulls_.delete_all();
	free_pushes_.delete_all();
}

/* An end takes as long as peer and device like: no thread of the service waits for it, and it waits for none that is in the
 * upper layer. */
void Connection::begin_end() noexcept
{
	lose_reverse();
	if (is_ending_.exchange(true))
		return;
	rpcordma_svc_xprt_get(xprt());
	rpcordma_queue_end(ending_.get());
}

/* On a work item of its own. */
void Connection::end() noexcept
{
	/* Flushes the queues, which is what is waited for inside. */
	endpoint_->break_off();
	gate_.close();
	endpoint_->stop();
	cancel_delayed_work_sync(looks_.get());
	take_back();
	endpoint_->dismantle();
	kernel::Guard guard(lock_);
	rpcordma_trace_disconnected(peer(), grants_.outstanding());
}

/* Nothing completes any more, and no thread is inside. */
void Connection::take_back() noexcept
{
	outbox_.clear();
	kernel::Guard guard(lock_);
	while (verbs::ReceiveBuffer *const buffer = arrived_.pop_front())
		endpoint_->receives().give_back(*buffer);
	for (auto *const list : {&reading_, &pulled_}) {
		while (Pull *const pull = list->pop_front()) {
			waiting_.push_back(*pull->call);
			transfers_.finish(pull->transfers);
			delete pull;
		}
	}
	while (ServedCall *const call = waiting_.pop_front()) {
		endpoint_->receives().give_back(*call->message);
		delete call;
	}
	while (Push *const push = pushing_.pop_front()) {
		transfers_.finish(push->transfers);
		if (push->message)
			endpoint_->sends().abandon(*push->message, 0);
		delete push;
	}
	forget_offered();
}

/* In the context of the completion queue. */
void Connection::received(verbs::ReceiveBuffer &buffer) noexcept
{
	if (take_reverse_reply(buffer)) [[unlikely]] {
		endpoint_->receives().give_back(buffer);
		std::uint32_t receives;
		{
			kernel::Guard guard(lock_);
			receives = receives_needed();
		}
		return keep_receives(receives);
	}
	bool is_granted;
	std::uint32_t receives;
	{
		kernel::Guard guard(lock_);
		is_granted = grants_.arrived();
		arrived_.push_back(buffer);
		rpcordma_svc_set_data(xprt(), wants_thread());
		receives = receives_needed();
	}
	rpcordma_svc_count(RPCORDMA_SVC_RECEIVES);
	if (!is_granted)
		return endpoint_->lose("credits exceeded", "");
	keep_receives(receives);
	if (endpoint_->is_established())
		svc_xprt_enqueue(xprt());
}

std::uint32_t Connection::receives_needed() noexcept
{
	return grants_.receives_for(grants_.in_force()) + least_spare;
}

/* Replies see to enough Receives; here, to those that are used up while no Reply is sent. */
void Connection::keep_receives(std::uint32_t needed) noexcept
{
	(void)endpoint_->receives().provide(needed, spare_receives, kernel::GFP_ATTEMPT);
}

void Connection::established() noexcept
{
	rpcordma_trace_connected(peer(), endpoint_->device_name(), endpoint_->credits(),
				 endpoint_->agreement().inline_thresholds.call,
				 endpoint_->agreement().inline_thresholds.reply,
				 endpoint_->agreement().remote_invalidation);
	/* What came before was left lying. */
	svc_xprt_enqueue(xprt());
}

void Connection::lost() noexcept
{
	lose_reverse();
	svc_xprt_deferred_close(xprt());
	if (is_accepted_.load())
		begin_end();
}

/* Or Calls of the reverse direction would be tried again and again until the connection has been closed. */
void Connection::lose_reverse() noexcept
{
	if (rpc_xprt *const reverse = field::svc_xprt::xpt_bc_xprt(xprt()))
		xprt_disconnect_done(reverse);
}

void Connection::room() noexcept
{
	has_moved_.store(true, std::memory_order_relaxed);
	outbox_.room();
	reverse_room();
}

/* In place of a thread, the connection waits, for a limited time. */
void Connection::posting_waits(wire::Xid xid) noexcept
{
	rpcordma_svc_count(RPCORDMA_SVC_SEND_WAITS);
	rpcordma_trace_send_waits(peer(), static_cast<u32>(xid));
	kernel::Guard guard(lock_);
	watch();
}

/* Calls of the reverse direction have given way, and Calls were left lying. */
void Connection::outbox_is_empty() noexcept
{
	reverse_room();
	svc_xprt_enqueue(xprt());
}

void Connection::posted_in_part(const verbs::Posting &posting) noexcept
{
	remember_failure(posting);
}

void Connection::not_prepared() noexcept
{
	endpoint_->lose("memory", "for RDMA Reads or Writes");
}

void Connection::watch() noexcept
{
	if (std::exchange(is_watched_, true))
		return;
	idle_looks_ = 0;
	(void)rpcordma_queue_delayed_work(looks_.get(), look_interval);
}

void Connection::look() noexcept
{
	const bool has_moved = has_moved_.exchange(false);
	{
		kernel::Guard guard(lock_);
		is_watched_ = outbox_.is_crowded() || !reading_.empty();
		if (!is_watched_)
			return;
		idle_looks_ = has_moved ? 0 : idle_looks_ + 1;
		if (idle_looks_ < most_idle_looks) {
			(void)rpcordma_queue_delayed_work(looks_.get(), look_interval);
			return;
		}
	}
	endpoint_->lose("send queue", "nothing completes");
}

void Connection::reverse_room() noexcept
{
	room_events_.fetch_add(1);
	if (rpc_xprt *const reverse = field::svc_xprt::xpt_bc_xprt(xprt()))
		xprt_write_space(reverse);
}

void Connection::remember_failure(const verbs::Posting &posting) noexcept
{
	if (is_requesters_fault(posting.failure())) [[unlikely]]
		service().remember_failure(posting.transaction);
}

} // namespace rpcordma::server
