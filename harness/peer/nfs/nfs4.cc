// SPDX-License-Identifier: GPL-2.0-only
//
// NFS version 4.1 (RFC 8881), as a requester speaks it: COMPOUNDs on the one slot of a session.

#include <algorithm>
#include <array>

#include "nfs/nfs.hh"
#include "nfs/path.hh"

namespace peer::nfs4 {

namespace {

enum Operation : std::uint32_t {
	OP_DELEGRETURN = 8,
	OP_GETATTR = 9,
	OP_GETFH = 10,
	OP_LOOKUP = 15,
	OP_OPEN = 18,
	OP_PUTFH = 22,
	OP_PUTROOTFH = 24,
	OP_READ = 25,
	OP_READDIR = 26,
	OP_READLINK = 27,
	OP_WRITE = 38,
	OP_EXCHANGE_ID = 42,
	OP_CREATE_SESSION = 43,
	OP_DESTROY_SESSION = 44,
	OP_SEQUENCE = 53,
	OP_RECLAIM_COMPLETE = 58,
};
enum Attribute : std::uint32_t { TYPE = 1, CHANGE = 3, SIZE = 4, FILEID = 20 };
enum Delegation : std::uint32_t { DELEGATE_NONE = 0, DELEGATE_READ = 1, DELEGATE_WRITE = 2, DELEGATE_NONE_EXT = 3 };

constexpr std::uint32_t COMPOUND = 1;
constexpr std::uint32_t MINOR_VERSION = 1;
constexpr std::uint32_t FILE_SYNC = 2;
constexpr std::uint32_t CONNECT_BACK_CHANNEL = 2;
constexpr std::uint32_t AUTH_SYS_FLAVOUR = 1;
constexpr std::uint32_t ACCESS_READ = 1;
constexpr std::uint32_t WANT_READ_DELEGATION = 0x100;
constexpr std::uint32_t WANT_CONTENTION = 1;
constexpr std::uint32_t WANT_RESOURCE = 2;

// Lengths of what Replies consist of.
constexpr std::size_t WORD = 4;
constexpr std::size_t SESSION_ID = 16;
constexpr std::size_t STATEID = 16;
constexpr std::size_t VERIFIER = 8;
constexpr std::size_t CHANGE_INFO = 20;
constexpr std::size_t LONGEST_OPAQUE = WORD + 1024; // NFS4_OPAQUE_LIMIT
constexpr std::size_t LONGEST_HANDLE = WORD + 128;
constexpr std::size_t LONGEST_BITMAP = WORD + 3 * WORD;
constexpr std::size_t LONGEST_CHANNEL = 8 * WORD;
constexpr std::size_t LONGEST_PRINCIPAL = WORD + 64; // nobody's limit; that of an ACE for everybody is far below
constexpr std::size_t RESULT = 2 * WORD; // an operation and its status
constexpr std::size_t BEFORE_RESULTS = ACCEPTED_REPLY_LENGTH + 3 * WORD; // with an empty tag
constexpr std::size_t SEQUENCE_BODY = SESSION_ID + 5 * WORD;
constexpr std::size_t SEQUENCE_AND_PUTFH = RESULT + SEQUENCE_BODY + RESULT;
constexpr std::size_t ATTRIBUTES = 2 * WORD + WORD + (WORD + 8 + 8); // TYPE, CHANGE and SIZE

XdrWriter begin_compound(std::uint32_t xid, std::uint32_t operations)
{
	XdrWriter xdr;
	peer::write(xdr, CallHeader{.xid = xid, .program = NFS_PROGRAM, .version = 4, .procedure = COMPOUND});
	xdr.string(""); // the tag
	xdr.u32(MINOR_VERSION);
	xdr.u32(operations);
	return xdr;
}

// SEQUENCE, and @operations more.
XdrWriter begin(std::uint32_t xid, Session &session, std::uint32_t operations)
{
	XdrWriter xdr = begin_compound(xid, 1 + operations);
	xdr.u32(OP_SEQUENCE);
	xdr.fixed(session.id);
	xdr.u32(++session.sequence);
	xdr.u32(0); // slot
	xdr.u32(0); // highest slot
	xdr.boolean(false); // cache this
	return xdr;
}

// SEQUENCE, PUTFH, and one operation that @operations counts on.
XdrWriter begin_file(std::uint32_t xid, Session &session, const FileHandle &file, std::uint32_t operations = 1)
{
	XdrWriter xdr = begin(xid, session, 1 + operations);
	xdr.u32(OP_PUTFH);
	xdr.opaque(file);
	return xdr;
}

void write_anonymous_stateid(XdrWriter &xdr)
{
	xdr.fixed(std::array<std::uint8_t, STATEID>{});
}

void write_getattr(XdrWriter &xdr)
{
	xdr.u32(OP_GETATTR);
	xdr.u32(1);
	xdr.u32(1U << TYPE | 1U << CHANGE | 1U << SIZE);
}

void write_channel(XdrWriter &xdr, std::uint32_t longest, std::uint32_t operations)
{
	xdr.u32(0); // header padding
	xdr.u32(longest); // request
	xdr.u32(longest); // response
	xdr.u32(longest); // cached response
	xdr.u32(operations);
	xdr.u32(1); // requests at once
	xdr.u32(0); // no RDMA credits asked for
}

void skip_bitmap(XdrReader &xdr)
{
	for (std::uint32_t words = xdr.u32("the length of a bitmap"); words > 0; words--)
		xdr.skip(WORD, "a bitmap");
}

// Only TYPE, CHANGE and SIZE were asked for.
void read_attributes(XdrReader &xdr, NfsResult &result)
{
	const std::uint32_t words = xdr.u32("the length of attrmask");
	std::uint32_t mask = 0;
	for (std::uint32_t word = 0; word < words; word++) {
		const std::uint32_t bits = xdr.u32("attrmask");
		if (word == 0)
			mask = bits;
		else if (bits != 0)
			throw Malformed("GETATTR returns attributes that were not asked for");
	}
	if ((mask & ~(1U << TYPE | 1U << CHANGE | 1U << SIZE)) != 0)
		throw Malformed("GETATTR returns attributes that were not asked for");
	XdrReader values(xdr.opaque("attr_vals"));
	if (mask & 1U << TYPE)
		values.skip(WORD, "the file's type");
	if (mask & 1U << CHANGE)
		values.skip(8, "the file's change attribute");
	if (mask & 1U << SIZE)
		result.size = values.u64("the file's size");
}

void read_readdir(XdrReader &xdr, NfsResult &result)
{
	xdr.skip(VERIFIER, "READDIR's cookieverf");
	while (xdr.boolean("whether an entry follows")) {
		xdr.skip(8, "an entry's cookie");
		result.names.push_back(xdr.string("an entry's name"));
		skip_bitmap(xdr);
		static_cast<void>(xdr.opaque("an entry's attributes"));
	}
	result.eof = xdr.boolean("READDIR's eof");
}

void read_delegation(XdrReader &xdr, NfsResult &result)
{
	const std::uint32_t type = xdr.u32("delegation_type");
	if (type == DELEGATE_NONE)
		return;
	if (type == DELEGATE_NONE_EXT) {
		const std::uint32_t why = xdr.u32("ond_why");
		if (why == WANT_CONTENTION || why == WANT_RESOURCE)
			static_cast<void>(xdr.boolean("what the server will do"));
		return;
	}
	if (type != DELEGATE_READ && type != DELEGATE_WRITE)
		throw Malformed("delegation_type is " + std::to_string(type) + ", where only 0 to 3 are defined");
	result.delegation = bytes_of(xdr.fixed(STATEID, "a delegation's stateid"));
	xdr.skip(WORD, "a delegation's recall");
	if (type == DELEGATE_WRITE)
		xdr.skip(3 * WORD, "a delegation's space_limit");
	xdr.skip(3 * WORD, "a delegation's permissions");
	static_cast<void>(xdr.string("a delegation's who"));
}

void read_open(XdrReader &xdr, NfsResult &result)
{
	xdr.skip(STATEID + CHANGE_INFO + WORD, "OPEN's stateid, cinfo and rflags");
	skip_bitmap(xdr);
	read_delegation(xdr, result);
}

void read_written(XdrReader &xdr, NfsResult &result)
{
	result.count += xdr.u32("WRITE's count");
	xdr.skip(WORD + VERIFIER, "WRITE's committed and writeverf");
}

// The length word of a DDP-eligible item, and where its data are, or are to be put.
Item read_length(XdrReader &xdr, std::string_view field)
{
	const std::uint32_t length = xdr.u32(field);
	return {.offset = xdr.offset(), .length = length};
}

// Reads what stands between the header and the results; how many of these there are.
std::uint32_t read_header(XdrReader &xdr, NfsResult &result)
{
	const ReplyHeader header = read_reply(xdr);
	result.xid = header.xid;
	result.accepted = header.accepted;
	result.rpc_status = header.status;
	if (!header.accepted || header.status != RPC_SUCCESS)
		return 0;
	result.status = xdr.u32("nfsstat4");
	static_cast<void>(xdr.opaque("the tag"));
	return xdr.u32("the number of results");
}

// Reads one operation's result but for DDP-eligible data: those are returned.
Item read_operation(XdrReader &xdr, std::uint32_t operation, NfsResult &result)
{
	switch (operation) {
	case OP_SEQUENCE:
		xdr.skip(SEQUENCE_BODY, "SEQUENCE's result");
		return {};
	case OP_PUTFH:
	case OP_PUTROOTFH:
	case OP_LOOKUP:
	case OP_RECLAIM_COMPLETE:
	case OP_DESTROY_SESSION:
	case OP_DELEGRETURN:
		return {};
	case OP_GETFH:
		result.handle = bytes_of(xdr.opaque("the file's handle"));
		return {};
	case OP_GETATTR:
		read_attributes(xdr, result);
		return {};
	case OP_OPEN:
		read_open(xdr, result);
		return {};
	case OP_WRITE:
		read_written(xdr, result);
		return {};
	case OP_READDIR:
		read_readdir(xdr, result);
		return {};
	case OP_READLINK:
		return read_length(xdr, "the length of the link's text");
	case OP_READ: {
		result.eof = xdr.boolean("READ's eof");
		const Item item = read_length(xdr, "the length of READ's data");
		result.count = static_cast<std::uint32_t>(item.length);
		return item;
	}
	default:
		throw Malformed("there is a result of operation " + std::to_string(operation) +
				", which was not asked for");
	}
}

// Reads the results up to and without the next DDP-eligible data, or to their end.
Item read_results(XdrReader &xdr, std::uint32_t &left, NfsResult &result)
{
	while (left > 0) {
		left--;
		const std::uint32_t operation = xdr.u32("resop");
		const std::uint32_t status = xdr.u32("an operation's status");
		if (status != result.status && status != 0)
			throw Malformed("an operation's status is " + std::to_string(status) + ", and its COMPOUND's " +
					std::to_string(result.status));
		if (status != 0)
			return {};
		if (const Item item = read_operation(xdr, operation, result); item.length > 0)
			return item;
	}
	return {};
}

NfsResult read_whole(ByteView reply)
{
	XdrReader xdr(reply);
	NfsResult result;
	std::uint32_t left = read_header(xdr, result);
	for (Item item = read_results(xdr, left, result); item.length > 0; item = read_results(xdr, left, result)) {
		const ByteView data = xdr.fixed(item.length, "the data of READ or READLINK");
		result.data.insert(result.data.end(), data.begin(), data.end());
	}
	return result;
}

// EXCHANGE_ID and CREATE_SESSION: who made them takes their results himself.
NfsResult read_status(ByteView reply)
{
	XdrReader xdr(reply);
	NfsResult result;
	read_header(xdr, result);
	return result;
}

// The item behind the first @before ones, whose data are in the stream.
Item find_item(ByteView stream, std::size_t before)
{
	XdrReader xdr(stream);
	NfsResult result;
	std::uint32_t left = read_header(xdr, result);
	Item item = read_results(xdr, left, result);
	for (; before > 0; before--) {
		static_cast<void>(xdr.fixed(item.length, "the data of READ or READLINK"));
		item = read_results(xdr, left, result);
	}
	return item;
}

Bytes rebuild_items(ByteView reduced, ByteView data)
{
	Bytes stream = bytes_of(reduced);
	for (std::size_t items = 0; !data.empty(); items++) {
		const Item item = find_item(stream, items);
		if (item.length == 0 || item.length > data.size())
			throw Malformed("a Write chunk is used for a Reply that has no place for it");
		stream = restore(stream, item, data.first(item.length));
		data = data.subspan(item.length);
	}
	return stream;
}

// The results of the only operation of a successful COMPOUND.
XdrReader results_of(ByteView reply, Operation operation)
{
	XdrReader xdr(reply);
	NfsResult result;
	if (read_header(xdr, result) == 0 || result.status != 0)
		throw Malformed("operation " + std::to_string(operation) + " failed with NFS status " +
				std::to_string(result.status));
	if (xdr.u32("resop") != operation || xdr.u32("the operation's status") != 0)
		throw Malformed("the result is not that of operation " + std::to_string(operation));
	return xdr;
}

NfsCall make(const std::string &name, Payload call, std::size_t longest_results,
	     NfsResult (*read)(ByteView reply) = read_whole)
{
	NfsCall made;
	made.name = "NFSv4.1 " + name;
	made.call = std::move(call);
	made.longest_reply = BEFORE_RESULTS + longest_results;
	made.read = read;
	return made;
}

void write_read(XdrWriter &xdr, std::uint64_t offset, std::uint32_t count)
{
	xdr.u32(OP_READ);
	write_anonymous_stateid(xdr);
	xdr.u64(offset);
	xdr.u32(count);
}

Item write_write(XdrWriter &xdr, std::uint64_t offset, ByteView data)
{
	xdr.u32(OP_WRITE);
	write_anonymous_stateid(xdr);
	xdr.u64(offset);
	xdr.u32(FILE_SYNC);
	const Item item = {.offset = xdr.size() + WORD, .length = data.size()};
	xdr.opaque(data);
	return item;
}

} // namespace

NfsCall exchange_id(std::uint32_t xid, const std::string &owner, std::uint64_t life)
{
	constexpr std::size_t IMPLEMENTATION = 2 * LONGEST_OPAQUE + 3 * WORD;
	XdrWriter xdr = begin_compound(xid, 1);
	xdr.u32(OP_EXCHANGE_ID);
	xdr.u64(life); // the verifier
	xdr.string(owner);
	xdr.u32(0); // flags
	xdr.u32(0); // SP4_NONE
	xdr.u32(0); // no implementation's name
	return make("EXCHANGE_ID", {xdr.take(), {}},
		    RESULT + 8 + 3 * WORD + 8 + 2 * LONGEST_OPAQUE + WORD + IMPLEMENTATION, read_status);
}

void take_exchange_id(Session &session, ByteView reply)
{
	XdrReader xdr = results_of(reply, OP_EXCHANGE_ID);
	session.client = xdr.u64("eir_clientid");
	session.create_sequence = xdr.u32("eir_sequenceid");
}

NfsCall create_session(std::uint32_t xid, Session &session, bool backchannel)
{
	constexpr std::uint32_t LONGEST_MESSAGE = (1 << 20) + 4096;
	constexpr std::uint32_t LONGEST_CALLBACK = 4096;
	XdrWriter xdr = begin_compound(xid, 1);
	xdr.u32(OP_CREATE_SESSION);
	xdr.u64(session.client);
	xdr.u32(session.create_sequence);
	xdr.u32(backchannel ? CONNECT_BACK_CHANNEL : 0);
	write_channel(xdr, LONGEST_MESSAGE, 16);
	write_channel(xdr, LONGEST_CALLBACK, 2);
	xdr.u32(session.callback_program);
	xdr.u32(1); // way of authentication for callbacks
	xdr.u32(AUTH_SYS_FLAVOUR);
	xdr.u32(0); // stamp
	xdr.string("rpcordma-peer");
	for (int zero = 0; zero < 3; zero++)
		xdr.u32(0); // uid, gid, no further groups
	return make("CREATE_SESSION", {xdr.take(), {}}, RESULT + SESSION_ID + 2 * WORD + 2 * LONGEST_CHANNEL,
		    read_status);
}

void take_create_session(Session &session, ByteView reply)
{
	XdrReader xdr = results_of(reply, OP_CREATE_SESSION);
	session.id = bytes_of(xdr.fixed(SESSION_ID, "csr_sessionid"));
	session.sequence = 0;
}

NfsCall reclaim_complete(std::uint32_t xid, Session &session)
{
	XdrWriter xdr = begin(xid, session, 1);
	xdr.u32(OP_RECLAIM_COMPLETE);
	xdr.boolean(false); // for all file systems
	return make("RECLAIM_COMPLETE", {xdr.take(), {}}, RESULT + SEQUENCE_BODY + RESULT);
}

NfsCall destroy_session(std::uint32_t xid, Session &session)
{
	XdrWriter xdr = begin_compound(xid, 1);
	xdr.u32(OP_DESTROY_SESSION);
	xdr.fixed(session.id);
	return make("DESTROY_SESSION", {xdr.take(), {}}, RESULT);
}

NfsCall lookup(std::uint32_t xid, Session &session, const std::string &path)
{
	const std::vector<std::string> parts = parts_of(path);
	XdrWriter xdr = begin(xid, session, static_cast<std::uint32_t>(3 + parts.size()));
	xdr.u32(OP_PUTROOTFH);
	for (const std::string &part : parts) {
		xdr.u32(OP_LOOKUP);
		xdr.string(part);
	}
	xdr.u32(OP_GETFH);
	write_getattr(xdr);
	return make("LOOKUP", {xdr.take(), {}},
		    SEQUENCE_AND_PUTFH + parts.size() * RESULT + RESULT + LONGEST_HANDLE + RESULT + ATTRIBUTES);
}

NfsCall getattr(std::uint32_t xid, Session &session, const FileHandle &file)
{
	XdrWriter xdr = begin_file(xid, session, file);
	write_getattr(xdr);
	return make("GETATTR", {xdr.take(), {}}, SEQUENCE_AND_PUTFH + RESULT + ATTRIBUTES);
}

NfsCall read(std::uint32_t xid, Session &session, const FileHandle &file, std::uint64_t offset, std::uint32_t count)
{
	XdrWriter xdr = begin_file(xid, session, file);
	write_read(xdr, offset, count);
	NfsCall call =
		make("READ", {xdr.take(), {}}, SEQUENCE_AND_PUTFH + RESULT + 2 * WORD + count + roundup_of(count));
	call.longest_item = count;
	call.rebuild = rebuild_items;
	return call;
}

NfsCall read_and_readlink(std::uint32_t xid, Session &session, const FileHandle &file, std::uint32_t count,
			  const FileHandle &link)
{
	XdrWriter xdr = begin_file(xid, session, file, 3);
	write_read(xdr, 0, count);
	xdr.u32(OP_PUTFH);
	xdr.opaque(link);
	xdr.u32(OP_READLINK);
	NfsCall call = make("READ and READLINK", {xdr.take(), {}},
			    SEQUENCE_AND_PUTFH + RESULT + 2 * WORD + count + roundup_of(count) + 2 * RESULT + WORD +
				    LONGEST_PATH);
	call.longest_item = count + LONGEST_PATH;
	call.rebuild = rebuild_items;
	return call;
}

NfsCall write(std::uint32_t xid, Session &session, const FileHandle &file, std::uint64_t offset, ByteView data,
	      ByteView second)
{
	const std::uint32_t writes = second.empty() ? 1 : 2;
	XdrWriter xdr = begin_file(xid, session, file, writes);
	std::vector<Item> items = {write_write(xdr, offset, data)};
	if (!second.empty())
		items.push_back(write_write(xdr, offset + data.size(), second));
	return make("WRITE", {xdr.take(), items}, SEQUENCE_AND_PUTFH + writes * (RESULT + 2 * WORD + VERIFIER));
}

// RFC 8881, 18.23.3: maxcount is that of READDIR4resok.
NfsCall readdir(std::uint32_t xid, Session &session, const FileHandle &directory, std::uint32_t count)
{
	XdrWriter xdr = begin_file(xid, session, directory);
	xdr.u32(OP_READDIR);
	xdr.u64(0); // the cookie
	xdr.u64(0); // its verifier
	xdr.u32(count); // dircount
	xdr.u32(count); // maxcount
	xdr.u32(1);
	xdr.u32(1U << FILEID);
	return make("READDIR", {xdr.take(), {}}, SEQUENCE_AND_PUTFH + RESULT + count);
}

NfsCall readlink(std::uint32_t xid, Session &session, const FileHandle &link)
{
	XdrWriter xdr = begin_file(xid, session, link);
	xdr.u32(OP_READLINK);
	NfsCall call = make("READLINK", {xdr.take(), {}}, SEQUENCE_AND_PUTFH + RESULT + WORD + LONGEST_PATH);
	call.longest_item = LONGEST_PATH;
	call.rebuild = rebuild_items;
	return call;
}

NfsCall open(std::uint32_t xid, Session &session, const FileHandle &directory, const std::string &name)
{
	constexpr std::size_t READ_DELEGATION = WORD + STATEID + WORD + 3 * WORD + LONGEST_PRINCIPAL;
	XdrWriter xdr = begin_file(xid, session, directory, 2);
	xdr.u32(OP_OPEN);
	xdr.u32(0); // seqid, which sessions have made unnecessary
	xdr.u32(ACCESS_READ | WANT_READ_DELEGATION);
	xdr.u32(0); // deny nothing
	xdr.u64(session.client);
	xdr.string("rpcordma-peer");
	xdr.u32(0); // OPEN4_NOCREATE
	xdr.u32(0); // CLAIM_NULL
	xdr.string(name);
	xdr.u32(OP_GETFH);
	return make("OPEN", {xdr.take(), {}},
		    SEQUENCE_AND_PUTFH + RESULT + STATEID + CHANGE_INFO + WORD + LONGEST_BITMAP + READ_DELEGATION +
			    RESULT + LONGEST_HANDLE);
}

NfsCall delegreturn(std::uint32_t xid, Session &session, const FileHandle &file, ByteView delegation)
{
	XdrWriter xdr = begin_file(xid, session, file);
	xdr.u32(OP_DELEGRETURN);
	xdr.fixed(delegation);
	return make("DELEGRETURN", {xdr.take(), {}}, SEQUENCE_AND_PUTFH + RESULT);
}

} // namespace peer::nfs4
