// SPDX-License-Identifier: GPL-2.0-only
/* Where sunrpc enters: its operations, and the making and ending of transports. */
#include <algorithm>
#include <new>

#include "client/operations.h"
#include "client/transport.hh"

using namespace rpcordma;
using client::Transport;
namespace field = kernel::field;

namespace rpcordma::client {

namespace {

constexpr unsigned long connect_timeout = 60 * kernel::HZ;
constexpr unsigned long bind_timeout = 60 * kernel::HZ;
constexpr unsigned long idle_timeout = 5 * 60 * kernel::HZ;
/* The slots that a transport keeps, 8 KiB of them. Beyond, sunrpc allocates one for each RPC, and frees it again. */
constexpr unsigned int kept_slots = 16;
constexpr std::size_t max_payload = 1 << 20;

constexpr std::size_t alignment = alignof(Transport);
constexpr std::size_t behind_xprt = (kernel::Layout<rpc_xprt>::size + alignment - 1) / alignment * alignment;

} // namespace

Transport &Transport::of(rpc_xprt *xprt) noexcept
{
	return *reinterpret_cast<Transport *>(reinterpret_cast<std::byte *>(xprt) + behind_xprt);
}

Transport &Transport::of(const rpc_rqst *rqst) noexcept
{
	return of(field::rpc_rqst::rq_xprt(rqst));
}

std::size_t Transport::allocation() noexcept
{
	return behind_xprt + sizeof(Transport);
}

Transport::Transport(rpc_xprt *xprt, const sockaddr *source, std::size_t source_length) noexcept
	: xprt_(xprt)
	, has_wanted_source_(source != nullptr)
{
	if (source)
		__builtin_memcpy(wanted_source_.get(), source, source_length);
	rpc_init_wait_queue(fences_.get(), "fences");
	rpcordma_delayed_work_init(connect_work_.get(), [](work_struct *work) {
		kernel::owner_of(&Transport::connect_work_, rpcordma_delayed_work_of(work))->attempt();
	});
}

Transport::~Transport()
{
	rpc_destroy_wait_queue(fences_.get());
	free_.delete_all();
}

int Transport::print_source(char *buffer, std::size_t size) noexcept
{
	if (!rpcordma_xprt_connected(xprt_))
		return -kernel::ENOTCONN;
	kernel::Guard guard(lock_);
	return rpcordma_address_print(reinterpret_cast<const sockaddr *>(source_.get()), buffer, size);
}

unsigned short Transport::source_port() noexcept
{
	kernel::Guard guard(lock_);
	return rpcordma_address_port(reinterpret_cast<const sockaddr *>(source_.get()));
}

unsigned long Transport::registrations_made() noexcept
{
	kernel::Guard guard(lock_);
	return registrations_of_past_connections_ + (endpoint_ ? endpoint_->registrations().size() : 0);
}

void Transport::print_statistics(seq_file *file) noexcept
{
	const bool connected = rpcordma_xprt_connected(xprt_);
	const long idle = connected ? static_cast<long>(rpcordma_jiffies() - field::rpc_xprt::last_used(xprt_)) /
					      static_cast<long>(kernel::HZ) :
				      0;
	const Statistics &s = statistics_;

	seq_printf(file, "\txprt:\trdma %u %lu %lu %lu %ld %lu %lu %lu %llu %llu ", 0,
		   field::rpc_xprt::bind_count(xprt_), field::rpc_xprt::connect_count(xprt_),
		   field::rpc_xprt::connect_time(xprt_) / kernel::HZ, idle, field::rpc_xprt::sends(xprt_),
		   field::rpc_xprt::recvs(xprt_), field::rpc_xprt::bad_xids(xprt_), field::rpc_xprt::req_u(xprt_),
		   field::rpc_xprt::bklog_u(xprt_));
	seq_printf(file, "%lu %lu %lu %llu %llu %llu %llu %lu %lu %lu %lu ", s.read_chunks, s.write_chunks,
		   s.reply_chunks, s.request_bytes, s.reply_bytes, s.pulled_up, s.fixed_up, 0ul, s.failed_marshal,
		   s.bad_replies, s.nomsg_calls);
	seq_printf(file, "%lu %lu %lu %lu %lu %lu\n", 0ul, s.registrations_lost, registrations_made(),
		   s.local_invalidations, s.no_send_room, 0ul);
}

} // namespace rpcordma::client

rpc_xprt *rpcordma_client_setup(xprt_create *args, const rpcordma_xprt_kind *kind)
{
	const unsigned int slots = rpcordma_slot_table_entries;
	rpc_xprt *const xprt =
		rpcordma_xprt_alloc(args, kind, Transport::allocation(), std::min(client::kept_slots, slots), slots);
	if (rpcordma_pointer_error(xprt) != 0)
		return xprt;
	field::rpc_xprt::connect_timeout(xprt) = client::connect_timeout;
	field::rpc_xprt::max_reconnect_timeout(xprt) = client::connect_timeout;
	field::rpc_xprt::bind_timeout(xprt) = client::bind_timeout;
	field::rpc_xprt::idle_timeout(xprt) = client::idle_timeout;
	field::rpc_xprt::max_payload(xprt) = client::max_payload;
	/* The address is that of an IP service for all that looks at it beside this transport. */
	field::rpc_xprt::prot(xprt) = kernel::IPPROTO_TCP;
	if (rpcordma_address_port(field::xprt_create::dstaddr(args)) != 0)
		rpcordma_xprt_set_bound(xprt);
	new (&Transport::of(xprt))
		Transport(xprt, field::xprt_create::srcaddr(args), field::xprt_create::addrlen(args));
	return xprt;
}

void rpcordma_client_destroy(rpc_xprt *xprt)
{
	Transport &transport = Transport::of(xprt);

	transport.cancel_connect();
	transport.close();
	transport.~Transport();
	rpcordma_xprt_free(xprt);
}

void rpcordma_client_set_port(rpc_xprt *xprt, u16 port)
{
	rpcordma_address_set_port(xprt, port);
}

void rpcordma_client_connect(rpc_xprt *xprt, rpc_task *task)
{
	Transport::of(xprt).connect(task);
}

rpc_wait_queue *rpcordma_client_reverse_replies(rpc_xprt *xprt)
{
	return Transport::of(xprt).reverse().replies();
}

int rpcordma_client_buf_alloc(rpc_task *task)
{
	rpc_rqst *const rqst = field::rpc_task::tk_rqstp(task);
	return Transport::of(rqst).allocate(rqst);
}

void rpcordma_client_buf_free(rpc_task *task)
{
	rpc_rqst *const rqst = field::rpc_task::tk_rqstp(task);
	Transport::of(rqst).release(rqst);
}

int rpcordma_client_send_request(rpc_rqst *rqst)
{
	return Transport::of(rqst).send(rqst);
}

void rpcordma_client_unanswered(rpc_rqst *rqst, bool timed_out)
{
	Transport::of(rqst).unanswered(rqst, timed_out);
}

void rpcordma_client_close(rpc_xprt *xprt)
{
	Transport::of(xprt).close();
}

void rpcordma_client_set_connect_timeout(rpc_xprt *xprt, unsigned long connect, unsigned long reconnect)
{
	Transport::of(xprt).set_timeouts(connect, reconnect);
}

void rpcordma_client_print_stats(rpc_xprt *xprt, seq_file *file)
{
	Transport::of(xprt).print_statistics(file);
}

void rpcordma_client_inject_disconnect(rpc_xprt *xprt)
{
	Transport::of(xprt).break_off();
}

int rpcordma_client_source_address(rpc_xprt *xprt, char *buffer, size_t size)
{
	return Transport::of(xprt).print_source(buffer, size);
}

unsigned short rpcordma_client_source_port(rpc_xprt *xprt)
{
	return Transport::of(xprt).source_port();
}

int rpcordma_client_bc_setup(rpc_xprt *xprt, unsigned int sessions)
{
	Transport::of(xprt).reverse().open(sessions);
	return 0;
}

size_t rpcordma_client_bc_maxpayload(rpc_xprt *xprt)
{
	return Transport::of(xprt).reverse_size();
}

unsigned int rpcordma_client_bc_num_slots(rpc_xprt *)
{
	return client::reverse_credits;
}

void rpcordma_client_bc_free_rqst(rpc_rqst *rqst)
{
	rpc_xprt *const xprt = field::rpc_rqst::rq_xprt(rqst);

	Transport::of(xprt).reverse().keep(client::ReverseRequest::of(rqst));
	xprt_put(xprt);
}

void rpcordma_client_bc_destroy(rpc_xprt *xprt, unsigned int sessions)
{
	Transport::of(xprt).reverse().close(sessions);
}
