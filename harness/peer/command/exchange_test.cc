// SPDX-License-Identifier: GPL-2.0-only
//
// NULL calls to a server that is here: how a requester deals with what it may be answered. Like verbs_test.cc, these
// tests need an RDMA device, whose address is PEER_TEST_ADDRESS.

#include <functional>
#include <future>

#include <gtest/gtest.h>

#include "command/exchange.hh"
#include "verbs/test_device.hh"

namespace peer {
namespace {

using namespace std::chrono_literals;

constexpr unsigned DEPTH = 8;

class VerbsNullCalls : public testing::Test {
    protected:
	void SetUp() override
	{
		auto accepted = std::async(std::launch::async,
					   [this] { return std::move(*listener.wait(soon())).accept({}, soon()); });
		calls.emplace(Address{device_address(), listener.port()}, 3,
			      ExchangeSettings{.depth = DEPTH, .patience = 20s});
		server.emplace(accepted.get());
	}

	/// The header of the next Call, which has to be one of NULL.
	Header next_call()
	{
		const Event event = server->receive(soon());
		const Decoded call = decode(std::get<Message>(event).bytes);
		XdrReader xdr(call.payload);
		const CallHeader rpc = read_call(xdr);
		EXPECT_EQ(rpc.xid, call.header.xid);
		EXPECT_EQ(rpc.program, NFS_PROGRAM);
		EXPECT_EQ(rpc.version, 3U);
		EXPECT_EQ(rpc.procedure, 0U);
		EXPECT_TRUE(xdr.rest().empty());
		return call.header;
	}

	void answer(const Header &header, const ReplyHeader &reply)
	{
		Bytes message = encode(header);
		XdrWriter rpc;
		write(rpc, reply);
		const Bytes payload = rpc.take();
		message.insert(message.end(), payload.begin(), payload.end());
		EXPECT_TRUE(server->send(message, {}, soon()).ok);
	}

	void answer(const Header &header) { answer(header, ReplyHeader{.xid = header.xid}); }

	/// Has one Call answered with this header.
	void expect_violation(Header header)
	{
		calls->send(1);
		header.xid += next_call().xid;
		answer(header);
		EXPECT_THROW(calls->take_answer(), Violation);
	}

	Listener listener{device_address(), 0};
	std::optional<NullCalls> calls;
	std::optional<Connection> server;
};

TEST_F(VerbsNullCalls, KeepToTheCreditsThatAreGranted)
{
	EXPECT_EQ(calls->room(), 1U);
	calls->send(1);
	EXPECT_EQ(calls->room(), 0U);
	EXPECT_FALSE(calls->try_answer());

	const Header first = next_call();
	EXPECT_EQ(first.credits, DEPTH);
	answer({.xid = first.xid, .credits = 3});
	calls->take_answer();
	EXPECT_EQ(calls->room(), 3U);

	calls->send(3);
	EXPECT_EQ(calls->room(), 0U);
	answer({.xid = next_call().xid, .credits = 2});
	calls->take_answer();
	// Two are on their way, which is all that is granted now.
	EXPECT_EQ(calls->room(), 0U);

	answer({.xid = next_call().xid, .credits = 100});
	calls->take_answer();
	EXPECT_EQ(calls->room(), DEPTH - 1);
}

TEST_F(VerbsNullCalls, WantNoReplyToAnythingElse)
{
	expect_violation({.xid = 1, .credits = 1});
}

TEST_F(VerbsNullCalls, WantNoError)
{
	expect_violation({.credits = 1, .type = RDMA_ERROR, .error = ERR_CHUNK});
}

TEST_F(VerbsNullCalls, WantCredits)
{
	expect_violation({.credits = 0});
}

TEST_F(VerbsNullCalls, WantTheirProgram)
{
	calls->send(1);
	const Header call = next_call();
	answer({.xid = call.xid}, {.xid = call.xid, .status = RPC_PROG_MISMATCH});
	EXPECT_THROW(calls->take_answer(), Violation);
}

TEST_F(VerbsNullCalls, WantAReplyToEachOnlyOnce)
{
	calls->send(1);
	const Header call = next_call();
	answer({.xid = call.xid});
	answer({.xid = call.xid});
	calls->take_answer();
	EXPECT_THROW(calls->take_answer(), Violation);
}

TEST_F(VerbsNullCalls, TellOfTheConnectionsEnd)
{
	calls->send(1);
	server->disconnect();
	EXPECT_THROW(calls->take_answer(), Violation);
}

} // namespace
} // namespace peer
