// SPDX-License-Identifier: GPL-2.0-only

#include "service/test_service.hh"

namespace peer {
namespace {

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

} // namespace
} // namespace peer
