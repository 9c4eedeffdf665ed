// SPDX-License-Identifier: GPL-2.0-only
#include "server/postings.hh"

#include "kernel/trace.hh"
#include "server/connection.hh"

namespace rpcordma::server {

namespace {

/* Remembers what failed because of what the requester had offered. */
void remember_failure(const verbs::Posting &posting) noexcept
{
	const unsigned int status = posting.failure();
	if (status == kernel::IB_WC_REM_ACCESS_ERR || status == kernel::IB_WC_REM_INV_REQ_ERR ||
	    status == kernel::IB_WC_REM_OP_ERR) [[unlikely]]
		service().remember_failure(posting.transaction);
}

} // namespace

void Postings::begin() noexcept
{
	verbs::Endpoint &endpoint = connection_.endpoint();
	qp_ = endpoint.id().queue_pair();
	port_ = endpoint.id().port();
	endpoint.sends().begin_slow_start();
	outbox_.attach(endpoint.sends());
}

void Postings::done(verbs::Posting &posting) noexcept
{
	remember_failure(posting);
	transfers_.finish(posting.transfers);
}

/* In place of a thread, the connection waits, for a limited time. */
void Postings::posting_waits(wire::Xid xid) noexcept
{
	rpcordma_svc_count(RPCORDMA_SVC_SEND_WAITS);
	connection_.tallies().waits.count("send queue");
	rpcordma_trace_send_waits(connection_.peer(), static_cast<u32>(xid));
}

/* Calls of the reverse direction have given way, and Calls were left lying. */
void Postings::outbox_is_empty() noexcept
{
	connection_.reverse().room();
	svc_xprt_enqueue(connection_.xprt());
}

void Postings::posted_in_part(const verbs::Posting &posting) noexcept
{
	remember_failure(posting);
}

void Postings::not_prepared() noexcept
{
	connection_.endpoint().lose("memory", "for RDMA Reads or Writes");
}

} // namespace rpcordma::server
