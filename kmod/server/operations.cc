// SPDX-License-Identifier: GPL-2.0-only
/* Where sunrpc enters: its operations on listeners and connections. */
#include "server/operations.h"
#include "server/connection.hh"
#include "server/listener.hh"

using namespace rpcordma;
using server::Connection;
using server::Listener;
namespace field = kernel::field;

svc_xprt *rpcordma_server_create(svc_xprt_class *xprt_class, svc_serv *server, net *network, sockaddr *address)
{
	return Listener::create(xprt_class, server, network, address);
}

svc_xprt *rpcordma_server_accept(svc_xprt *xprt)
{
	return Listener::of(xprt).accept();
}

void rpcordma_server_detach_listener(svc_xprt *xprt)
{
	Listener::of(xprt).detach();
}

void rpcordma_server_free_listener(svc_xprt *xprt)
{
	delete &Listener::of(xprt);
}

int rpcordma_server_recvfrom(svc_rqst *rqst)
{
	return Connection::of(field::svc_rqst::rq_xprt(rqst)).calls().receive(rqst);
}

void rpcordma_server_judge_port(svc_rqst *rqst)
{
	Connection::of(field::svc_rqst::rq_xprt(rqst)).judge_port(rqst);
}

int rpcordma_server_sendto(svc_rqst *rqst)
{
	Connection &connection = Connection::of(field::svc_rqst::rq_xprt(rqst));
	const int error = connection.replies().send(rqst);
	connection.forget_port(rqst);
	return error;
}

int rpcordma_server_result_payload(svc_rqst *rqst, unsigned int offset, unsigned int length)
{
	server::Replies::add_item(rqst, {offset, length});
	/* Not every upper layer can take back what it has encoded: a result that cannot be sent is seen to with its Reply. */
	return 0;
}

void rpcordma_server_release_context(svc_xprt *xprt, void *context)
{
	if (context)
		Connection::of(xprt).calls().backlog().release(*static_cast<server::ServedCall *>(context));
}

void rpcordma_server_detach(svc_xprt *xprt)
{
	Connection::of(xprt).detach();
}

void rpcordma_server_free(svc_xprt *xprt)
{
	delete &Connection::of(xprt);
}

int rpcordma_server_has_room(svc_xprt *xprt)
{
	/* sunrpc has cleared a bit that outbox_is_empty() has it look at. */
	kernel::smp_mb_after_atomic();
	return !Connection::of(xprt).postings().is_crowded();
}

rpc_xprt *rpcordma_server_reverse_setup(xprt_create *args, const rpcordma_xprt_kind *kind)
{
	return server::ReverseRequester::open(args, kind);
}

int rpcordma_server_reverse_buf_alloc(rpc_task *task)
{
	return server::ReverseRequester::allocate(field::rpc_task::tk_rqstp(task));
}

void rpcordma_server_reverse_buf_free(rpc_task *task)
{
	kfree(field::rpc_rqst::rq_buffer(field::rpc_task::tk_rqstp(task)));
}

int rpcordma_server_reverse_send(rpc_rqst *rqst)
{
	return server::ReverseRequester::send(rqst);
}
