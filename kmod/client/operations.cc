// SPDX-License-Identifier: GPL-2.0-only
/* Where sunrpc enters: its operations, and the making and ending of transports. */
#include <algorithm>
#include <new>

#include "client/operations.h"
#include "client/transport.hh"
#include "kernel/page.hh"

using namespace rpcordma;
using client::Transport;
namespace field = kernel::field;

namespace rpcordma::client {

namespace {

constexpr unsigned long connect_timeout = 60 * kernel::HZ;
constexpr unsigned long bind_timeout = 60 * kernel::HZ;
constexpr unsigned long idle_timeout = 5 * 60 * kernel::HZ;

constexpr std::size_t xprt_size = kernel::Layout<rpc_xprt>::size;
static_assert(xprt_size % alignof(Transport) == 0);

} // namespace

Transport &Transport::of(rpc_xprt *xprt) noexcept
{
	return *reinterpret_cast<Transport *>(kernel::nth(xprt, 1));
}

Transport &Transport::of(const rpc_rqst *rqst) noexcept
{
	return of(field::rpc_rqst::rq_xprt(rqst));
}

Transport::Transport(rpc_xprt *xprt, const sockaddr *source, std::size_t source_length) noexcept
	: verbs::ObservedConnection(field::rpc_xprt::xprt_net(xprt), RPCORDMA_ROLE_REQUESTER)
	, xprt_(xprt)
	, connector_(*this, source, source_length)
{
	enlist();
}

Transport::~Transport()
{
	connector_.cancel();
	connector_.close("not used any more");
	withdraw();
}

void Transport::lost(const verbs::Ending &why) noexcept
{
	connector_.end(proto::Reconnection::By::others, why);
}

void Transport::room() noexcept
{
	(void)room_events_.fetch_add(1);
	xprt_write_space(xprt_);
	reverse_.room();
}

void Transport::refused(const char *reason) noexcept
{
	tallies_.refused.count(reason);
	tell(RPCORDMA_HAPPENING_REFUSED, verbs::address_of(peer()), {reason});
}

bool Transport::carries_swap() noexcept
{
	return rpcordma_xprt_swapping(xprt_);
}

} // namespace rpcordma::client

int rpcordma_client_start(void)
{
	return client::Negotiator::start();
}

void rpcordma_client_stop(void)
{
	client::Negotiator::stop();
}

void rpcordma_client_forget_versions(void)
{
	client::Negotiator::forget_all();
}

rpc_xprt *rpcordma_client_setup(xprt_create *args, const rpcordma_xprt_kind *kind)
{
	rpc_xprt *const xprt =
		rpcordma_xprt_alloc(args, kind, client::xprt_size + sizeof(Transport), 0, rpcordma_slot_table_entries);
	if (rpcordma_pointer_error(xprt) != 0)
		return xprt;
	field::rpc_xprt::connect_timeout(xprt) = client::connect_timeout;
	field::rpc_xprt::max_reconnect_timeout(xprt) = client::connect_timeout;
	field::rpc_xprt::bind_timeout(xprt) = client::bind_timeout;
	field::rpc_xprt::idle_timeout(xprt) = client::idle_timeout;
	field::rpc_xprt::max_payload(xprt) = client::most_payload;
	/* The address is that of an IP service for all that looks at it beside this transport. */
	field::rpc_xprt::prot(xprt) = kernel::IPPROTO_TCP;
	if (rpcordma_address_port(field::xprt_create::dstaddr(args)) != 0)
		rpcordma_xprt_set_bound(xprt);
	auto &transport = *new (&Transport::of(xprt))
				  Transport(xprt, field::xprt_create::srcaddr(args), field::xprt_create::addrlen(args));
	if (transport.slots().open())
		return xprt;
	rpcordma_client_destroy(xprt);
	return kernel::error_pointer<rpc_xprt>(-kernel::ENOMEM);
}

void rpcordma_client_destroy(rpc_xprt *xprt)
{
	Transport::of(xprt).~Transport();
	rpcordma_xprt_free(xprt);
}

void rpcordma_client_connect(rpc_xprt *xprt, rpc_task *task)
{
	Transport::of(xprt).connector().connect(task);
}

rpc_wait_queue *rpcordma_client_reverse_replies(rpc_xprt *xprt)
{
	return Transport::of(xprt).reverse().replies();
}

void rpcordma_client_alloc_slot(rpc_xprt *xprt, rpc_task *task)
{
	Transport::of(xprt).slots().allocate(task);
}

void rpcordma_client_free_slot(rpc_xprt *xprt, rpc_rqst *rqst)
{
	Transport::of(xprt).slots().free(rqst);
}

int rpcordma_client_buf_alloc(rpc_task *task)
{
	auto &request = client::Request::of(field::rpc_task::tk_rqstp(task));
	return request.lend_buffers(rpc_task_gfp_mask()) ? 0 : -kernel::ENOMEM;
}

void rpcordma_client_buf_free(rpc_task *task)
{
	rpc_rqst *const rqst = field::rpc_task::tk_rqstp(task);
	auto &request = client::Request::of(rqst);
	Transport::of(rqst).outstanding().release(request);
	request.take_buffers();
}

int rpcordma_client_send_request(rpc_rqst *rqst)
{
	return Transport::of(rqst).send(rqst);
}

void rpcordma_client_unanswered(rpc_rqst *rqst, bool timed_out)
{
	Transport::of(rqst).outstanding().unanswered(rqst, timed_out);
}

void rpcordma_client_close(rpc_xprt *xprt)
{
	Transport::of(xprt).connector().close("closed by sunrpc");
}

void rpcordma_client_set_connect_timeout(rpc_xprt *xprt, unsigned long connect, unsigned long reconnect)
{
	Transport::of(xprt).connector().set_timeouts(connect, reconnect);
}

void rpcordma_client_print_stats(rpc_xprt *xprt, seq_file *file)
{
	Transport &transport = Transport::of(xprt);
	transport.statistics().print(file, xprt, transport.connector().registrations_made());
}

void rpcordma_client_inject_disconnect(rpc_xprt *xprt)
{
	/* Of a task that need not have the send lock: another may be closing the connection. */
	if (rpcordma_xprt_connected(xprt))
		Transport::of(xprt).give_up("injected");
}

int rpcordma_client_source_address(rpc_xprt *xprt, char *buffer, size_t size)
{
	return Transport::of(xprt).connector().print_source(buffer, size);
}

unsigned short rpcordma_client_source_port(rpc_xprt *xprt)
{
	return Transport::of(xprt).connector().source_port();
}

int rpcordma_client_bc_setup(rpc_xprt *xprt, unsigned int sessions)
{
	Transport::of(xprt).reverse().open(sessions);
	return 0;
}

size_t rpcordma_client_bc_maxpayload(rpc_xprt *xprt)
{
	/* Of what a peer can send, and take, without chunks. */
	const proto::InlineThresholds thresholds = Transport::of(xprt).connector().thresholds();
	const std::size_t message = std::min<std::size_t>({thresholds.call, thresholds.reply, kernel::page_size});
	/* The version may be another when it is sent. */
	return message - wire::header_size(wire::Version::two, 0, 0, 0);
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
