// SPDX-License-Identifier: GPL-2.0-only

#include "service/test_service.hh"

namespace peer {
namespace {

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

} // namespace
} // namespace peer
