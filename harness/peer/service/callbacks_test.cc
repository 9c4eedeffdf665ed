// SPDX-License-Identifier: GPL-2.0-only

#include "service/test_service.hh"

namespace peer {
namespace {

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
