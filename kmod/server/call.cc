// SPDX-License-Identifier: GPL-2.0-only
#include "server/call.hh"

#include <algorithm>

#include "kernel/trace.hh"
#include "proto/eligibility.hh"
#include "server/connection.hh"

namespace rpcordma::server {

namespace field = kernel::field;

namespace {

/* The most segments of one kind that a Call may have: enough for 1 MiB in pieces of one page, or for 4 MiB in pieces of
 * four. */
constexpr std::uint32_t most_segments = 260;

} // namespace

Calls::Calls(Connection &connection) noexcept
	: connection_(connection)
	, backlog_(connection)
{
}

int Calls::receive(svc_rqst *rqst) noexcept
{
	/* Nothing of what the thread holds is part of a Reply yet. */
	rpcordma_svc_pages_reset(rqst);
	field::svc_rqst::rq_xprt_ctxt(rqst) = nullptr;

	const kernel::Visit visit(connection_.gate());
	const Backlog::Work work = visit ? backlog_.next() : Backlog::Work{};
	svc_xprt_received(connection_.xprt());
	if (!work.is_any())
		return 0;
	const int size = work.pulled  ? deliver(*work.pulled, rqst) :
			 work.waiting ? pull(*work.waiting, rqst) :
					take(*work.arrived, rqst);
	if (!field::svc_rqst::rq_xprt_ctxt(rqst))
		backlog_.leave();
	return size;
}

int Calls::take(verbs::ReceiveBuffer &buffer, svc_rqst *rqst) noexcept
{
	RPCORDMA_NOT_ZEROED const proto::Arrival arrival =
		proto::classify_arrival(buffer.message(), connection_.highest_version());

	if (const auto *const call = std::get_if<proto::Call>(&arrival)) [[likely]]
		return take(*call, buffer, rqst);
	if (const auto *const refused = std::get_if<proto::Refused>(&arrival)) {
		connection_.refused(name_of(refused->with));
		connection_.replies().refuse(*refused, true);
		connection_.endpoint().receives().give_back(buffer);
		return 0;
	}
	if (const auto *const option = std::get_if<proto::Option>(&arrival))
		return take(*option, buffer);
	const auto *const ignored = std::get_if<proto::Ignored>(&arrival);
	if (ignored && *ignored == proto::Ignored::error_message)
		proto::tell_of_refusal(buffer.message());
	connection_.tallies().received(proto::refusal_in(buffer.message()));
	const char *const reason = name_of(ignored ? *ignored : proto::Ignored::reply);
	rpcordma_trace_message_dropped(connection_.peer(), static_cast<u32>(buffer.message().size()), reason);
	connection_.refused(reason);
	backlog_.dismiss(buffer);
	return 0;
}

int Calls::take(const proto::Option &option, verbs::ReceiveBuffer &buffer) noexcept
{
	if (option.message.direction == wire::Direction::reply) {
		option.feature->take(option.xid, option.message);
		backlog_.dismiss(buffer);
	} else {
		connection_.replies().answer(option);
		connection_.endpoint().receives().give_back(buffer);
	}
	return 0;
}

int Calls::take(const proto::Call &message, verbs::ReceiveBuffer &buffer, svc_rqst *rqst) noexcept
{
	verbs::Endpoint &endpoint = connection_.endpoint();
	ServedCall *const call = backlog_.make_call(message, buffer);
	if (!call) {
		backlog_.dismiss(buffer);
		endpoint.lose("memory", "for a call");
		return 0;
	}
	const wire::Chunks &chunks = call->call.chunks;
	if (!chunks.reads.empty() && endpoint.id().reads() == 0)
		return refuse(*call, "no RDMA Reads are offered");
	const proto::CallLimits limits{
		.stream = field::svc_serv::sv_max_mesg(field::svc_xprt::xpt_server(connection_.xprt())),
		.segments = std::min(most_segments, endpoint.capacity().read_segments),
		.room_segments = most_segments,
		.reply_threshold = endpoint.agreement().terms(message.version).thresholds.reply,
		.eligible_only = true,
	};
	const auto assembly = proto::Assembly::of(call->call, limits);
	if (!assembly)
		return refuse(*call, name_of(assembly.error()));
	connection_.spoken(message.version);
	rpcordma_trace_call_received(connection_.peer(), static_cast<u32>(call->call.xid), name_of(assembly->shape()),
				     call->call.credits, static_cast<u32>(call->call.payload.size()),
				     chunks.reads.count(), assembly->size());
	if (chunks.any()) {
		call->transaction = proto::transaction_of(connection_.requester(), call->call, buffer.message());
		if (service().has_failed(call->transaction))
			return refuse(*call, "failed before");
	}
	call->assembly = *assembly;
	if (assembly->shape() == proto::CallShape::in_message)
		return present(*call,
			       {.head = call->payload(), .head_length = static_cast<u32>(call->call.payload.size())},
			       rqst);
	return pull(*call, rqst);
}

int Calls::present(ServedCall &call, const Arguments &stream, svc_rqst *rqst) noexcept
{
	const u32 size = stream.head_length + stream.page_length + stream.tail_length;
	xdr_buf &arguments = field::svc_rqst::rq_arg(rqst);
	field::xdr_buf::head(&arguments) = stream.head;
	field::xdr_buf::head_length(&arguments) = stream.head_length;
	/* Else those that sunrpc has prepared: nfsd looks at the first whether or not there is something in it. */
	if (stream.pages)
		field::xdr_buf::pages(&arguments) = stream.pages;
	field::xdr_buf::page_base(&arguments) = 0;
	field::xdr_buf::page_len(&arguments) = stream.page_length;
	field::xdr_buf::tail(&arguments) = stream.tail;
	field::xdr_buf::tail_length(&arguments) = stream.tail_length;
	field::xdr_buf::buflen(&arguments) = size;
	field::xdr_buf::len(&arguments) = size;

	call.is_served = true;
	call.may_reduce = !call.call.chunks.writes.empty() && proto::Eligibility(stream.front()).may_reduce_results();
	field::svc_rqst::rq_xprt_ctxt(rqst) = &call;
	/* Neither TCP nor UDP. */
	field::svc_rqst::rq_prot(rqst) = kernel::IPPROTO_MAX;
	svc_xprt_copy_addrs(rqst, connection_.xprt());
	connection_.judge_port(rqst);
	return static_cast<int>(size);
}

int Calls::refuse(ServedCall &call, const char *reason) noexcept
{
	connection_.replies().refuse(call, reason);
	backlog_.release(call);
	return 0;
}

} // namespace rpcordma::server
