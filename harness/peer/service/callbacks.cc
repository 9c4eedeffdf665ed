// SPDX-License-Identifier: GPL-2.0-only
//
// Callbacks of NFS version 4.1 (RFC 8881, section 20): Calls of the server to its client.

#include "service/service.hh"

namespace peer {

namespace {

constexpr std::uint32_t CALLBACK_VERSION = 1;
constexpr std::uint32_t CB_NULL = 0;
constexpr std::uint32_t CB_COMPOUND = 1;
constexpr std::uint32_t MINOR_VERSION = 1;
constexpr std::uint32_t OP_CB_RECALL = 4;
constexpr std::uint32_t OP_CB_RECALL_ANY = 8;
constexpr std::uint32_t OP_CB_SEQUENCE = 11;
constexpr std::uint32_t NFS4_OK = 0;
constexpr std::size_t SESSION_ID_SIZE = 16;

XdrWriter begin(std::uint32_t xid, const Service::Backchannel &to, std::uint32_t procedure)
{
	XdrWriter xdr;
	write(xdr, CallHeader{.xid = xid, .program = to.program, .version = CALLBACK_VERSION, .procedure = procedure});
	return xdr;
}

XdrWriter begin_compound(std::uint32_t xid, const Service::Backchannel &to, std::uint32_t slot, std::uint32_t sequence,
			 std::uint32_t operations)
{
	XdrWriter xdr = begin(xid, to, CB_COMPOUND);
	xdr.string(""); // the tag
	xdr.u32(MINOR_VERSION);
	xdr.u32(0); // callback_ident, which version 4.0 alone has a use for
	xdr.u32(1 + operations);
	xdr.u32(OP_CB_SEQUENCE);
	xdr.fixed(to.session);
	xdr.u32(sequence);
	xdr.u32(slot);
	xdr.u32(slot); // the highest slot
	xdr.boolean(false); // cache this
	xdr.u32(0); // no referring calls
	return xdr;
}

// What a CB_COMPOUND says up to the end of its CB_SEQUENCE.
struct Compound {
	ByteView tag;
	std::uint32_t operations = 0;
	ByteView session;
	std::uint32_t sequence = 0;
	std::uint32_t slot = 0;
};

void skip_referring_calls(XdrReader &arguments)
{
	for (std::uint32_t lists = arguments.u32("the length of csa_referring_call_lists"); lists > 0; lists--) {
		arguments.skip(SESSION_ID_SIZE, "rcl_sessionid");
		for (std::uint32_t calls = arguments.u32("the length of rcl_referring_calls"); calls > 0; calls--)
			arguments.skip(8, "a referring Call");
	}
}

Compound read_compound(XdrReader &arguments)
{
	Compound compound;
	compound.tag = arguments.opaque("the tag");
	arguments.skip(8, "minorversion and callback_ident");
	compound.operations = arguments.u32("the number of operations");
	if (compound.operations == 0 || arguments.u32("argop") != OP_CB_SEQUENCE)
		throw Malformed("the CB_COMPOUND does not begin with CB_SEQUENCE");
	compound.session = arguments.fixed(SESSION_ID_SIZE, "csa_sessionid");
	compound.sequence = arguments.u32("csa_sequenceid");
	compound.slot = arguments.u32("csa_slotid");
	arguments.skip(8, "csa_highest_slotid and csa_cachethis");
	skip_referring_calls(arguments);
	return compound;
}

// The results up to those of CB_SEQUENCE.
XdrWriter begin_results(const Compound &compound)
{
	XdrWriter results;
	results.u32(NFS4_OK);
	results.opaque(compound.tag);
	results.u32(compound.operations);
	results.u32(OP_CB_SEQUENCE);
	results.u32(NFS4_OK);
	results.fixed(compound.session);
	results.u32(compound.sequence);
	results.u32(compound.slot);
	results.u32(0); // the highest slot
	results.u32(0); // and the one that is wanted
	return results;
}

} // namespace

Payload callback_null(std::uint32_t xid, const Service::Backchannel &to)
{
	return {begin(xid, to, CB_NULL).take(), {}};
}

Payload callback_sequence(std::uint32_t xid, const Service::Backchannel &to, std::uint32_t slot, std::uint32_t sequence)
{
	return {begin_compound(xid, to, slot, sequence, 0).take(), {}};
}

Payload callback_recall(std::uint32_t xid, const Service::Backchannel &to, std::uint32_t slot, std::uint32_t sequence,
			const Service::Delegation &delegation)
{
	XdrWriter xdr = begin_compound(xid, to, slot, sequence, 1);
	xdr.u32(OP_CB_RECALL);
	xdr.fixed(delegation.stateid);
	xdr.boolean(false); // truncate
	xdr.opaque(delegation.handle);
	return {xdr.take(), {}};
}

Payload callback_recall_any(std::uint32_t xid, const Service::Backchannel &to, std::uint32_t slot,
			    std::uint32_t sequence, std::uint32_t operations)
{
	XdrWriter xdr = begin_compound(xid, to, slot, sequence, operations);
	for (; operations > 0; operations--) {
		xdr.u32(OP_CB_RECALL_ANY);
		xdr.u32(0); // objects to keep
		xdr.u32(1); // a bitmap of one word: of no type
		xdr.u32(0);
	}
	return {xdr.take(), {}};
}

std::uint32_t read_callback_reply(ByteView reply)
{
	XdrReader xdr(reply);
	const ReplyHeader header = read_reply(xdr);
	if (!header.accepted || header.status != RPC_SUCCESS)
		throw Malformed("the callback was refused with RPC " +
				std::string(header.accepted ? "accept_stat " : "reject_stat ") +
				std::to_string(header.status));
	return xdr.rest().empty() ? 0 : xdr.u32("the callback's nfsstat4");
}

std::optional<Bytes> results_of_probe(ByteView call)
{
	XdrReader arguments(call);
	const CallHeader header = read_call(arguments);
	if (header.version != CALLBACK_VERSION)
		return std::nullopt;
	if (header.procedure == CB_NULL)
		return Bytes();
	if (header.procedure != CB_COMPOUND)
		return std::nullopt;
	const Compound compound = read_compound(arguments);
	if (compound.operations != 1)
		return std::nullopt;
	return begin_results(compound).take();
}

Bytes results_of_recall(ByteView call)
{
	XdrReader arguments(call);
	const CallHeader header = read_call(arguments);
	if (header.version != CALLBACK_VERSION || header.procedure != CB_COMPOUND)
		throw Malformed("the Call is no CB_COMPOUND");
	const Compound compound = read_compound(arguments);
	if (compound.operations != 2 || arguments.u32("argop") != OP_CB_RECALL)
		throw Malformed("the CB_COMPOUND is no CB_SEQUENCE and one CB_RECALL");
	XdrWriter results = begin_results(compound);
	results.u32(OP_CB_RECALL);
	results.u32(NFS4_OK);
	return results.take();
}

} // namespace peer
