// SPDX-License-Identifier: GPL-2.0-only
//
// The service, asked by the peer's own requester. Each Reply also travels as a reduced stream, and is put together again.

#include <gtest/gtest.h>

#include "nfs/nfs.hh"
#include "service/service.hh"

namespace peer {
namespace {

constexpr std::uint32_t NOENT = 2;
constexpr std::uint32_t EXIST = 17;
constexpr std::uint32_t NOTDIR = 20;
constexpr std::uint32_t ISDIR = 21;
constexpr std::uint32_t INVAL = 22;
constexpr std::uint32_t FBIG = 27;
constexpr std::uint32_t NOTEMPTY = 66;
constexpr std::uint32_t STALE = 70;
constexpr std::uint32_t BADHANDLE = 10001;
constexpr std::uint32_t TOOSMALL = 10005;
constexpr std::uint32_t MINOR_VERS_MISMATCH = 10021;
constexpr std::uint32_t STALE_CLIENTID = 10022;
constexpr std::uint32_t BADXDR = 10036;
constexpr std::uint32_t BADSESSION = 10052;
constexpr std::uint32_t SEQ_MISORDERED = 10063;
constexpr std::uint32_t OP_NOT_IN_SESSION = 10071;

constexpr std::uint64_t CONNECTION = 1;

Bytes numbers(std::size_t length)
{
	Bytes bytes(length);
	for (std::size_t i = 0; i < length; i++)
		bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
	return bytes;
}

// A stream without its items, and what was in them.
struct Reduced {
	Bytes stream;
	Bytes data;
};

Reduced reduce(const Payload &whole)
{
	Reduced reduced = {.stream = whole.stream, .data = {}};
	for (std::size_t i = whole.items.size(); i-- > 0;) {
		const Item &item = whole.items[i];
		const auto first = reduced.stream.begin() + static_cast<std::ptrdiff_t>(item.offset);
		reduced.data.insert(reduced.data.begin(), first, first + static_cast<std::ptrdiff_t>(item.length));
		reduced.stream.erase(first, first + static_cast<std::ptrdiff_t>(item.length + roundup_of(item.length)));
	}
	return reduced;
}

class ServiceTest : public testing::Test {
    protected:
	NfsResult ask(const NfsCall &call)
	{
		last = service.serve(call.call.stream, CONNECTION);
		EXPECT_LE(last.reply.stream.size(), call.longest_reply) << call.name;
		for (const Item &item : call.call.items)
			check_item(call.call.stream, item);
		for (const Item &item : last.reply.items) {
			check_item(last.reply.stream, item);
			EXPECT_LE(item.length, call.longest_item) << call.name;
		}
		const Reduced reduced = reduce(last.reply);
		if (!reduced.data.empty()) {
			EXPECT_EQ(call.rebuild(reduced.stream, reduced.data), last.reply.stream) << call.name;
		}
		const NfsResult result = call.read(last.reply.stream);
		EXPECT_EQ(result.xid, XdrReader(call.call.stream).u32("xid"));
		return result;
	}

	NfsResult succeed(const NfsCall &call)
	{
		const NfsResult result = ask(call);
		EXPECT_TRUE(result.accepted) << call.name;
		EXPECT_EQ(result.rpc_status, RPC_SUCCESS) << call.name;
		EXPECT_EQ(result.status, 0U) << call.name;
		return result;
	}

	void expect_served(const std::string &operation, const std::string &path) const
	{
		EXPECT_EQ(last.operation, operation);
		EXPECT_EQ(last.path, path);
	}

	// A DDP-eligible item: its length word stands before it.
	static void check_item(const Bytes &stream, const Item &item)
	{
		ASSERT_GE(item.offset, 4U);
		ASSERT_LE(item.offset + item.length + roundup_of(item.length), stream.size());
		EXPECT_EQ(XdrReader(ByteView(stream).subspan(item.offset - 4)).u32("length"), item.length);
	}

	std::uint32_t xid() { return ++xid_; }

	Tree tree;
	Service service{tree};
	Served last;

    private:
	std::uint32_t xid_ = 0;
};

// Programs and versions

TEST_F(ServiceTest, NullOfEachProgram)
{
	for (const auto &[program, version] : {std::pair{NFS_PROGRAM, 3U}, {NFS_PROGRAM, 4U}, {MOUNT_PROGRAM, 3U}}) {
		XdrWriter xdr;
		write(xdr, CallHeader{.xid = 1, .program = program, .version = version});
		last = service.serve(xdr.take(), CONNECTION);
		EXPECT_EQ(last.reply.stream.size(), ACCEPTED_REPLY_LENGTH);
		expect_served("NULL", "");
	}
	succeed(nfs3::null(xid()));
}

TEST_F(ServiceTest, WhatIsNotThereIsRefusedAsRfc5531Says)
{
	const auto reply_to = [&](CallHeader call) {
		XdrWriter xdr;
		write(xdr, call);
		const Served served = service.serve(xdr.take(), CONNECTION);
		XdrReader reader(served.reply.stream);
		const ReplyHeader reply = read_reply(reader);
		EXPECT_TRUE(reader.rest().empty());
		return reply;
	};
	EXPECT_EQ(reply_to({.program = 100227, .version = 3}).status, RPC_PROG_UNAVAIL);
	const ReplyHeader nfs2 = reply_to({.program = NFS_PROGRAM, .version = 2});
	EXPECT_EQ(nfs2.status, RPC_PROG_MISMATCH);
	EXPECT_EQ(nfs2.lowest, 3U);
	EXPECT_EQ(nfs2.highest, 4U);
	EXPECT_EQ(reply_to({.program = MOUNT_PROGRAM, .version = 1}).status, RPC_PROG_MISMATCH);
	for (const auto &[program, version] : {std::pair{NFS_PROGRAM, 3U}, {NFS_PROGRAM, 4U}, {MOUNT_PROGRAM, 3U}})
		EXPECT_EQ(reply_to({.program = program, .version = version, .procedure = 22}).status, RPC_PROC_UNAVAIL);
	EXPECT_EQ(reply_to({.program = NFS_PROGRAM, .version = 3, .procedure = 1}).status, RPC_GARBAGE_ARGS);
	EXPECT_EQ(reply_to({.program = NFS_PROGRAM, .version = 4, .procedure = 1}).status, RPC_GARBAGE_ARGS);
	const ReplyHeader mismatch = reply_to({.program = NFS_PROGRAM, .version = 3, .rpc_version = 3});
	EXPECT_FALSE(mismatch.accepted);
	EXPECT_EQ(mismatch.status, RPC_MISMATCH);
	EXPECT_EQ(mismatch.lowest, 2U);
	EXPECT_EQ(mismatch.highest, 2U);
}

TEST_F(ServiceTest, UnknownCredentialsAreRefused)
{
	XdrWriter xdr;
	write(xdr, CallHeader{.program = NFS_PROGRAM, .version = 3, .auth_sys = false});
	Bytes stream = xdr.take();
	stream[27] = 6; // RPCSEC_GSS
	const Served served = service.serve(stream, CONNECTION);
	XdrReader reader(served.reply.stream);
	const ReplyHeader reply = read_reply(reader);
	EXPECT_FALSE(reply.accepted);
	EXPECT_EQ(reply.status, RPC_AUTH_ERROR);
}

TEST_F(ServiceTest, WhatIsNoCallIsMalformed)
{
	EXPECT_THROW(static_cast<void>(service.serve(Bytes{}, CONNECTION)), Malformed);
	EXPECT_THROW(static_cast<void>(service.serve(last.reply.stream, CONNECTION)), Malformed);
	XdrWriter xdr;
	write(xdr, ReplyHeader{});
	EXPECT_THROW(static_cast<void>(service.serve(xdr.take(), CONNECTION)), Malformed);
}

// NFS version 3

class Nfs3Test : public ServiceTest {
    protected:
	FileHandle root() { return succeed(nfs3::mount(xid(), "/")).handle; }

	FileHandle look_up(const FileHandle &directory, const std::string &name)
	{
		return succeed(nfs3::lookup(xid(), directory, name)).handle;
	}
};

TEST_F(Nfs3Test, MountsDirectories)
{
	tree.put("/directory/data", {1});
	const FileHandle top = root();
	expect_served("MNT", "/");
	EXPECT_EQ(succeed(nfs3::mount(xid(), "/directory")).handle, look_up(top, "directory"));
	EXPECT_EQ(ask(nfs3::mount(xid(), "/directory/data")).status, NOTDIR);
	EXPECT_EQ(ask(nfs3::mount(xid(), "/nothing")).status, NOENT);
}

TEST_F(Nfs3Test, ReadsWhatIsThere)
{
	const Bytes content = numbers(10001);
	tree.put("/a/data", content);
	const FileHandle file = look_up(look_up(root(), "a"), "data");
	expect_served("LOOKUP", "/a/data");
	EXPECT_EQ(succeed(nfs3::getattr(xid(), file)).size, 10001U);
	expect_served("GETATTR", "/a/data");
	struct {
		std::uint64_t offset;
		std::uint32_t count;
		std::size_t length;
		bool eof;
	} const cases[] = {{0, 4096, 4096, false},    {1, 3, 3, false},	      {0, 0, 0, false},
			   {4096, 65536, 5905, true}, {10000, 1, 1, true},    {10001, 1, 0, true},
			   {1U << 31, 1, 0, true},    {0, 10001, 10001, true}};
	for (const auto &[offset, count, length, eof] : cases) {
		const NfsResult result = succeed(nfs3::read(xid(), file, offset, count));
		expect_served("READ", "/a/data");
		ASSERT_EQ(result.data.size(), length) << offset;
		EXPECT_TRUE(std::equal(result.data.begin(), result.data.end(),
				       content.begin() + static_cast<std::ptrdiff_t>(length ? offset : 0)));
		EXPECT_EQ(result.count, length);
		EXPECT_EQ(result.eof, eof) << offset;
		EXPECT_EQ(last.reply.items.size(), 1U);
	}
}

TEST_F(Nfs3Test, AReplyToReadIsExactlyAsLongAsItCanGet)
{
	tree.put("/data", numbers(1000));
	const FileHandle file = look_up(root(), "data");
	for (const std::uint32_t count : {997U, 998U, 999U, 1000U}) {
		const NfsCall call = nfs3::read(xid(), file, 0, count);
		succeed(call);
		EXPECT_EQ(last.reply.stream.size(), call.longest_reply);
		EXPECT_EQ(last.reply.items[0].length, call.longest_item);
	}
}

TEST_F(Nfs3Test, ReadsNoMoreThanTheTransferSize)
{
	service.transfer_size(4096);
	tree.put("/data", numbers(10000));
	const NfsResult result = succeed(nfs3::read(xid(), look_up(root(), "data"), 0, 10000));
	EXPECT_EQ(result.count, 4096U);
	EXPECT_FALSE(result.eof);
}

TEST_F(Nfs3Test, WritesWhereItIsTold)
{
	const FileHandle file = succeed(nfs3::create(xid(), root(), "new")).handle;
	expect_served("CREATE", "/new");
	for (const std::size_t length : {0U, 1U, 2U, 3U, 4U, 5000U}) {
		const Bytes data = numbers(length);
		const NfsCall call = nfs3::write(xid(), file, 3, data);
		ASSERT_EQ(call.call.items.size(), 1U);
		EXPECT_EQ(call.call.items[0].length, length);
		EXPECT_EQ(succeed(call).count, length);
		expect_served("WRITE", "/new");
		EXPECT_EQ(last.reply.stream.size(), call.longest_reply);
		const Bytes &content = tree.find("/new")->content;
		ASSERT_EQ(content.size(), length ? 3 + length : 0);
		EXPECT_TRUE(std::equal(data.begin(), data.end(), content.begin() + (length ? 3 : 0)));
	}
	EXPECT_EQ(succeed(nfs3::getattr(xid(), file)).size, 5003U);
	EXPECT_EQ(ask(nfs3::write(xid(), file, std::uint64_t{1} << 62, Bytes(4))).status, FBIG);
	EXPECT_EQ(ask(nfs3::write(xid(), file, ~std::uint64_t{0}, Bytes(4))).status, FBIG);
}

TEST_F(Nfs3Test, LinksAreMadeAndRead)
{
	for (const std::size_t length : {1U, 4U, 1001U, 4096U}) {
		const std::string target(length, 'x');
		const std::string name = "link" + std::to_string(length);
		const NfsCall call = nfs3::symlink(xid(), root(), name, target);
		ASSERT_EQ(call.call.items.size(), 1U);
		EXPECT_EQ(call.call.items[0].length, length);
		const FileHandle link = succeed(call).handle;
		expect_served("SYMLINK", "/" + name);
		const NfsResult result = succeed(nfs3::readlink(xid(), link));
		expect_served("READLINK", "/" + name);
		EXPECT_EQ(result.data, Bytes(length, 'x'));
		EXPECT_EQ(last.reply.items.size(), 1U);
	}
	EXPECT_EQ(ask(nfs3::readlink(xid(), root())).status, INVAL);
	EXPECT_TRUE(last.reply.items.empty());
}

TEST_F(Nfs3Test, MakesAndRemoves)
{
	const FileHandle directory = succeed(nfs3::mkdir(xid(), root(), "d")).handle;
	expect_served("MKDIR", "/d");
	EXPECT_EQ(ask(nfs3::mkdir(xid(), root(), "d")).status, EXIST);
	const FileHandle file = succeed(nfs3::create(xid(), directory, "f")).handle;
	EXPECT_EQ(succeed(nfs3::create(xid(), directory, "f")).handle, file);
	EXPECT_EQ(ask(nfs3::rmdir(xid(), root(), "d")).status, NOTEMPTY);
	EXPECT_EQ(ask(nfs3::remove(xid(), root(), "d")).status, ISDIR);
	EXPECT_EQ(ask(nfs3::rmdir(xid(), directory, "f")).status, NOTDIR);
	succeed(nfs3::remove(xid(), directory, "f"));
	expect_served("REMOVE", "/d/f");
	EXPECT_EQ(ask(nfs3::remove(xid(), directory, "f")).status, NOENT);
	EXPECT_EQ(ask(nfs3::getattr(xid(), file)).status, STALE);
	succeed(nfs3::rmdir(xid(), root(), "d"));
	expect_served("RMDIR", "/d");
	EXPECT_EQ(ask(nfs3::lookup(xid(), root(), "d")).status, NOENT);
	expect_served("LOOKUP", "/d");
	EXPECT_EQ(ask(nfs3::getattr(xid(), Bytes(12))).status, BADHANDLE);
	EXPECT_EQ(ask(nfs3::getattr(xid(), {})).status, BADHANDLE);
}

TEST_F(Nfs3Test, AWriteWithAnotherCountIsRefused)
{
	tree.put("/data", {});
	Bytes stream = nfs3::write(xid(), look_up(root(), "data"), 0, Bytes(8)).call.stream;
	constexpr std::size_t COUNT = 8 + 4 + 4 + 4; // the data, their length, stable, count
	ASSERT_EQ(stream[stream.size() - COUNT + 3], 8);
	stream[stream.size() - COUNT + 3] = 4;
	const NfsCall call = nfs3::write(0, {}, 0, {});
	EXPECT_EQ(call.read(service.serve(stream, CONNECTION).reply.stream).status, INVAL);
	EXPECT_TRUE(tree.find("/data")->content.empty());
}

TEST_F(Nfs3Test, RenamesButNotOverWhatIsInUse)
{
	tree.put("/a/data", {1});
	tree.put("/b/data", {2});
	const FileHandle top = root();
	const auto rename = [&](const FileHandle &from, const std::string &name, const FileHandle &to,
				const std::string &new_name) {
		XdrWriter xdr;
		write(xdr, CallHeader{.xid = xid(), .program = NFS_PROGRAM, .version = 3, .procedure = 14});
		xdr.opaque(from);
		xdr.string(name);
		xdr.opaque(to);
		xdr.string(new_name);
		last = service.serve(xdr.take(), CONNECTION);
		XdrReader reader(last.reply.stream);
		static_cast<void>(read_reply(reader));
		return reader.u32("status");
	};
	const FileHandle a = look_up(top, "a");
	EXPECT_EQ(rename(top, "a", top, "b"), NOTEMPTY);
	EXPECT_EQ(rename(top, "a", a, "inside"), INVAL);
	EXPECT_EQ(rename(a, "data", top, "b"), ISDIR);
	EXPECT_EQ(rename(top, "a", look_up(top, "b"), "data"), NOTDIR);
	EXPECT_EQ(rename(a, "nothing", top, "b"), NOENT);
	EXPECT_EQ(rename(a, "data", look_up(top, "b"), "data"), 0U);
	expect_served("RENAME", "/a/data");
	EXPECT_EQ(tree.find("/b/data")->content, Bytes{1});
	EXPECT_EQ(rename(top, "b", top, "a"), 0U);
	EXPECT_EQ(tree.find("/a/data")->content, Bytes{1});
	EXPECT_EQ(tree.find("/b"), nullptr);
}

TEST_F(Nfs3Test, NamesThatAreNoneAreRefused)
{
	for (const std::string &name : {std::string(), std::string("a/b"), std::string("a\0b", 3)})
		EXPECT_EQ(ask(nfs3::create(xid(), root(), name)).status, INVAL) << name;
	for (const char *const name : {".", ".."}) {
		EXPECT_EQ(ask(nfs3::create(xid(), root(), name)).status, EXIST) << name;
		EXPECT_EQ(ask(nfs3::rmdir(xid(), root(), name)).status, INVAL) << name;
	}
	EXPECT_EQ(look_up(root(), ".."), root());
}

TEST_F(Nfs3Test, WhatIsSentAgainIsNotDoneAgain)
{
	const NfsCall make = nfs3::mkdir(xid(), root(), "d");
	succeed(make);
	const Served first = last;
	succeed(make);
	EXPECT_EQ(last.reply.stream, first.reply.stream);
	expect_served("MKDIR", "/d");
	EXPECT_EQ(ask(nfs3::mkdir(xid(), root(), "d")).status, EXIST);
}

TEST_F(Nfs3Test, ListsWithinItsCount)
{
	for (int i = 0; i < 100; i++)
		tree.put("/d/name-" + std::to_string(i), {});
	const FileHandle directory = look_up(root(), "d");
	const NfsResult whole = succeed(nfs3::readdir(xid(), directory, 65536));
	expect_served("READDIR", "/d");
	EXPECT_EQ(whole.names.size(), 102U);
	EXPECT_TRUE(whole.eof);
	for (std::uint32_t count = 300; count < 5000; count += 4) {
		const NfsCall call = nfs3::readdir(xid(), directory, count);
		const NfsResult part = succeed(call);
		EXPECT_FALSE(part.names.empty());
		EXPECT_EQ(part.eof, part.names.size() == 102);
		EXPECT_GT(last.reply.stream.size() + 40, part.eof ? 0 : call.longest_reply);
	}
	EXPECT_EQ(ask(nfs3::readdir(xid(), directory, 100)).status, TOOSMALL);
	EXPECT_EQ(ask(nfs3::readdir(xid(), look_up(directory, "name-0"), 4096)).status, NOTDIR);
}

TEST_F(Nfs3Test, ReplyWithoutItsItemsOrWithTooFewBytesIsMalformed)
{
	tree.put("/data", numbers(1000));
	const NfsCall call = nfs3::read(xid(), look_up(root(), "data"), 0, 1000);
	succeed(call);
	const Reduced reduced = reduce(last.reply);
	EXPECT_THROW(static_cast<void>(call.read(reduced.stream)), Malformed);
	EXPECT_THROW(static_cast<void>(call.rebuild(reduced.stream, Bytes(999))), Malformed);
	ask(nfs3::read(xid(), Bytes(12), 0, 1000));
	EXPECT_THROW(static_cast<void>(call.rebuild(last.reply.stream, Bytes(4))), Malformed);
}

// NFS version 4.1

class Nfs4Test : public ServiceTest {
    protected:
	nfs4::Session make_session(bool backchannel = true, std::uint64_t connection = CONNECTION)
	{
		nfs4::Session session;
		session.callback_program = 0x40001234;
		succeed(nfs4::exchange_id(xid(), "a client"));
		expect_served("EXCHANGE_ID", "");
		nfs4::take_exchange_id(session, last.reply.stream);
		const NfsCall create = nfs4::create_session(xid(), session, backchannel);
		last = service.serve(create.call.stream, connection);
		EXPECT_EQ(create.read(last.reply.stream).status, 0U);
		expect_served("CREATE_SESSION", "");
		nfs4::take_create_session(session, last.reply.stream);
		succeed(nfs4::reclaim_complete(xid(), session));
		expect_served("RECLAIM_COMPLETE", "");
		return session;
	}

	std::uint32_t flags_of(nfs4::Session &session)
	{
		constexpr std::size_t FLAGS = ACCEPTED_REPLY_LENGTH + 12 + 8 + 16 + 16;
		succeed(nfs4::lookup(xid(), session, "/"));
		return XdrReader(ByteView(last.reply.stream).subspan(FLAGS)).u32("sr_status_flags");
	}

	static Bytes with_xid(Bytes stream, std::uint8_t xid)
	{
		stream[3] = xid;
		return stream;
	}
};

TEST_F(Nfs4Test, ReadsWhatIsThere)
{
	const Bytes content = numbers(10001);
	tree.put("/a/data", content);
	nfs4::Session session = make_session();
	const NfsResult found = succeed(nfs4::lookup(xid(), session, "/a/data"));
	expect_served("LOOKUP", "/a/data");
	EXPECT_EQ(found.size, 10001U);
	EXPECT_EQ(succeed(nfs4::getattr(xid(), session, found.handle)).size, 10001U);
	expect_served("GETATTR", "/a/data");
	for (const std::uint32_t count : {0U, 1U, 2U, 3U, 4096U, 10001U, 20000U}) {
		const NfsCall call = nfs4::read(xid(), session, found.handle, 0, count);
		const NfsResult result = succeed(call);
		expect_served("READ", "/a/data");
		const std::size_t length = std::min<std::size_t>(count, content.size());
		EXPECT_EQ(result.count, length);
		EXPECT_EQ(result.data, Bytes(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(length)));
		EXPECT_EQ(result.eof, length == content.size());
		EXPECT_EQ(last.reply.items.size(), 1U);
		if (length == count) {
			EXPECT_EQ(last.reply.stream.size(), call.longest_reply);
		}
	}
	EXPECT_EQ(ask(nfs4::lookup(xid(), session, "/a/nothing")).status, NOENT);
	expect_served("LOOKUP", "/a/nothing");
}

TEST_F(Nfs4Test, ReadsAFileAndALinkInOneCompound)
{
	const Bytes content = numbers(5003);
	tree.put("/data", content);
	tree.put_link("/link", "data");
	nfs4::Session session = make_session();
	const FileHandle file = succeed(nfs4::lookup(xid(), session, "/data")).handle;
	const FileHandle link = succeed(nfs4::lookup(xid(), session, "/link")).handle;
	for (const std::uint32_t count : {1U, 1002U, 5003U}) {
		succeed(nfs4::read_and_readlink(xid(), session, file, count, link));
		ASSERT_EQ(last.reply.items.size(), 2U);
		EXPECT_EQ(last.reply.items[0].length, count);
		EXPECT_EQ(last.reply.items[1].length, 4U);
	}
}

TEST_F(Nfs4Test, HandlesAreThoseOfVersion3)
{
	tree.put("/data", {1});
	nfs4::Session session = make_session();
	const FileHandle handle = succeed(nfs4::lookup(xid(), session, "/data")).handle;
	EXPECT_EQ(succeed(nfs3::lookup(xid(), succeed(nfs3::mount(xid(), "/")).handle, "data")).handle, handle);
}

TEST_F(Nfs4Test, WritesOnceOrTwice)
{
	tree.put("/data", {});
	nfs4::Session session = make_session();
	const FileHandle file = succeed(nfs4::lookup(xid(), session, "/data")).handle;
	const NfsCall once = nfs4::write(xid(), session, file, 0, numbers(101));
	EXPECT_EQ(once.call.items.size(), 1U);
	EXPECT_EQ(succeed(once).count, 101U);
	expect_served("WRITE", "/data");
	EXPECT_EQ(tree.find("/data")->content, numbers(101));

	const Bytes whole = numbers(5000);
	const NfsCall twice =
		nfs4::write(xid(), session, file, 0, ByteView(whole).first(1001), ByteView(whole).subspan(1001));
	ASSERT_EQ(twice.call.items.size(), 2U);
	EXPECT_EQ(twice.call.items[0].length, 1001U);
	EXPECT_EQ(twice.call.items[1].length, 3999U);
	EXPECT_EQ(succeed(twice).count, 5000U);
	EXPECT_EQ(last.reply.stream.size(), twice.longest_reply);
	EXPECT_EQ(tree.find("/data")->content, whole);
}

TEST_F(Nfs4Test, ListsAndReadsLinks)
{
	for (int i = 0; i < 100; i++)
		tree.put("/d/name-" + std::to_string(i), {});
	tree.put_link("/link", std::string(1001, 'y'));
	nfs4::Session session = make_session();
	const FileHandle directory = succeed(nfs4::lookup(xid(), session, "/d")).handle;
	const NfsResult whole = succeed(nfs4::readdir(xid(), session, directory, 65536));
	expect_served("READDIR", "/d");
	EXPECT_EQ(whole.names.size(), 100U);
	EXPECT_TRUE(whole.eof);
	for (std::uint32_t count = 200; count < 3000; count += 4) {
		const NfsResult part = succeed(nfs4::readdir(xid(), session, directory, count));
		EXPECT_FALSE(part.eof);
		EXPECT_FALSE(part.names.empty());
		EXPECT_LT(part.names.size(), 100U);
	}
	EXPECT_EQ(ask(nfs4::readdir(xid(), session, directory, 20)).status, TOOSMALL);

	const FileHandle link = succeed(nfs4::lookup(xid(), session, "/link")).handle;
	EXPECT_EQ(succeed(nfs4::readlink(xid(), session, link)).data, Bytes(1001, 'y'));
	expect_served("READLINK", "/link");
	EXPECT_EQ(ask(nfs4::readlink(xid(), session, directory)).status, INVAL);
}

TEST_F(Nfs4Test, OpensAndDelegates)
{
	tree.put("/d/data", {1});
	nfs4::Session session = make_session();
	const FileHandle directory = succeed(nfs4::lookup(xid(), session, "/d")).handle;
	const FileHandle file = succeed(nfs4::lookup(xid(), session, "/d/data")).handle;
	EXPECT_EQ(succeed(nfs4::open(xid(), session, directory, "data")).handle, file);
	expect_served("OPEN", "/d/data");
	EXPECT_TRUE(service.delegated().empty());

	service.delegations(true);
	succeed(nfs4::open(xid(), session, directory, "data"));
	ASSERT_EQ(service.delegated().size(), 1U);
	EXPECT_EQ(service.delegated()[0].handle, file);
	EXPECT_EQ(service.delegated()[0].client, session.client);
	const Bytes delegation = service.delegated()[0].stateid;
	succeed(nfs4::open(xid(), session, directory, "data"));
	EXPECT_EQ(service.delegated().size(), 1U);
	succeed(nfs4::delegreturn(xid(), session, file, delegation));
	expect_served("DELEGRETURN", "/d/data");
	EXPECT_TRUE(service.delegated().empty());
	const NfsResult again = succeed(nfs4::open(xid(), session, directory, "data"));
	ASSERT_EQ(service.delegated().size(), 1U);
	EXPECT_EQ(again.delegation, service.delegated()[0].stateid);
	EXPECT_EQ(ask(nfs4::open(xid(), session, directory, "nothing")).status, NOENT);
	EXPECT_EQ(ask(nfs4::open(xid(), session, FileHandle(12), "data")).status, BADHANDLE);
}

TEST_F(Nfs4Test, WithoutABackchannelNothingIsDelegated)
{
	tree.put("/data", {1});
	service.delegations(true);
	nfs4::Session session = make_session(false);
	const FileHandle root = succeed(nfs4::lookup(xid(), session, "/")).handle;
	succeed(nfs4::open(xid(), session, root, "data"));
	EXPECT_TRUE(service.delegated().empty());
}

TEST_F(Nfs4Test, ASlotAnswersAgainWhatItIsAskedAgain)
{
	tree.put("/data", {1, 2, 3});
	nfs4::Session session = make_session();
	const NfsCall call = nfs4::read(9, session, succeed(nfs4::lookup(xid(), session, "/data")).handle, 0, 3);
	succeed(call);
	const Bytes first = last.reply.stream;
	tree.put("/data", {4, 5, 6});
	last = service.serve(with_xid(call.call.stream, 10), CONNECTION + 1);
	EXPECT_EQ(with_xid(last.reply.stream, 9), first);
	EXPECT_EQ(last.reply.stream[3], 10);
	expect_served("READ", "/data");
	EXPECT_EQ(last.reply.items.size(), 1U);
}

TEST_F(Nfs4Test, ASlotRefusesNumbersOutOfOrder)
{
	nfs4::Session session = make_session();
	for (const std::uint32_t ahead : {2U, 1000U, 0xfffffffeU}) {
		nfs4::Session other = session;
		other.sequence += ahead - 1;
		EXPECT_EQ(ask(nfs4::lookup(xid(), other, "/")).status, SEQ_MISORDERED) << ahead;
		expect_served("SEQUENCE", "");
	}
	succeed(nfs4::lookup(xid(), session, "/"));
}

TEST_F(Nfs4Test, WhatIsCutOffLeavesItsSlotInOrder)
{
	nfs4::Session session = make_session();
	const FileHandle root = succeed(nfs4::lookup(xid(), session, "/")).handle;
	// Within GETATTR's argument, before GETATTR, and within PUTFH's argument.
	for (const std::size_t missing : {1U, 12U, 16U}) {
		const NfsCall call = nfs4::getattr(xid(), session, root);
		Bytes stream = call.call.stream;
		stream.resize(stream.size() - missing);
		EXPECT_EQ(call.read(service.serve(stream, CONNECTION).reply.stream).status, BADXDR) << missing;
	}
	succeed(nfs4::lookup(xid(), session, "/"));
}

TEST_F(Nfs4Test, SessionsEnd)
{
	nfs4::Session session = make_session();
	succeed(nfs4::destroy_session(xid(), session));
	expect_served("DESTROY_SESSION", "");
	EXPECT_EQ(ask(nfs4::destroy_session(xid(), session)).status, BADSESSION);
	EXPECT_EQ(ask(nfs4::lookup(xid(), session, "/")).status, BADSESSION);
}

TEST_F(Nfs4Test, CreateSessionKeepsItsOrder)
{
	nfs4::Session session = make_session();
	// EXCHANGE_ID said which number comes first: with it again, the same session comes back.
	nfs4::Session again = session;
	succeed(nfs4::create_session(xid(), again, true));
	nfs4::take_create_session(again, last.reply.stream);
	EXPECT_EQ(again.id, session.id);
	again.create_sequence += 2;
	EXPECT_EQ(ask(nfs4::create_session(xid(), again, true)).status, SEQ_MISORDERED);
	again.create_sequence--;
	succeed(nfs4::create_session(xid(), again, true));
	nfs4::take_create_session(again, last.reply.stream);
	EXPECT_NE(again.id, session.id);
	again.client += 100;
	EXPECT_EQ(ask(nfs4::create_session(xid(), again, true)).status, STALE_CLIENTID);
}

TEST_F(Nfs4Test, BackchannelsGoWithTheirConnections)
{
	nfs4::Session session = make_session(true, 5);
	ASSERT_EQ(service.backchannels().size(), 1U);
	EXPECT_EQ(service.backchannels()[0].connection, 5U);
	EXPECT_EQ(service.backchannels()[0].program, 0x40001234U);
	EXPECT_EQ(service.backchannels()[0].session, session.id);

	const auto flags = [&] { return flags_of(session); };
	EXPECT_EQ(flags(), 0U);
	service.forget(4);
	EXPECT_EQ(service.backchannels().size(), 1U);
	service.forget(5);
	EXPECT_TRUE(service.backchannels().empty());
	EXPECT_EQ(flags(), 0x201U); // both paths down: the client binds another connection

	XdrWriter bind;
	write(bind, CallHeader{.xid = 1, .program = NFS_PROGRAM, .version = 4, .procedure = 1});
	bind.string("");
	for (const std::uint32_t word : {1U, 1U, 41U}) // minorversion, one operation, BIND_CONN_TO_SESSION
		bind.u32(word);
	bind.fixed(session.id);
	bind.u32(7); // CDFC4_BACK_OR_BOTH
	bind.u32(0);
	last = service.serve(bind.take(), 6);
	expect_served("BIND_CONN_TO_SESSION", "");
	ASSERT_EQ(service.backchannels().size(), 1U);
	EXPECT_EQ(service.backchannels()[0].connection, 6U);
	EXPECT_EQ(flags(), 0U);

	succeed(nfs4::destroy_session(xid(), session));
	EXPECT_TRUE(service.backchannels().empty());
}

TEST_F(Nfs4Test, ASessionWithoutABackchannelHasNoneDown)
{
	nfs4::Session session = make_session(false);
	EXPECT_TRUE(service.backchannels().empty());
	EXPECT_EQ(flags_of(session), 0U);
}

TEST_F(Nfs4Test, OnlyMinorVersion1IsServed)
{
	const NfsCall call = nfs4::exchange_id(xid(), "a client");
	XdrReader xdr(call.call.stream);
	static_cast<void>(read_call(xdr));
	const std::size_t minor_version = xdr.offset() + 4; // behind the tag
	for (const std::uint8_t version : {0, 2}) {
		Bytes stream = call.call.stream;
		ASSERT_EQ(stream[minor_version + 3], 1);
		stream[minor_version + 3] = version;
		EXPECT_EQ(call.read(service.serve(stream, CONNECTION).reply.stream).status, MINOR_VERS_MISMATCH);
	}
}

TEST_F(Nfs4Test, WithoutASessionNothingIsServed)
{
	XdrWriter xdr;
	write(xdr, CallHeader{.xid = 1, .program = NFS_PROGRAM, .version = 4, .procedure = 1});
	xdr.string("tag");
	for (const std::uint32_t word : {1U, 1U, 24U}) // minorversion, one operation, PUTROOTFH
		xdr.u32(word);
	const Served served = service.serve(xdr.take(), CONNECTION);
	XdrReader reader(served.reply.stream);
	EXPECT_EQ(read_reply(reader).status, RPC_SUCCESS);
	EXPECT_EQ(reader.u32("status"), OP_NOT_IN_SESSION);
	EXPECT_EQ(reader.string("tag"), "tag");
	EXPECT_EQ(reader.u32("results"), 1U);
	EXPECT_EQ(reader.u32("resop"), 24U);
	EXPECT_EQ(reader.u32("status"), OP_NOT_IN_SESSION);
	EXPECT_TRUE(reader.rest().empty());
}

// Callbacks

TEST(Callback, IsACallOfTheClientsProgram)
{
	const Service::Backchannel to = {.connection = 1, .program = 0x40001234, .session = Bytes(16, 7)};
	const Service::Delegation delegation = {
		.file = 2, .handle = Bytes(12, 1), .stateid = Bytes(16, 2), .client = 3};
	for (const auto &[call, procedure] : {std::pair{callback_null(5, to), 0U},
					      {callback_sequence(5, to, 0, 1), 1U},
					      {callback_recall(5, to, 0, 1, delegation), 1U},
					      {callback_recall_any(5, to, 0, 1, 3), 1U}}) {
		XdrReader xdr(call.stream);
		const CallHeader header = read_call(xdr);
		EXPECT_EQ(header.xid, 5U);
		EXPECT_EQ(header.program, 0x40001234U);
		EXPECT_EQ(header.version, 1U);
		EXPECT_EQ(header.procedure, procedure);
		EXPECT_TRUE(call.items.empty());
	}
	const Bytes sequence = callback_sequence(5, to, 0, 9).stream;
	XdrReader xdr(sequence);
	static_cast<void>(read_call(xdr));
	EXPECT_EQ(xdr.string("tag"), "");
	EXPECT_EQ(xdr.u32("minorversion"), 1U);
	EXPECT_EQ(xdr.u32("callback_ident"), 0U);
	EXPECT_EQ(xdr.u32("operations"), 1U);
	EXPECT_EQ(xdr.u32("argop"), 11U);
	const ByteView session = xdr.fixed(16, "session");
	EXPECT_TRUE(std::equal(session.begin(), session.end(), to.session.begin()));
	EXPECT_EQ(xdr.u32("sequence"), 9U);
	xdr.skip(4 + 4 + 4 + 4, "slot, highest slot, cache this, referring calls");
	EXPECT_TRUE(xdr.rest().empty());
}

TEST(Callback, HasAsManyOperationsAsItSays)
{
	const Service::Backchannel to = {.connection = 1, .program = 0x40001234, .session = Bytes(16, 7)};
	const Bytes alone = callback_sequence(5, to, 0, 9).stream;
	const Bytes recalls = callback_recall_any(5, to, 0, 9, 3).stream;
	EXPECT_EQ(recalls.size(), alone.size() + 3 * 16);
	XdrReader xdr(recalls);
	static_cast<void>(read_call(xdr));
	xdr.skip(4 + 4 + 4, "tag, minorversion, callback_ident");
	EXPECT_EQ(xdr.u32("operations"), 4U);
}

TEST(Callback, ThatOnlyProbesIsAnsweredAsAClientDoes)
{
	const Service::Backchannel to = {.connection = 1, .program = 0x40001234, .session = Bytes(16, 7)};
	EXPECT_EQ(results_of_probe(callback_null(5, to).stream), Bytes());
	const auto results = results_of_probe(callback_sequence(5, to, 3, 9).stream);
	ASSERT_TRUE(results);
	XdrReader xdr(*results);
	EXPECT_EQ(xdr.u32("status"), 0U);
	EXPECT_EQ(xdr.string("tag"), "");
	EXPECT_EQ(xdr.u32("operations"), 1U);
	EXPECT_EQ(xdr.u32("resop"), 11U);
	EXPECT_EQ(xdr.u32("status"), 0U);
	const ByteView session = xdr.fixed(16, "session");
	EXPECT_TRUE(std::equal(session.begin(), session.end(), to.session.begin()));
	EXPECT_EQ(xdr.u32("sequence"), 9U);
	EXPECT_EQ(xdr.u32("slot"), 3U);
	xdr.skip(4 + 4, "highest slots");
	EXPECT_TRUE(xdr.rest().empty());
}

TEST(Callback, ThatWantsMoreIsNoProbe)
{
	const Service::Backchannel to = {.connection = 1, .program = 0x40001234, .session = Bytes(16, 7)};
	const Service::Delegation delegation = {
		.file = 2, .handle = Bytes(12, 1), .stateid = Bytes(16, 2), .client = 3};
	const Bytes recall = callback_recall(5, to, 0, 1, delegation).stream;
	EXPECT_EQ(results_of_probe(recall), std::nullopt);
	EXPECT_EQ(results_of_probe(callback_recall_any(5, to, 0, 1, 1).stream), std::nullopt);
	EXPECT_EQ(results_of_recall(recall).size(), 60U);
	EXPECT_THROW(static_cast<void>(results_of_recall(callback_sequence(5, to, 0, 1).stream)), Malformed);
}

// A server says which Calls of the client's a callback refers to (RFC 8881, 2.10.6.3).
TEST(Callback, MayReferToOtherCalls)
{
	const Service::Backchannel to = {.connection = 1, .program = 0x40001234, .session = Bytes(16, 7)};
	Bytes call = callback_sequence(5, to, 0, 9).stream;
	call.resize(call.size() - 4);
	XdrWriter lists;
	lists.u32(1);
	lists.fixed(to.session);
	lists.u32(2);
	for (int i = 0; i < 2; i++)
		lists.u64(i);
	const Bytes behind = lists.take();
	call.insert(call.end(), behind.begin(), behind.end());
	EXPECT_TRUE(results_of_probe(call));
	call.resize(call.size() - 1);
	EXPECT_THROW(static_cast<void>(results_of_probe(call)), Malformed);
}

TEST(Callback, ItsReplyIsRead)
{
	XdrWriter null;
	write(null, ReplyHeader{});
	EXPECT_EQ(read_callback_reply(null.take()), 0U);
	XdrWriter compound;
	write(compound, ReplyHeader{});
	compound.u32(BADSESSION);
	EXPECT_EQ(read_callback_reply(compound.take()), BADSESSION);
	XdrWriter refused;
	write(refused, ReplyHeader{.status = RPC_PROG_UNAVAIL});
	EXPECT_THROW(static_cast<void>(read_callback_reply(refused.take())), Malformed);
}

} // namespace
} // namespace peer
