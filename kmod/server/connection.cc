// SPDX-License-Identifier: GPL-2.0-only
/* The life of a connection: accepted, used, ended, freed. */
#include "server/connection.hh"

#include <algorithm>

#include "kernel/trace.hh"
#include "proto/reserved_ports.hh"
#include "server/listener.hh"
#include "verbs/names.hh"

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

Connection::Connection(svc_serv *server, net *network) noexcept
{
	rpcordma_svc_init_connection(xprt(), network, server);
	rpcordma_work_init(ending_.get(), [](work_struct *work) {
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
	auto *const connection = new (kernel::GFP_KERNEL)
		Connection(field::svc_xprt::xpt_server(listener), field::svc_xprt::xpt_net(listener));
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
		rpcordma_trace_connect_failed(peer(), verbs::name_of(endpoint.error()));
		return false;
	}
	endpoint_ = std::move(*endpoint);
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

/* Ends all waits for what the peer owes. */
void Connection::interrupt() noexcept
{
	room_.end();
	registrations_.end();
	lose_reverse();
}

/* An end takes as long as peer and device like: no thread of the service waits for it, and it waits for none that is in the
 * upper layer. */
void Connection::begin_end() noexcept
{
	interrupt();
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
	take_back();
	endpoint_->dismantle();
	kernel::Guard guard(lock_);
	rpcordma_trace_disconnected(peer(), grants_.outstanding());
}

/* Nothing completes any more, and no thread is inside. */
void Connection::take_back() noexcept
{
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
		rpcordma_svc_set_data(xprt(), true);
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
	interrupt();
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
	room_.room();
	reverse_room();
}

void Connection::reverse_room() noexcept
{
	room_events_.fetch_add(1);
	if (rpc_xprt *const reverse = field::svc_xprt::xpt_bc_xprt(xprt()))
		xprt_write_space(reverse);
}

void Connection::remember_failure(const verbs::Signal &signal, proto::Transaction transaction) noexcept
{
	if (is_requesters_fault(signal.failure())) [[unlikely]]
		service().remember_failure(transaction);
}

bool Connection::reserve(std::uint32_t requests) noexcept
{
	verbs::SendQueue &sends = endpoint_->sends();
	if (!room_.is_crowded() && sends.reserve(requests))
		return true;
	rpcordma_svc_count(RPCORDMA_SVC_SEND_WAITS);
	rpcordma_trace_send_waits(peer(), requests);
	/* Calls of the reverse direction give way to who waits here, and have to hear of it when nobody does any more. */
	const auto outcome = room_.acquire(
		patience, [&sends, requests] { return sends.reserve(requests); }, [this] { reverse_room(); });
	if (outcome == RoomQueue::Outcome::timed_out)
		endpoint_->lose("send queue", "full for too long");
	return outcome == RoomQueue::Outcome::granted;
}

/* A buffer for a message, and room for it and what precedes it; null where the connection is of no more use. Sleeps. */
verbs::SendBuffer *Connection::begin_send(std::uint32_t requests) noexcept
{
	if (!reserve(requests))
		return nullptr;
	verbs::SendBuffer *const buffer = endpoint_->sends().take(kernel::GFP_KERNEL);
	if (!buffer) {
		endpoint_->sends().release(requests);
		endpoint_->lose("memory", "for a message");
	}
	return buffer;
}

/* Shortens a chain that is too long for the send queue from its front. Sleeps until the device has done that part. `owner`
 * watches the chain. */
bool Connection::post_front(verbs::Chain &chain, const verbs::Signal &owner, proto::Transaction transaction) noexcept
{
	struct Step : verbs::Signal {
		Step() noexcept
			: Signal([](Signal &signal) noexcept { static_cast<Step &>(signal).done.complete(); })
		{
		}
		kernel::Completion done;
	};

	const std::uint32_t most = endpoint_->sends().longest_chain();
	while (chain.count > most) {
		Step step;
		if (!reserve(most) || !endpoint_->sends().post(chain.cut(most), step))
			return false;
		if (!step.done.wait(patience)) {
			endpoint_->lose("send queue", "full for too long");
			/* Flushes the queue: the step completes, whatever the requester does. */
			endpoint_->break_off();
			step.done.wait();
		}
		if (endpoint_->is_lost()) {
			remember_failure(owner, transaction);
			remember_failure(step, transaction);
			return false;
		}
	}
	return true;
}

} // namespace rpcordma::server
