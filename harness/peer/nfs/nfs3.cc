// SPDX-License-Identifier: GPL-2.0-only
//
// NFS version 3 and MOUNT version 3 (RFC 1813), as a requester speaks them.

#include <algorithm>

#include "nfs/nfs.hh"

namespace peer::nfs3 {

namespace {

enum Procedure : std::uint32_t {
	PROC_NULL = 0,
	PROC_GETATTR = 1,
	PROC_LOOKUP = 3,
	PROC_READLINK = 5,
	PROC_READ = 6,
	PROC_WRITE = 7,
	PROC_CREATE = 8,
	PROC_MKDIR = 9,
	PROC_SYMLINK = 10,
	PROC_REMOVE = 12,
	PROC_RMDIR = 13,
	PROC_READDIR = 16,
};
constexpr std::uint32_t MOUNT_MNT = 1;
constexpr std::uint32_t UNCHECKED = 0;
constexpr std::uint32_t FILE_SYNC = 2;

// Lengths of what Replies consist of.
constexpr std::size_t WORD = 4;
constexpr std::size_t STATUS = WORD;
constexpr std::size_t COOKIE_VERIFIER = 8;
constexpr std::size_t WRITE_VERIFIER = 8;
constexpr std::size_t HANDLE = WORD + 64;
constexpr std::size_t ATTRIBUTES = 84;
constexpr std::size_t POST_OP_ATTRIBUTES = WORD + ATTRIBUTES;
constexpr std::size_t POST_OP_HANDLE = WORD + HANDLE;
constexpr std::size_t WCC_DATA = WORD + 24 + POST_OP_ATTRIBUTES;
// RFC 1813 has no bound for the list of flavours; there are not more of them than this.
constexpr std::size_t FLAVOURS = WORD + 16 * WORD;
constexpr std::size_t BEFORE_RESULT = ACCEPTED_REPLY_LENGTH + STATUS;

XdrWriter begin(std::uint32_t xid, Procedure procedure)
{
	XdrWriter xdr;
	write(xdr, CallHeader{.xid = xid, .program = NFS_PROGRAM, .version = 3, .procedure = procedure});
	return xdr;
}

// Writes an opaque that is DDP-eligible.
Item write_item(XdrWriter &xdr, ByteView data)
{
	const Item item = {.offset = xdr.size() + WORD, .length = data.size()};
	xdr.opaque(data);
	return item;
}

ByteView view(const std::string &text)
{
	return {reinterpret_cast<const std::uint8_t *>(text.data()), text.size()};
}

// sattr3: everything as the server has it, but the mode.
void write_attributes(XdrWriter &xdr, std::uint32_t mode)
{
	xdr.boolean(true);
	xdr.u32(mode);
	for (int unset = 0; unset < 5; unset++)
		xdr.u32(0);
}

void read_attributes(XdrReader &xdr, NfsResult &result)
{
	static_cast<void>(xdr.fixed(20, "fattr3"));
	result.size = xdr.u64("the file's size");
	static_cast<void>(xdr.fixed(ATTRIBUTES - 28, "fattr3"));
}

void read_post_op_attributes(XdrReader &xdr, NfsResult &result)
{
	if (xdr.boolean("post_op_attr"))
		read_attributes(xdr, result);
}

void read_wcc_data(XdrReader &xdr, NfsResult &result)
{
	if (xdr.boolean("pre_op_attr"))
		xdr.skip(24, "wcc_attr");
	read_post_op_attributes(xdr, result);
}

// Reads what every Reply begins with; whether results follow.
bool read_header(XdrReader &xdr, NfsResult &result)
{
	const ReplyHeader header = read_reply(xdr);
	result.xid = header.xid;
	result.accepted = header.accepted;
	result.rpc_status = header.status;
	return header.accepted && header.status == RPC_SUCCESS;
}

bool read_status(XdrReader &xdr, NfsResult &result)
{
	if (!read_header(xdr, result))
		return false;
	result.status = xdr.u32("nfsstat3");
	return result.status == 0;
}

NfsResult read_null(ByteView reply)
{
	XdrReader xdr(reply);
	NfsResult result;
	read_header(xdr, result);
	return result;
}

using Results = void (*)(XdrReader &xdr, NfsResult &result);

// A Reply, with its results where it was successful.
template <Results read_results> NfsResult read_with(ByteView reply)
{
	XdrReader xdr(reply);
	NfsResult result;
	if (read_status(xdr, result))
		read_results(xdr, result);
	return result;
}

void mounted(XdrReader &xdr, NfsResult &result)
{
	result.handle = bytes_of(xdr.opaque("fhandle3"));
	for (std::uint32_t flavours = xdr.u32("the number of flavours"); flavours > 0; flavours--)
		static_cast<void>(xdr.u32("a flavour"));
}

void looked_up(XdrReader &xdr, NfsResult &result)
{
	result.handle = bytes_of(xdr.opaque("the file's handle"));
	read_post_op_attributes(xdr, result);
	NfsResult of_directory;
	read_post_op_attributes(xdr, of_directory);
}

// By CREATE, MKDIR and SYMLINK.
void made(XdrReader &xdr, NfsResult &result)
{
	if (xdr.boolean("post_op_fh3"))
		result.handle = bytes_of(xdr.opaque("the new file's handle"));
	read_post_op_attributes(xdr, result);
	NfsResult of_directory;
	read_wcc_data(xdr, of_directory);
}

void written(XdrReader &xdr, NfsResult &result)
{
	read_wcc_data(xdr, result);
	result.count = xdr.u32("WRITE's count");
	xdr.skip(WORD + WRITE_VERIFIER, "WRITE's committed and verf");
}

void listed(XdrReader &xdr, NfsResult &result)
{
	read_post_op_attributes(xdr, result);
	xdr.skip(COOKIE_VERIFIER, "READDIR's cookieverf");
	while (xdr.boolean("whether an entry follows")) {
		xdr.skip(8, "an entry's fileid");
		result.names.push_back(xdr.string("an entry's name"));
		xdr.skip(8, "an entry's cookie");
	}
	result.eof = xdr.boolean("READDIR's eof");
}

// What may be reduced: reads up to its length word.
using Find = Item (*)(XdrReader &xdr, NfsResult &result);

Item find_text(XdrReader &xdr, NfsResult &result)
{
	if (!read_status(xdr, result))
		return {};
	read_post_op_attributes(xdr, result);
	const std::uint32_t length = xdr.u32("the length of the link's text");
	return {.offset = xdr.offset(), .length = length};
}

Item find_data(XdrReader &xdr, NfsResult &result)
{
	if (!read_status(xdr, result))
		return {};
	read_post_op_attributes(xdr, result);
	result.count = xdr.u32("READ's count");
	result.eof = xdr.boolean("READ's eof");
	const std::uint32_t length = xdr.u32("the length of READ's data");
	return {.offset = xdr.offset(), .length = length};
}

template <Find find> NfsResult read_item(ByteView reply)
{
	XdrReader xdr(reply);
	NfsResult result;
	const Item item = find(xdr, result);
	result.data = bytes_of(xdr.fixed(item.length, "the data, or the link's text"));
	return result;
}

template <Find find> Bytes rebuild(ByteView reduced, ByteView data)
{
	XdrReader xdr(reduced);
	NfsResult result;
	const Item item = find(xdr, result);
	if (item.offset == 0)
		throw Malformed("a Write chunk is used for a Reply that has no place for it");
	return restore(reduced, item, data);
}

NfsCall make(const std::string &name, Payload call, std::size_t longest_result, NfsResult (*read)(ByteView reply))
{
	NfsCall result;
	result.name = name;
	result.call = std::move(call);
	result.longest_reply = BEFORE_RESULT + longest_result;
	result.read = read;
	return result;
}

// A Call whose arguments are a directory and a name; more may follow.
XdrWriter begin_name(std::uint32_t xid, Procedure procedure, const FileHandle &directory, const std::string &name)
{
	XdrWriter xdr = begin(xid, procedure);
	xdr.opaque(directory);
	xdr.string(name);
	return xdr;
}

constexpr std::size_t MADE = POST_OP_HANDLE + POST_OP_ATTRIBUTES + WCC_DATA;

} // namespace

NfsCall null(std::uint32_t xid)
{
	NfsCall call = make("NFSv3 NULL", {begin(xid, PROC_NULL).take(), {}}, 0, read_null);
	call.longest_reply = ACCEPTED_REPLY_LENGTH;
	return call;
}

NfsCall mount(std::uint32_t xid, const std::string &path)
{
	XdrWriter xdr;
	write(xdr, CallHeader{.xid = xid, .program = MOUNT_PROGRAM, .version = 3, .procedure = MOUNT_MNT});
	xdr.string(path);
	return make("MOUNT MNT", {xdr.take(), {}}, HANDLE + FLAVOURS, read_with<mounted>);
}

NfsCall getattr(std::uint32_t xid, const FileHandle &file)
{
	XdrWriter xdr = begin(xid, PROC_GETATTR);
	xdr.opaque(file);
	return make("NFSv3 GETATTR", {xdr.take(), {}}, ATTRIBUTES, read_with<read_attributes>);
}

NfsCall lookup(std::uint32_t xid, const FileHandle &directory, const std::string &name)
{
	return make("NFSv3 LOOKUP", {begin_name(xid, PROC_LOOKUP, directory, name).take(), {}},
		    HANDLE + 2 * POST_OP_ATTRIBUTES, read_with<looked_up>);
}

NfsCall create(std::uint32_t xid, const FileHandle &directory, const std::string &name)
{
	XdrWriter xdr = begin_name(xid, PROC_CREATE, directory, name);
	xdr.u32(UNCHECKED);
	write_attributes(xdr, 0644);
	return make("NFSv3 CREATE", {xdr.take(), {}}, MADE, read_with<made>);
}

NfsCall remove(std::uint32_t xid, const FileHandle &directory, const std::string &name)
{
	return make("NFSv3 REMOVE", {begin_name(xid, PROC_REMOVE, directory, name).take(), {}}, WCC_DATA,
		    read_with<read_wcc_data>);
}

NfsCall mkdir(std::uint32_t xid, const FileHandle &directory, const std::string &name)
{
	XdrWriter xdr = begin_name(xid, PROC_MKDIR, directory, name);
	write_attributes(xdr, 0755);
	return make("NFSv3 MKDIR", {xdr.take(), {}}, MADE, read_with<made>);
}

NfsCall rmdir(std::uint32_t xid, const FileHandle &directory, const std::string &name)
{
	return make("NFSv3 RMDIR", {begin_name(xid, PROC_RMDIR, directory, name).take(), {}}, WCC_DATA,
		    read_with<read_wcc_data>);
}

NfsCall symlink(std::uint32_t xid, const FileHandle &directory, const std::string &name, const std::string &target)
{
	XdrWriter xdr = begin_name(xid, PROC_SYMLINK, directory, name);
	write_attributes(xdr, 0777);
	const Item item = write_item(xdr, view(target));
	return make("NFSv3 SYMLINK", {xdr.take(), {item}}, MADE, read_with<made>);
}

NfsCall readlink(std::uint32_t xid, const FileHandle &link)
{
	XdrWriter xdr = begin(xid, PROC_READLINK);
	xdr.opaque(link);
	NfsCall call = make("NFSv3 READLINK", {xdr.take(), {}}, POST_OP_ATTRIBUTES + WORD + LONGEST_PATH,
			    read_item<find_text>);
	call.longest_item = LONGEST_PATH;
	call.rebuild = rebuild<find_text>;
	return call;
}

NfsCall read(std::uint32_t xid, const FileHandle &file, std::uint64_t offset, std::uint32_t count)
{
	XdrWriter xdr = begin(xid, PROC_READ);
	xdr.opaque(file);
	xdr.u64(offset);
	xdr.u32(count);
	NfsCall call = make("NFSv3 READ", {xdr.take(), {}}, POST_OP_ATTRIBUTES + 3 * WORD + count + roundup_of(count),
			    read_item<find_data>);
	call.longest_item = count;
	call.rebuild = rebuild<find_data>;
	return call;
}

NfsCall write(std::uint32_t xid, const FileHandle &file, std::uint64_t offset, ByteView data)
{
	XdrWriter xdr = begin(xid, PROC_WRITE);
	xdr.opaque(file);
	xdr.u64(offset);
	xdr.u32(static_cast<std::uint32_t>(data.size()));
	xdr.u32(FILE_SYNC);
	const Item item = write_item(xdr, data);
	return make("NFSv3 WRITE", {xdr.take(), {item}}, WCC_DATA + 2 * WORD + WRITE_VERIFIER, read_with<written>);
}

// RFC 1813, 3.3.16: the count is that of READDIR3resok; a failure may be longer than a small one.
NfsCall readdir(std::uint32_t xid, const FileHandle &directory, std::uint32_t count)
{
	XdrWriter xdr = begin(xid, PROC_READDIR);
	xdr.opaque(directory);
	xdr.u64(0); // the cookie
	xdr.u64(0); // its verifier
	xdr.u32(count);
	return make("NFSv3 READDIR", {xdr.take(), {}}, std::max<std::size_t>(count, POST_OP_ATTRIBUTES),
		    read_with<listed>);
}

} // namespace peer::nfs3
