// SPDX-License-Identifier: GPL-2.0-only

#include <functional>

#include "service/programs.hh"

namespace peer {

namespace {

using Dispatch = std::function<ProgramResult(const CallHeader &call, XdrReader &arguments)>;

ProgramResult mismatch(std::uint32_t lowest, std::uint32_t highest)
{
	ProgramResult outcome;
	outcome.header.status = RPC_PROG_MISMATCH;
	outcome.header.lowest = lowest;
	outcome.header.highest = highest;
	return outcome;
}

ProgramResult refuse(RejectStatus status)
{
	ProgramResult outcome;
	outcome.header.accepted = false;
	outcome.header.status = status;
	outcome.header.lowest = outcome.header.highest = RPC_VERSION;
	outcome.header.auth_status = AUTH_REJECTED_CREDENTIALS;
	return outcome;
}

ProgramResult failed(AcceptStatus status)
{
	ProgramResult outcome;
	outcome.header.status = status;
	return outcome;
}

ProgramResult outcome_of(const CallHeader &call, XdrReader &arguments, const Dispatch &dispatch)
{
	if (call.rpc_version != RPC_VERSION)
		return refuse(RPC_MISMATCH);
	if (!call.known_flavour)
		return refuse(RPC_AUTH_ERROR);
	try {
		return dispatch(call, arguments);
	} catch (const Malformed &) {
		return failed(RPC_GARBAGE_ARGS);
	}
}

Payload whole(ProgramResult &&outcome, std::uint32_t xid)
{
	ResultWriter xdr;
	outcome.header.xid = xid;
	write(xdr, outcome.header);
	xdr.append(outcome.results);
	return xdr.payload();
}

Served serve_by(const Dispatch &dispatch, ByteView stream)
{
	XdrReader xdr(stream);
	Served served;
	served.call = read_call(xdr);
	ProgramResult outcome = outcome_of(served.call, xdr, dispatch);
	served.operation = outcome.operation;
	served.path = outcome.path;
	served.reply = whole(std::move(outcome), served.call.xid);
	return served;
}

} // namespace

struct Service::State {
	explicit State(Tree &served)
		: tree(served)
		, nfs3(served)
		, nfs4(served)
	{
	}

	[[nodiscard]] ProgramResult dispatch(const CallHeader &call, XdrReader &arguments, ByteView stream,
					     std::uint64_t connection)
	{
		if (call.program == MOUNT_PROGRAM)
			return call.version == 3 ? serve_mount(call, arguments, &tree) : mismatch(3, 3);
		if (call.program != NFS_PROGRAM)
			return failed(RPC_PROG_UNAVAIL);
		if (call.version == 3)
			return nfs3.serve(call, arguments, stream, settings);
		if (call.version == 4)
			return nfs4.serve(call, arguments, connection, settings);
		return mismatch(3, 4);
	}

	Tree &tree;
	Settings settings;
	Nfs3 nfs3;
	Nfs4 nfs4;
};

Service::Service(Tree &tree)
	: state_(std::make_unique<State>(tree))
{
}

Service::~Service() = default;

void Service::transfer_size(std::uint32_t bytes)
{
	state_->settings.transfer_size = bytes;
}

void Service::delegations(bool on)
{
	state_->settings.delegations = on;
}

Served Service::serve(ByteView call, std::uint64_t connection)
{
	return serve_by([&](const CallHeader &header,
			    XdrReader &arguments) { return state_->dispatch(header, arguments, call, connection); },
			call);
}

const std::vector<Service::Backchannel> &Service::backchannels() const
{
	return state_->nfs4.backchannels();
}

void Service::forget(std::uint64_t connection)
{
	state_->nfs4.forget(connection);
}

const std::vector<Service::Delegation> &Service::delegated() const
{
	return state_->nfs4.delegations();
}

Bytes serve_mount_alone(ByteView stream)
{
	return serve_by(
		       [](const CallHeader &call, XdrReader &arguments) {
			       if (call.program != MOUNT_PROGRAM)
				       return failed(RPC_PROG_UNAVAIL);
			       return call.version == 3 ? serve_mount(call, arguments, nullptr) : mismatch(3, 3);
		       },
		       stream)
		.reply.stream;
}

} // namespace peer
