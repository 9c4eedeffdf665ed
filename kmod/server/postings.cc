// SPDX-License-Identifier: GPL-2.0-only
#include "server/postings.hh"

#include "kernel/trace.hh"
#include "server/connection.hh"

namespace rpcordma::server {

namespace {

/* The time between two looks, in jiffies, and how many without movement end the connection. */
constexpr unsigned long look_interval = 5 * kernel::HZ;
constexpr std::uint32_t most_idle_looks = 3;

/* Remembers what failed because of what the requester had offered. */
void remember_failure(const verbs::Posting &posting) noexcept
{
	const unsigned int status = posting.failure();
	if (status == kernel::IB_WC_REM_ACCESS_ERR || status == kernel::IB_WC_REM_INV_REQ_ERR ||
	    status == kernel::IB_WC_REM_OP_ERR) [[unlikely]]
		service().remember_failure(posting.transaction);
}

} // namespace

Postings::Postings(Connection &connection) noexcept
	: connection_(connection)
{
	rpcordma_delayed_work_init(looks_.get(), RPCORDMA_WORK_POSTINGS, [](work_struct *work) {
		kernel::owner_of(&Postings::looks_, rpcordma_delayed_work_of(work))->look();
	});
}

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

void Postings::read(verbs::Posting &posting) noexcept
{
	reads_.add(1);
	watch();
	put(posting);
}

void Postings::was_read(verbs::Posting &posting) noexcept
{
	reads_.sub(1);
	done(posting);
}

/* In place of a thread, the connection waits, for a limited time. */
void Postings::posting_waits(wire::Xid xid) noexcept
{
	rpcordma_svc_count(RPCORDMA_SVC_SEND_WAITS);
	connection_.tallies().waits.count("send queue");
	rpcordma_trace_send_waits(connection_.peer(), static_cast<u32>(xid));
	watch();
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

/* Changes nothing where a look is to come already. */
void Postings::watch() noexcept
{
	(void)rpcordma_queue_delayed_work(looks_.get(), look_interval);
}

/* One at a time. */
void Postings::look() noexcept
{
	const bool has_moved = has_moved_.xchg(false);
	const bool is_owed = is_crowded() || reads_.read() != 0;
	idle_looks_ = is_owed && !has_moved ? idle_looks_ + 1 : 0;
	if (idle_looks_ >= most_idle_looks)
		connection_.endpoint().lose("send queue", "nothing completes");
	else if (is_owed)
		watch();
}

void Postings::clear() noexcept
{
	cancel_delayed_work_sync(looks_.get());
	outbox_.clear();
}

} // namespace rpcordma::server
