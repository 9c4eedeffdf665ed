// SPDX-License-Identifier: GPL-2.0-only
#include "server/backlog.hh"

#include <algorithm>
#include <utility>

#include "server/connection.hh"

namespace rpcordma::server {

namespace field = kernel::field;

namespace {

/* How many threads one connection's Calls may take of the service's: never all of several. */
std::uint32_t share_of(std::uint32_t threads) noexcept
{
	return std::max<std::uint32_t>(threads - std::max<std::uint32_t>(threads / 8, 1), 1);
}

} // namespace

Backlog::Backlog(Connection &connection) noexcept
	: connection_(connection)
{
}

void Backlog::begin(std::uint32_t most_credits, std::uint32_t most_reading) noexcept
{
	kernel::Guard guard(lock_);
	grants_ = proto::Grants(most_credits);
	most_reading_ = most_reading;
}

bool Backlog::arrived(verbs::ReceiveBuffer &buffer) noexcept
{
	bool is_granted;
	std::uint32_t receives;
	{
		kernel::Guard guard(lock_);
		is_granted = grants_.arrived();
		received_++;
		arrived_.push_back(buffer);
		rpcordma_svc_set_data(connection_.xprt(), wants_thread());
		receives = receives_needed();
	}
	if (is_granted)
		provide(receives);
	return is_granted;
}

void Backlog::keep_receives() noexcept
{
	std::uint32_t receives;
	{
		kernel::Guard guard(lock_);
		receives = receives_needed();
	}
	provide(receives);
}

/* Replies see to enough Receives; this, to those that are used up while no Reply is sent. */
void Backlog::provide(std::uint32_t receives) noexcept
{
	(void)connection_.endpoint().receives().provide(receives, spare_receives, kernel::GFP_ATTEMPT);
}

/* What has come furthest goes first. Nothing goes where its Reply would have to wait, or a thread too many would be taken. */
Backlog::Work Backlog::next() noexcept
{
	kernel::Guard guard(lock_);
	Work work;
	if (!connection_.postings().is_crowded() && wants_thread()) {
		work.pulled = pulled_.pop_front();
		if (!work.pulled && may_read())
			work.waiting = waiting_.pop_front();
		if (!work.pulled && !work.waiting)
			work.arrived = arrived_.pop_front();
		threads_++;
	}
	rpcordma_svc_set_data(connection_.xprt(), wants_thread());
	return work;
}

/* Whether a thread is to come: not where there is nothing to do, nor where as many as the connection's share work for it. sunrpc
 * starts more threads only where Calls find none idle: until as many run as there may be, the share is all of them. */
bool Backlog::wants_thread() noexcept
{
	if (arrived_.empty() && pulled_.empty() && (waiting_.empty() || !may_read()))
		return false;
	svc_serv *const service = field::svc_xprt::xpt_server(connection_.xprt());
	const std::uint32_t running = kernel::read_once(field::svc_serv::sv_nrthreads(service));
	lacks_thread_ = threads_ >= share_of(running) &&
			(threads_ >= running || !rpcordma_svc_may_start_threads(service));
	return !lacks_thread_;
}

void Backlog::leave() noexcept
{
	bool is_wanted;
	{
		kernel::Guard guard(lock_);
		is_wanted = leave_locked();
	}
	if (is_wanted)
		svc_xprt_enqueue(connection_.xprt());
}

bool Backlog::leave_locked() noexcept
{
	threads_--;
	return may_have_thread();
}

/* Whether a thread is to come for what was left lying: the connection has one less than before, or the service more. */
bool Backlog::may_have_thread() noexcept
{
	if (!lacks_thread_) [[likely]]
		return false;
	const bool is_wanted = wants_thread();
	rpcordma_svc_set_data(connection_.xprt(), is_wanted);
	return is_wanted;
}

ServedCall *Backlog::make_call(const proto::Call &message, verbs::ReceiveBuffer &buffer) noexcept
{
	ServedCall *call;
	{
		kernel::Guard guard(lock_);
		grants_.requested(message.credits);
		traffic_.inline_received += message.payload.size();
		call = free_calls_.take();
	}
	if (!call)
		call = new (kernel::GFP_KERNEL) ServedCall(connection_);
	if (!call)
		return nullptr;
	call->message = &buffer;
	call->call = message;
	call->items.clear();
	call->is_outstanding = true;
	call->is_served = false;
	return call;
}

void Backlog::release(ServedCall &call) noexcept
{
	connection_.endpoint().receives().give_back(*call.message);
	bool is_wanted = false;
	{
		kernel::Guard guard(lock_);
		if (call.is_outstanding)
			grants_.done();
		if (call.is_served)
			is_wanted = leave_locked();
		free_calls_.put(call);
	}
	if (is_wanted)
		svc_xprt_enqueue(connection_.xprt());
}

void Backlog::dismiss(verbs::ReceiveBuffer &buffer) noexcept
{
	connection_.endpoint().receives().give_back(buffer);
	kernel::Guard guard(lock_);
	grants_.done();
}

Pull *Backlog::make_pull(ServedCall &call) noexcept
{
	Pull *pull;
	{
		kernel::Guard guard(lock_);
		pull = free_pulls_.take();
	}
	if (!pull)
		pull = new (kernel::GFP_KERNEL) Pull([](verbs::Signal &signal) noexcept {
			Pull &done = static_cast<Pull &>(signal);
			done.call->owner.calls().pulled(done);
		});
	if (!pull)
		return nullptr;
	pull->call = &call;
	pull->xid = call.call.xid;
	pull->transaction = call.transaction;
	return pull;
}

bool Backlog::begin_read(Pull &pull) noexcept
{
	{
		kernel::Guard guard(lock_);
		if (may_read()) {
			reading_.push_back(pull);
			reading_bytes_ += pull.call->assembly.filled();
			return true;
		}
		waiting_.push_back(*pull.call);
		free_pulls_.put(pull);
	}
	connection_.tallies().waits.count("turn to be read");
	return false;
}

void Backlog::pulled(Pull &pull) noexcept
{
	kernel::Guard guard(lock_);
	reading_.remove(pull);
	reading_bytes_ -= pull.call->assembly.filled();
	traffic_.read_chunks += pull.moved;
	pulled_.push_back(pull);
	rpcordma_svc_set_data(connection_.xprt(), wants_thread());
}

void Backlog::keep(Pull &pull) noexcept
{
	kernel::Guard guard(lock_);
	free_pulls_.put(pull);
}

std::uint32_t Backlog::settle(bool is_outstanding, const Answer *answer) noexcept
{
	const std::int64_t taken = answer ? ktime_get() - answer->call.message->arrived_at : 0;
	std::uint32_t credits;
	std::uint32_t receives;
	bool is_news;
	{
		kernel::Guard guard(lock_);
		if (is_outstanding)
			grants_.done();
		credits = grants_.next();
		sent_++;
		if (answer)
			count(*answer, taken);
		receives = grants_.receives_for(credits) + least_spare;
		is_news = credits != grants_.in_force();
	}
	const bool is_covered =
		connection_.endpoint().receives().provide(receives, spare_receives, kernel::GFP_KERNEL) >= receives;
	/* What is in force stays so, covered or not. */
	if (!is_news)
		return credits;
	kernel::Guard guard(lock_);
	if (is_covered)
		grants_.announced(credits);
	return grants_.in_force();
}

void Backlog::count(const Answer &answer, std::int64_t taken) noexcept
{
	latencies_.record(taken);
	traffic_.inline_sent += answer.inline_size;
	if (answer.written)
		traffic_.written += *answer.written;
}

bool Backlog::trim() noexcept
{
	kernel::List<ServedCall> calls;
	kernel::List<Pull> pulls;
	bool is_more;
	bool is_wanted;
	{
		kernel::Guard guard(lock_);
		/* Nobody tells of the service's new threads. */
		is_wanted = may_have_thread();
		is_more = grants_.look_back();
		is_more |= free_calls_.give_up(calls);
		/* Each keeps as many pages as its largest Call had. */
		is_more |= free_pulls_.give_up(pulls, 0);
	}
	calls.delete_all();
	pulls.delete_all();
	if (is_wanted)
		svc_xprt_enqueue(connection_.xprt());
	return is_more;
}

std::uint32_t Backlog::clear() noexcept
{
	kernel::Guard guard(lock_);
	while (verbs::ReceiveBuffer *const buffer = arrived_.pop_front())
		connection_.endpoint().receives().give_back(*buffer);
	for (auto *const list : {&reading_, &pulled_}) {
		while (Pull *const pull = list->pop_front()) {
			waiting_.push_back(*pull->call);
			connection_.postings().finish(pull->transfers);
			delete pull;
		}
	}
	while (ServedCall *const call = waiting_.pop_front()) {
		connection_.endpoint().receives().give_back(*call->message);
		delete call;
	}
	return grants_.outstanding();
}

} // namespace rpcordma::server
