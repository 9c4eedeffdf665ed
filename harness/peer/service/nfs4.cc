// SPDX-License-Identifier: GPL-2.0-only
//
// NFS version 4.1 (RFC 8881), as a responder speaks it: sessions with their reply caches as the RFC wants them; opens
// given to whoever asks, and no locks.

#include <algorithm>

#include "service/compound.hh"

namespace peer {

const std::map<std::uint32_t, Compound::Known> Compound::OPERATIONS = {
	{OP_ACCESS, {"ACCESS", &Compound::access, 5}},
	{OP_CLOSE, {"CLOSE", &Compound::close, 9}},
	{OP_COMMIT, {"COMMIT", &Compound::commit, 9}},
	{OP_CREATE, {"CREATE", &Compound::create, 9}},
	{OP_DELEGRETURN, {"DELEGRETURN", &Compound::delegreturn, 8}},
	{OP_GETATTR, {"GETATTR", &Compound::getattr, 4}},
	{OP_GETFH, {"GETFH", &Compound::getfh, 3}},
	{OP_LOOKUP, {"LOOKUP", &Compound::lookup, 6}},
	{OP_LOOKUPP, {"LOOKUPP", &Compound::lookupp, 6}},
	{OP_OPEN, {"OPEN", &Compound::open, 9}},
	{OP_OPEN_DOWNGRADE, {"OPEN_DOWNGRADE", &Compound::open_downgrade, 9}},
	{OP_PUTFH, {"PUTFH", &Compound::putfh, 2}},
	{OP_PUTPUBFH, {"PUTPUBFH", &Compound::putrootfh, 2}},
	{OP_PUTROOTFH, {"PUTROOTFH", &Compound::putrootfh, 2}},
	{OP_READ, {"READ", &Compound::read, 9}},
	{OP_READDIR, {"READDIR", &Compound::readdir, 9}},
	{OP_READLINK, {"READLINK", &Compound::readlink, 9}},
	{OP_REMOVE, {"REMOVE", &Compound::remove, 9}},
	{OP_RENAME, {"RENAME", &Compound::rename, 9}},
	{OP_RESTOREFH, {"RESTOREFH", &Compound::restorefh, 2}},
	{OP_SAVEFH, {"SAVEFH", &Compound::savefh, 2}},
	{OP_SECINFO, {"SECINFO", &Compound::secinfo, 7}},
	{OP_SETATTR, {"SETATTR", &Compound::setattr, 8}},
	{OP_WRITE, {"WRITE", &Compound::write, 9}},
	{OP_BIND_CONN_TO_SESSION, {"BIND_CONN_TO_SESSION", &Compound::bind_conn_to_session, 9}},
	{OP_EXCHANGE_ID, {"EXCHANGE_ID", &Compound::exchange_id, 9}},
	{OP_CREATE_SESSION, {"CREATE_SESSION", &Compound::create_session, 9}},
	{OP_DESTROY_SESSION, {"DESTROY_SESSION", &Compound::destroy_session, 9}},
	{OP_FREE_STATEID, {"FREE_STATEID", &Compound::free_stateid, 9}},
	{OP_SECINFO_NO_NAME, {"SECINFO_NO_NAME", &Compound::secinfo_no_name, 7}},
	{OP_SEQUENCE, {"SEQUENCE", &Compound::sequence, 1}},
	{OP_TEST_STATEID, {"TEST_STATEID", &Compound::test_stateid, 9}},
	{OP_DESTROY_CLIENTID, {"DESTROY_CLIENTID", &Compound::destroy_clientid, 9}},
	{OP_RECLAIM_COMPLETE, {"RECLAIM_COMPLETE", &Compound::reclaim_complete, 9}},
};

ProgramResult Compound::serve()
{
	const ByteView tag = in_.opaque("the tag");
	const std::uint32_t minor_version = in_.u32("minorversion");
	const std::uint32_t count = in_.u32("the number of operations");
	if (minor_version != MINOR_VERSION)
		return finish(NFS4ERR_MINOR_VERS_MISMATCH, tag);
	if (count > MOST_OPERATIONS)
		return finish(NFS4ERR_TOO_MANY_OPS, tag);
	NfsStatus status = NFS_OK;
	for (std::uint32_t index = 0; index < count && status == NFS_OK && !cached_; index++)
		status = serve_next(index, count);
	if (cached_)
		return *cached_;
	ProgramResult outcome = finish(status, tag);
	if (slot_)
		slot_->outcome = outcome;
	return outcome;
}

NfsStatus Compound::serve_next(std::uint32_t index, std::uint32_t count)
{
	std::uint32_t operation = OP_ILLEGAL;
	NfsStatus status = NFS_OK;
	path_.clear();
	out_ = {};
	try {
		operation = in_.u32("argop");
		carry_out(operation, index, count);
	} catch (const Failure &failure) {
		status = failure.status;
	} catch (const Malformed &) {
		status = NFS4ERR_BADXDR;
	}
	name(operation);
	done_++;
	results_.u32(status == NFS4ERR_OP_ILLEGAL ? std::uint32_t{OP_ILLEGAL} : operation);
	results_.u32(status);
	if (status == NFS_OK)
		results_.append(out_.payload());
	else if (operation == OP_SETATTR)
		Bitmap().write(results_); // its attrsset is there in any case
	return status;
}

void Compound::carry_out(std::uint32_t operation, std::uint32_t index, std::uint32_t count)
{
	if (const NfsStatus status = check_place(operation, index, count); status != NFS_OK)
		throw Failure{status};
	const auto known = OPERATIONS.find(operation);
	if (known == OPERATIONS.end())
		throw Failure{NFSERR_NOTSUPP};
	if (const File *const file = current_ ? files_.tree().find(*current_) : nullptr)
		path_ = file->path;
	(this->*known->second.serve)();
}

// RFC 8881, 2.10.2.1 and 18.46.3: SEQUENCE comes first, and what makes and ends sessions comes alone.
NfsStatus Compound::check_place(std::uint32_t operation, std::uint32_t index, std::uint32_t count) const
{
	if (operation < FIRST_OPERATION || operation > LAST_OPERATION)
		return NFS4ERR_OP_ILLEGAL;
	const bool alone = operation == OP_EXCHANGE_ID || operation == OP_CREATE_SESSION ||
			   operation == OP_BIND_CONN_TO_SESSION || operation == OP_DESTROY_SESSION ||
			   operation == OP_DESTROY_CLIENTID;
	if (alone)
		return count == 1 ? NFS_OK : NFS4ERR_NOT_ONLY_OP;
	if (operation == OP_SEQUENCE)
		return index == 0 ? NFS_OK : NFS4ERR_SEQUENCE_POS;
	return session_ ? NFS_OK : NFS4ERR_OP_NOT_IN_SESSION;
}

// The weightiest operation, and of several such the last, gives the COMPOUND its name.
void Compound::name(std::uint32_t operation)
{
	const auto known = OPERATIONS.find(operation);
	if (known == OPERATIONS.end() || known->second.weight < weight_)
		return;
	weight_ = known->second.weight;
	name_ = known->second.name;
	named_path_ = path_;
}

ProgramResult Compound::finish(std::uint32_t status, ByteView tag)
{
	ProgramResult outcome;
	ResultWriter xdr;
	xdr.u32(status);
	xdr.opaque(tag);
	xdr.u32(done_);
	xdr.append(results_.payload());
	outcome.results = xdr.payload();
	outcome.operation = name_;
	outcome.path = named_path_;
	return outcome;
}

ProgramResult Nfs4::serve(const CallHeader &call, XdrReader &arguments, std::uint64_t connection,
			  const Settings &settings)
{
	if (call.procedure == PROC_COMPOUND)
		return Compound(*this, arguments, connection, settings).serve();
	ProgramResult outcome;
	if (call.procedure == PROC_NULL)
		outcome.operation = "NULL";
	else
		outcome.header.status = RPC_PROC_UNAVAIL;
	return outcome;
}

void Nfs4::forget(std::uint64_t connection)
{
	std::erase_if(backchannels_,
		      [&](const Service::Backchannel &channel) { return channel.connection == connection; });
}

Nfs4::Client *Nfs4::find_client(std::uint64_t id)
{
	const auto found =
		std::find_if(clients_.begin(), clients_.end(), [&](const Client &client) { return client.id == id; });
	return found == clients_.end() ? nullptr : &*found;
}

Nfs4::Session *Nfs4::find_session(ByteView id)
{
	const auto found = std::find_if(sessions_.begin(), sessions_.end(),
					[&](const Session &session) { return same(session.id, id); });
	return found == sessions_.end() ? nullptr : &*found;
}

Nfs4::Open *Nfs4::find_open(ByteView stateid)
{
	const std::optional<std::uint64_t> number = number_of(stateid);
	const auto found =
		std::find_if(opens_.begin(), opens_.end(), [&](const Open &open) { return open.number == number; });
	return found == opens_.end() ? nullptr : &*found;
}

bool Nfs4::has_backchannel(const Bytes &session) const
{
	return std::any_of(backchannels_.begin(), backchannels_.end(),
			   [&](const Service::Backchannel &channel) { return channel.session == session; });
}

void Nfs4::drop_client(std::uint64_t id)
{
	std::vector<Bytes> doomed;
	for (const Session &session : sessions_)
		if (session.client == id)
			doomed.push_back(session.id);
	for (const Bytes &session : doomed)
		drop_session(session);
	std::erase_if(opens_, [&](const Open &open) { return open.client == id; });
	std::erase_if(delegations_, [&](const Service::Delegation &delegation) { return delegation.client == id; });
	std::erase_if(clients_, [&](const Client &client) { return client.id == id; });
}

void Nfs4::drop_session(const Bytes &id)
{
	std::erase_if(backchannels_, [&](const Service::Backchannel &channel) { return channel.session == id; });
	std::erase_if(sessions_, [&](const Session &session) { return session.id == id; });
}

} // namespace peer
