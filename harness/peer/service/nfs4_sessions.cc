// SPDX-License-Identifier: GPL-2.0-only
//
// Clients and sessions (RFC 8881, section 2.10): from EXCHANGE_ID to DESTROY_CLIENTID.

#include <algorithm>

#include "service/compound.hh"

namespace peer {

namespace {

// What a channel of a session may carry.
struct Channel {
	std::uint32_t padding = 0;
	std::uint32_t longest_request = 0;
	std::uint32_t longest_reply = 0;
	std::uint32_t longest_cached = 0;
	std::uint32_t operations = 0;
	std::uint32_t requests = 0;
};

Channel read_channel(XdrReader &xdr)
{
	Channel channel;
	channel.padding = xdr.u32("ca_headerpadsize");
	channel.longest_request = xdr.u32("ca_maxrequestsize");
	channel.longest_reply = xdr.u32("ca_maxresponsesize");
	channel.longest_cached = xdr.u32("ca_maxresponsesize_cached");
	channel.operations = xdr.u32("ca_maxoperations");
	channel.requests = xdr.u32("ca_maxrequests");
	if (const std::uint32_t depths = xdr.u32("the length of ca_rdma_ird"); depths > 1)
		throw Malformed("ca_rdma_ird has " + std::to_string(depths) +
				" elements, where at most one is allowed");
	else
		xdr.skip(4 * depths, "ca_rdma_ird");
	return channel;
}

void write_channel(XdrWriter &xdr, const Channel &channel)
{
	xdr.u32(0); // no padding
	xdr.u32(channel.longest_request);
	xdr.u32(channel.longest_reply);
	xdr.u32(channel.longest_cached);
	xdr.u32(channel.operations);
	xdr.u32(channel.requests);
	xdr.u32(0); // no ca_rdma_ird
}

void skip_callback_security(XdrReader &xdr)
{
	for (std::uint32_t left = xdr.u32("the length of csa_sec_parms"); left > 0; left--) {
		const std::uint32_t flavour = xdr.u32("cb_secflavor");
		switch (flavour) {
		case AUTH_NONE_FLAVOUR:
			break;
		case AUTH_SYS_FLAVOUR:
			xdr.skip(4, "stamp");
			static_cast<void>(xdr.opaque("machinename"));
			xdr.skip(8, "uid and gid");
			for (std::uint32_t groups = xdr.u32("the number of gids"); groups > 0; groups--)
				xdr.skip(4, "gids");
			break;
		case RPCSEC_GSS_FLAVOUR:
			xdr.skip(4, "gcbp_service");
			static_cast<void>(xdr.opaque("gcbp_handle_from_server"));
			static_cast<void>(xdr.opaque("gcbp_handle_from_client"));
			break;
		default:
			throw Malformed("cb_secflavor is " + std::to_string(flavour));
		}
	}
}

} // namespace

// RFC 8881, 2.10.6.1: a slot's next number is a new request, its last one a request that is made again.
void Compound::sequence()
{
	constexpr std::uint32_t CALLBACK_PATH_DOWN = 1;
	constexpr std::uint32_t CALLBACK_PATH_OF_SESSION_DOWN = 0x200;
	const ByteView id = in_.fixed(SESSION_ID, "sa_sessionid");
	const std::uint32_t number = in_.u32("sa_sequenceid");
	const std::uint32_t slot = in_.u32("sa_slotid");
	in_.skip(4, "sa_highest_slotid");
	static_cast<void>(in_.boolean("sa_cachethis"));

	Nfs4::Session *const session = program_.find_session(id);
	if (!session)
		throw Failure{NFS4ERR_BADSESSION};
	if (slot >= session->slots.size())
		throw Failure{NFS4ERR_BADSLOT};
	Nfs4::Slot &its = session->slots[slot];
	if (number == its.sequence && its.outcome) {
		cached_ = its.outcome;
		return;
	}
	if (number != its.sequence + 1)
		throw Failure{NFS4ERR_SEQ_MISORDERED};
	session_ = session;
	slot_ = &its;
	its.sequence = number;
	its.outcome.reset();

	const auto last = static_cast<std::uint32_t>(session->slots.size() - 1);
	const bool path_down = session->wants_backchannel && !program_.has_backchannel(session->id);
	out_.fixed(session->id);
	out_.u32(number);
	out_.u32(slot);
	out_.u32(last); // the highest slot
	out_.u32(last); // and the one to aim at
	out_.u32(path_down ? CALLBACK_PATH_DOWN | CALLBACK_PATH_OF_SESSION_DOWN : 0);
}

void Compound::exchange_id()
{
	constexpr std::uint32_t SP4_NONE = 0;
	constexpr std::uint32_t WITHOUT_PNFS = 0x00010000;
	constexpr std::uint32_t CONFIRMED = 0x80000000;
	const std::uint64_t verifier = in_.u64("eia_verifier");
	const ByteView owner = in_.opaque("eia_clientowner");
	in_.skip(4, "eia_flags");
	if (in_.u32("eia_state_protect") != SP4_NONE)
		throw Failure{NFSERR_INVAL};

	Nfs4::Client *client = nullptr;
	for (Nfs4::Client &known : program_.clients_)
		if (same(known.owner, owner))
			client = &known;
	if (client && client->verifier != verifier) {
		program_.drop_client(client->id);
		client = nullptr;
	}
	if (!client) {
		if (program_.clients_.size() == MOST_CLIENTS)
			program_.drop_client(program_.clients_.front().id);
		client = &program_.clients_.emplace_back();
		client->id = program_.next_++;
		client->owner = bytes_of(owner);
		client->verifier = verifier;
	}
	out_.u64(client->id);
	out_.u32(client->sequence + 1);
	out_.u32(WITHOUT_PNFS | (client->confirmed ? CONFIRMED : 0));
	out_.u32(SP4_NONE);
	out_.u64(0); // so_minor_id
	out_.string("rpcordma-peer"); // so_major_id
	out_.string("rpcordma-peer"); // eir_server_scope
	out_.u32(0); // no eir_server_impl_id
}

void Compound::create_session()
{
	constexpr std::uint32_t CONNECT_BACK_CHANNEL = 2;
	constexpr std::uint32_t LONGEST_MESSAGE = 2 << 20;
	const std::uint64_t id = in_.u64("csa_clientid");
	const std::uint32_t number = in_.u32("csa_sequence");
	const std::uint32_t flags = in_.u32("csa_flags");
	Channel fore = read_channel(in_);
	const Channel back = read_channel(in_);
	const std::uint32_t callback_program = in_.u32("csa_cb_program");
	skip_callback_security(in_);

	Nfs4::Client *const client = program_.find_client(id);
	if (!client)
		throw Failure{NFS4ERR_STALE_CLIENTID};
	if (number == client->sequence && !client->created.empty())
		return out_.fixed(client->created);
	if (number != client->sequence + 1)
		throw Failure{NFS4ERR_SEQ_MISORDERED};
	if (fore.requests == 0 || fore.operations == 0)
		throw Failure{NFSERR_INVAL};
	client->sequence = number;
	client->confirmed = true;

	fore.requests = std::min(fore.requests, MOST_SLOTS);
	fore.operations = std::min(fore.operations, MOST_OPERATIONS);
	fore.longest_request = std::min(fore.longest_request, LONGEST_MESSAGE);
	fore.longest_reply = std::min(fore.longest_reply, LONGEST_MESSAGE);
	if (program_.sessions_.size() == MOST_SESSIONS)
		program_.drop_session(Bytes(program_.sessions_.front().id));
	Nfs4::Session &session = program_.sessions_.emplace_back();
	XdrWriter made;
	made.u64(id);
	made.u64(program_.next_++);
	session.id = made.take();
	session.client = id;
	session.slots.resize(fore.requests);
	session.wants_backchannel = flags & CONNECT_BACK_CHANNEL;
	session.callback_program = callback_program;
	if (session.wants_backchannel)
		program_.backchannels_.push_back({connection_, callback_program, session.id});

	out_.fixed(session.id);
	out_.u32(number);
	out_.u32(flags & CONNECT_BACK_CHANNEL);
	write_channel(out_, fore);
	write_channel(out_, back);
	const Payload result = out_.payload();
	client->created = result.stream;
	out_.append(result);
}

void Compound::bind_conn_to_session()
{
	enum Direction : std::uint32_t { FORE = 1, BACK = 2, BOTH = 3, BACK_OR_BOTH = 7 };
	const ByteView id = in_.fixed(SESSION_ID, "bctsa_sessid");
	const std::uint32_t direction = in_.u32("bctsa_dir");
	static_cast<void>(in_.boolean("bctsa_use_conn_in_rdma_mode"));
	Nfs4::Session *const session = program_.find_session(id);
	if (!session)
		throw Failure{NFS4ERR_BADSESSION};
	if (direction != FORE && direction != BACK && direction != BOTH && direction != BACK_OR_BOTH)
		throw Failure{NFSERR_INVAL};
	if (direction != FORE) {
		session->wants_backchannel = true;
		std::erase_if(program_.backchannels_, [&](const Service::Backchannel &channel) {
			return channel.connection == connection_ && channel.session == session->id;
		});
		program_.backchannels_.push_back({connection_, session->callback_program, session->id});
	}
	out_.fixed(session->id);
	out_.u32(direction == BACK_OR_BOTH ? std::uint32_t{BOTH} : direction);
	out_.boolean(false);
}

void Compound::destroy_session()
{
	const Bytes id = bytes_of(in_.fixed(SESSION_ID, "dsa_sessionid"));
	if (!program_.find_session(id))
		throw Failure{NFS4ERR_BADSESSION};
	program_.drop_session(id);
}

void Compound::destroy_clientid()
{
	const std::uint64_t id = in_.u64("dca_clientid");
	if (!program_.find_client(id))
		throw Failure{NFS4ERR_STALE_CLIENTID};
	for (const Nfs4::Session &session : program_.sessions_)
		if (session.client == id)
			throw Failure{NFS4ERR_CLIENTID_BUSY};
	program_.drop_client(id);
}

void Compound::reclaim_complete()
{
	static_cast<void>(in_.boolean("rca_one_fs"));
}

} // namespace peer
