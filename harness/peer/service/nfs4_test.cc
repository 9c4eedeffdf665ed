// SPDX-License-Identifier: GPL-2.0-only

#include "service/test_service.hh"

namespace peer {
namespace {

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

} // namespace
} // namespace peer
