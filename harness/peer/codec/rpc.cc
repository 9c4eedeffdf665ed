// SPDX-License-Identifier: GPL-2.0-only

#include "codec/rpc.hh"

namespace peer {

namespace {

enum MessageType : std::uint32_t { CALL = 0, REPLY = 1 };
enum ReplyState : std::uint32_t { ACCEPTED = 0, DENIED = 1 };
enum Flavour : std::uint32_t { AUTH_NONE = 0, AUTH_SYS = 1 };

constexpr std::size_t LONGEST_AUTH_BODY = 400; // RFC 5531, 8.2
constexpr std::string_view MACHINE = "rpcordma-peer";

void write_none(XdrWriter &xdr)
{
	xdr.u32(AUTH_NONE);
	xdr.u32(0);
}

// RFC 5531, appendix A.
void write_root(XdrWriter &xdr)
{
	XdrWriter body;
	body.u32(0); // stamp
	body.string(MACHINE);
	body.u32(0); // uid
	body.u32(0); // gid
	body.u32(0); // no further groups
	xdr.u32(AUTH_SYS);
	xdr.opaque(body.take());
}

std::uint32_t read_auth(XdrReader &xdr, std::string_view field)
{
	const std::uint32_t flavour = xdr.u32(field);
	if (xdr.opaque(field).size() > LONGEST_AUTH_BODY)
		throw Malformed(std::string(field) + " is longer than 400 bytes");
	return flavour;
}

void read_versions(XdrReader &xdr, ReplyHeader &reply)
{
	reply.lowest = xdr.u32("the lowest version");
	reply.highest = xdr.u32("the highest version");
}

} // namespace

Bytes restore(ByteView reduced, const Item &item, ByteView data)
{
	if (data.size() != item.length)
		throw Malformed("the chunk holds " + std::to_string(data.size()) + " bytes, and the item's length is " +
				std::to_string(item.length));
	if (item.offset > reduced.size())
		throw Malformed("the stream ends before its item");
	Bytes whole(reduced.begin(), reduced.end());
	const auto at =
		whole.insert(whole.begin() + static_cast<std::ptrdiff_t>(item.offset), data.begin(), data.end());
	whole.insert(at + static_cast<std::ptrdiff_t>(data.size()), roundup_of(data.size()), 0);
	return whole;
}

void write(XdrWriter &xdr, const CallHeader &call)
{
	xdr.u32(call.xid);
	xdr.u32(CALL);
	xdr.u32(call.rpc_version);
	xdr.u32(call.program);
	xdr.u32(call.version);
	xdr.u32(call.procedure);
	if (call.auth_sys)
		write_root(xdr);
	else
		write_none(xdr);
	write_none(xdr); // the verifier
}

void write(XdrWriter &xdr, const ReplyHeader &reply)
{
	xdr.u32(reply.xid);
	xdr.u32(REPLY);
	xdr.u32(reply.accepted ? ACCEPTED : DENIED);
	if (reply.accepted)
		write_none(xdr); // the verifier
	xdr.u32(reply.status);
	if (reply.status == (reply.accepted ? std::uint32_t{RPC_PROG_MISMATCH} : std::uint32_t{RPC_MISMATCH})) {
		xdr.u32(reply.lowest);
		xdr.u32(reply.highest);
	} else if (!reply.accepted) {
		xdr.u32(reply.auth_status);
	}
}

CallHeader read_call(XdrReader &xdr)
{
	CallHeader call;
	call.xid = xdr.u32("the RPC message's XID");
	if (const std::uint32_t type = xdr.u32("msg_type"); type != CALL)
		throw Malformed("msg_type is " + std::to_string(type) + " where a Call has 0");
	call.rpc_version = xdr.u32("rpcvers");
	if (call.rpc_version != RPC_VERSION)
		return call;
	call.program = xdr.u32("the program");
	call.version = xdr.u32("the program's version");
	call.procedure = xdr.u32("the procedure");
	const std::uint32_t flavour = read_auth(xdr, "the Call's credentials");
	call.auth_sys = flavour == AUTH_SYS;
	call.known_flavour = flavour == AUTH_SYS || flavour == AUTH_NONE;
	read_auth(xdr, "the Call's verifier");
	return call;
}

ReplyHeader read_reply(XdrReader &xdr)
{
	ReplyHeader reply;
	reply.xid = xdr.u32("the RPC message's XID");
	if (const std::uint32_t type = xdr.u32("msg_type"); type != REPLY)
		throw Malformed("msg_type is " + std::to_string(type) + " where a Reply has 1");
	const std::uint32_t state = xdr.u32("reply_stat");
	if (state != ACCEPTED && state != DENIED)
		throw Malformed("reply_stat is " + std::to_string(state) + ", where only 0 and 1 are defined");
	reply.accepted = state == ACCEPTED;
	if (reply.accepted) {
		read_auth(xdr, "the Reply's verifier");
		reply.status = xdr.u32("accept_stat");
		if (reply.status > RPC_SYSTEM_ERR)
			throw Malformed("accept_stat is " + std::to_string(reply.status) +
					", where 0 to 5 are defined");
		if (reply.status == RPC_PROG_MISMATCH)
			read_versions(xdr, reply);
		return reply;
	}
	reply.status = xdr.u32("reject_stat");
	if (reply.status == RPC_MISMATCH)
		read_versions(xdr, reply);
	else if (reply.status == RPC_AUTH_ERROR)
		reply.auth_status = xdr.u32("auth_stat");
	else
		throw Malformed("reject_stat is " + std::to_string(reply.status) + ", where only 0 and 1 are defined");
	return reply;
}

std::optional<bool> is_call(ByteView stream) noexcept
{
	constexpr std::size_t TYPE = 4;
	if (stream.size() < TYPE + 4 || stream[TYPE] != 0 || stream[TYPE + 1] != 0 || stream[TYPE + 2] != 0 ||
	    stream[TYPE + 3] > REPLY)
		return std::nullopt;
	return stream[TYPE + 3] == CALL;
}

} // namespace peer
