// SPDX-License-Identifier: GPL-2.0-only

#include <gtest/gtest.h>

#include "codec/rpc.hh"

namespace peer {
namespace {

Bytes written(const auto &header)
{
	XdrWriter xdr;
	write(xdr, header);
	return xdr.take();
}

CallHeader call_in(const Bytes &stream)
{
	XdrReader xdr(stream);
	const CallHeader call = read_call(xdr);
	EXPECT_TRUE(xdr.rest().empty());
	return call;
}

ReplyHeader reply_in(const Bytes &stream)
{
	XdrReader xdr(stream);
	const ReplyHeader reply = read_reply(xdr);
	EXPECT_TRUE(xdr.rest().empty());
	return reply;
}

TEST(Rpc, ACallIsAsRfc5531HasIt)
{
	const Bytes expected = {1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0x86, 0xa3, 0, 0, 0, 3,
				0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,	0,    0, 0, 0, 0};
	EXPECT_EQ(written(CallHeader{
			  .xid = 0x01020304, .program = NFS_PROGRAM, .version = 3, .procedure = 6, .auth_sys = false}),
		  expected);
}

TEST(Rpc, ACallThatIsReadIsTheOneThatWasWritten)
{
	for (const bool auth_sys : {false, true}) {
		const CallHeader call = call_in(written(CallHeader{
			.xid = 7, .program = MOUNT_PROGRAM, .version = 3, .procedure = 1, .auth_sys = auth_sys}));
		EXPECT_EQ(call.xid, 7U);
		EXPECT_EQ(call.program, MOUNT_PROGRAM);
		EXPECT_EQ(call.version, 3U);
		EXPECT_EQ(call.procedure, 1U);
		EXPECT_EQ(call.auth_sys, auth_sys);
		EXPECT_TRUE(call.known_flavour);
		EXPECT_EQ(call.rpc_version, RPC_VERSION);
	}
}

TEST(Rpc, OfAnotherRpcVersionOnlyThatIsRead)
{
	const Bytes stream = {0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 3};
	const CallHeader call = call_in(stream);
	EXPECT_EQ(call.xid, 9U);
	EXPECT_EQ(call.rpc_version, 3U);
}

TEST(Rpc, CredentialsOfOtherFlavoursAreTold)
{
	Bytes stream = written(CallHeader{.auth_sys = false});
	constexpr std::size_t FLAVOUR = 27;
	stream[FLAVOUR] = 6; // RPCSEC_GSS
	const CallHeader call = call_in(stream);
	EXPECT_FALSE(call.known_flavour);
	EXPECT_FALSE(call.auth_sys);
}

TEST(Rpc, ACallThatEndsTooSoonIsMalformed)
{
	const Bytes whole = written(CallHeader{});
	for (std::size_t length = 0; length < whole.size(); length++) {
		XdrReader xdr(ByteView(whole).first(length));
		EXPECT_THROW(static_cast<void>(read_call(xdr)), Malformed) << length;
	}
}

TEST(Rpc, LongCredentialsAreMalformed)
{
	for (const std::uint32_t length : {400U, 401U}) {
		XdrWriter writer;
		for (const std::uint32_t word : {1U, 0U, 2U, 100003U, 3U, 0U, 1U})
			writer.u32(word);
		writer.opaque(Bytes(length));
		writer.u64(0);
		const Bytes stream = writer.take();
		XdrReader xdr(stream);
		if (length == 400)
			EXPECT_TRUE(read_call(xdr).auth_sys);
		else
			EXPECT_THROW(static_cast<void>(read_call(xdr)), Malformed);
	}
}

TEST(Rpc, ReplyThatIsReadIsTheOneThatWasWritten)
{
	for (const ReplyHeader &header : {
		     ReplyHeader{.xid = 5},
		     ReplyHeader{.xid = 5, .status = RPC_GARBAGE_ARGS},
		     ReplyHeader{.xid = 5, .status = RPC_PROG_MISMATCH, .lowest = 3, .highest = 4},
		     ReplyHeader{.xid = 5, .accepted = false, .status = RPC_MISMATCH, .lowest = 2, .highest = 2},
		     ReplyHeader{.xid = 5,
		     .accepted = false,
		     .status = RPC_AUTH_ERROR,
		     .auth_status = AUTH_REJECTED_CREDENTIALS},
	     }) {
		const ReplyHeader reply = reply_in(written(header));
		EXPECT_EQ(reply.xid, header.xid);
		EXPECT_EQ(reply.accepted, header.accepted);
		EXPECT_EQ(reply.status, header.status);
		EXPECT_EQ(reply.lowest, header.lowest);
		EXPECT_EQ(reply.highest, header.highest);
		EXPECT_EQ(reply.auth_status, header.auth_status);
	}
	EXPECT_EQ(written(ReplyHeader{}).size(), ACCEPTED_REPLY_LENGTH);
}

TEST(Rpc, UndefinedDiscriminatorsAreMalformed)
{
	const Bytes good = written(ReplyHeader{});
	for (const auto &[at, value] : {std::pair{7, 0}, {7, 2}, {11, 2}, {23, 6}}) {
		Bytes stream = good;
		stream[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(value);
		XdrReader xdr(stream);
		EXPECT_THROW(static_cast<void>(read_reply(xdr)), Malformed) << at;
	}
	Bytes denied = written(ReplyHeader{.accepted = false});
	denied[15] = 2;
	XdrReader xdr(denied);
	EXPECT_THROW(static_cast<void>(read_reply(xdr)), Malformed);
}

TEST(Rpc, CallsAreToldFromReplies)
{
	EXPECT_EQ(is_call(written(CallHeader{})), true);
	EXPECT_EQ(is_call(written(ReplyHeader{})), false);
	EXPECT_EQ(is_call(Bytes{0, 0, 0, 1, 0, 0, 0}), std::nullopt);
	EXPECT_EQ(is_call(Bytes{0, 0, 0, 1, 0, 0, 0, 2}), std::nullopt);
	EXPECT_EQ(is_call(Bytes{0, 0, 0, 1, 1, 0, 0, 0}), std::nullopt);
}

TEST(Rpc, AnItemIsRestoredWithItsPadding)
{
	const Bytes reduced = {1, 2, 3, 4, 9, 9, 9, 9};
	const Bytes whole = {1, 2, 3, 4, 5, 6, 7, 0, 9, 9, 9, 9};
	EXPECT_EQ(restore(reduced, {.offset = 4, .length = 3}, Bytes{5, 6, 7}), whole);
	EXPECT_THROW(static_cast<void>(restore(reduced, {.offset = 4, .length = 4}, Bytes{5, 6, 7})), Malformed);
	EXPECT_THROW(static_cast<void>(restore(reduced, {.offset = 9, .length = 3}, Bytes{5, 6, 7})), Malformed);
}

} // namespace
} // namespace peer
