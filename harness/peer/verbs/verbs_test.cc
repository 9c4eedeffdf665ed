// SPDX-License-Identifier: GPL-2.0-only
//
// A connection of the peer with itself. It needs an RDMA device: PEER_TEST_ADDRESS is its address, and
// harness/tests/peer/test_verbs.py runs these tests where there is one.

#include <future>
#include <poll.h>

#include <gtest/gtest.h>

#include "verbs/cm.hh"
#include "verbs/test_device.hh"

namespace peer {
namespace {

using namespace std::chrono_literals;

const Bytes HELLO = {'h', 'e', 'l', 'l', 'o'};

class Verbs : public testing::Test {
    protected:
	struct Ends {
		Connection requester;
		Connection responder;
	};

	std::future<Connection> connecting(const ConnectionSettings &settings = {}, Clock::duration patience = 20s)
	{
		return std::async(std::launch::async, [this, settings, patience] {
			return Connection::connect(device_address(), listener.port(), settings,
						   Clock::now() + patience);
		});
	}

	Request request()
	{
		std::optional<Request> request = listener.wait(soon());
		if (!request)
			throw std::runtime_error("no connection request came");
		return std::move(*request);
	}

	Ends connect(const ConnectionSettings &requester = {}, const ConnectionSettings &responder = {})
	{
		std::future<Connection> connection = connecting(requester);
		Connection accepted = request().accept(responder, soon());
		return {connection.get(), std::move(accepted)};
	}

	Listener listener{device_address(), 0};
};

Message message_from(Connection &connection)
{
	Event event = connection.receive(soon());
	if (const auto *closed = std::get_if<Closed>(&event))
		throw std::runtime_error("closed in the place of a message: " + closed->reason);
	return std::get<Message>(std::move(event));
}

Closed end_of(Connection &connection)
{
	return std::get<Closed>(connection.receive(soon()));
}

TEST_F(Verbs, MessagesArriveInTheOrderInWhichTheyWereSent)
{
	Ends ends = connect();
	std::vector<Bytes> messages;
	for (std::uint8_t i = 0; i < 200; i++)
		messages.push_back(Bytes(i, i));
	// More than the send queue and the Receives hold at once.
	auto sent = std::async(std::launch::async, [&] { return ends.requester.send_all(messages, soon()); });
	for (const Bytes &message : messages)
		EXPECT_EQ(message_from(ends.responder).bytes, message);
	EXPECT_TRUE(sent.get().ok);
	EXPECT_TRUE(std::holds_alternative<TimedOut>(ends.responder.receive(Clock::now())));
}

TEST_F(Verbs, PrivateDataReachTheOtherEnd)
{
	std::future<Connection> connection = connecting({.private_data = Bytes(56, 0xaa)});
	Request asked = request();
	EXPECT_EQ(asked.private_data(), Bytes(56, 0xaa));
	const Connection accepted = std::move(asked).accept({.private_data = Bytes(196, 0xbb)}, soon());
	EXPECT_EQ(accepted.private_data(), Bytes(56, 0xaa));
	EXPECT_EQ(connection.get().private_data(), Bytes(196, 0xbb));
	EXPECT_THROW(connecting({.private_data = Bytes(57)}).get(), VerbsError);
}

TEST_F(Verbs, ReadsOutstandingAreAskedForAndOffered)
{
	std::future<Connection> connection = connecting({.responder_resources = 5, .initiator_depth = 0});
	Request asked = request();
	EXPECT_EQ(asked.responder_resources(), 5U);
	EXPECT_EQ(asked.initiator_depth(), 0U);
	const Connection accepted = std::move(asked).accept({}, soon());
	EXPECT_TRUE(connection.get().connected());
}

TEST_F(Verbs, ARejectionHasItsPrivateData)
{
	std::future<Connection> connection = connecting();
	request().reject(HELLO);
	try {
		connection.get();
		FAIL() << "connected";
	} catch (const NotConnected &refusal) {
		EXPECT_EQ(refusal.why, NotConnected::Why::rejected);
		ASSERT_GE(refusal.private_data.size(), HELLO.size());
		EXPECT_TRUE(std::equal(HELLO.begin(), HELLO.end(), refusal.private_data.begin()));
	}
}

TEST_F(Verbs, ARequestThatIsDroppedIsRejected)
{
	std::future<Connection> connection = connecting();
	static_cast<void>(request());
	try {
		connection.get();
		FAIL() << "connected";
	} catch (const NotConnected &refusal) {
		EXPECT_EQ(refusal.why, NotConnected::Why::rejected);
	}
}

TEST_F(Verbs, ARequestThatIsIgnoredGetsNoAnswer)
{
	std::future<Connection> connection = connecting({}, 2s);
	request().ignore();
	try {
		connection.get();
		FAIL() << "connected";
	} catch (const NotConnected &refusal) {
		EXPECT_EQ(refusal.why, NotConnected::Why::timeout);
	}
}

TEST_F(Verbs, AConnectionThatIsNotEstablishedIsWaitedForByNobodyAndClosed)
{
	const cm::Channel channel = cm::make_channel();
	cm::Id requester = cm::make_id(channel);
	cm::resolve(channel, requester.get(), device_address(), listener.port(), soon());
	// Who has no queue pair has to say by himself that it is established. Over iWARP nobody can be without.
	if (requester->verbs->device->transport_type == IBV_TRANSPORT_IWARP)
		GTEST_SKIP() << "the device connects nothing but queue pairs";
	rdma_conn_param parameters{};
	ASSERT_EQ(rdma_connect(requester.get(), &parameters), 0);
	Connection accepted = request().accept({});
	const std::optional<cm::Event> event = cm::wait_for_event(channel, soon());
	ASSERT_TRUE(event);
	EXPECT_EQ(event->type, RDMA_CM_EVENT_CONNECT_RESPONSE);
	EXPECT_TRUE(std::holds_alternative<TimedOut>(accepted.receive(Clock::now())));
	requester.reset();
	const Closed end = end_of(accepted);
	EXPECT_EQ(end.reason, "the other end did not establish the connection");
	EXPECT_FALSE(end.was_established);
}

TEST_F(Verbs, NobodyListens)
{
	try {
		Connection::connect(device_address(), 1, {}, soon());
		FAIL() << "connected";
	} catch (const NotConnected &refusal) {
		EXPECT_EQ(refusal.why, NotConnected::Why::rejected);
		EXPECT_NE(std::string(refusal.what()).find("nobody listens"), std::string::npos) << refusal.what();
	}
}

TEST_F(Verbs, ReadAndWriteReachRegisteredMemory)
{
	for (const Access access : {Access::read_write, Access::window_read_write}) {
		Ends ends = connect();
		ASSERT_TRUE(ends.requester.has_windows());
		Memory offered(ends.requester, 8192, access);
		Memory local(ends.responder, 4096, Access::none);
		std::fill(local.bytes().begin(), local.bytes().end(), 0x5a);
		EXPECT_TRUE(ends.responder.write(local, 100, 10, offered.segment(8000, 10), soon()).ok);
		EXPECT_EQ(offered.bytes()[7999], 0);
		EXPECT_EQ(offered.bytes()[8000], 0x5a);
		EXPECT_EQ(offered.bytes()[8009], 0x5a);
		EXPECT_EQ(offered.bytes()[8010], 0);

		std::copy(HELLO.begin(), HELLO.end(), offered.bytes().begin() + 4094);
		EXPECT_TRUE(ends.responder.read(offered.segment(4094, HELLO.size()), local, 7, soon()).ok);
		EXPECT_TRUE(std::equal(HELLO.begin(), HELLO.end(), local.bytes().begin() + 7));
	}
}

TEST_F(Verbs, WhatIsNotOfferedCannotBeReached)
{
	for (const Access access : {Access::read, Access::window_read, Access::none}) {
		Ends ends = connect();
		Memory offered(ends.requester, 4096, access);
		Memory local(ends.responder, 4096, Access::none);
		std::fill(local.bytes().begin(), local.bytes().end(), 1);
		const Transferred written = ends.responder.write(local, 0, 4096, offered.segment(), soon());
		EXPECT_FALSE(written.ok);
		EXPECT_EQ(written.status, "remote access error");
		EXPECT_EQ(offered.bytes()[0], 0);
		EXPECT_FALSE(end_of(ends.responder).by_disconnect);
	}
}

TEST_F(Verbs, AWriteIsConfirmedWhereItIsLet)
{
	for (const Access access : {Access::write, Access::window_write, Access::read}) {
		Ends ends = connect();
		Memory offered(ends.requester, 4096, access);
		Memory local(ends.responder, 4096, Access::none);
		std::fill(local.bytes().begin(), local.bytes().end(), 1);
		const Transferred written = ends.responder.write_and_confirm(local, 0, 4096, offered.segment(), soon());
		EXPECT_EQ(written.ok, access != Access::read) << written.status;
		EXPECT_FALSE(written.inconclusive);
		EXPECT_EQ(offered.bytes()[4095], access != Access::read ? 1 : 0);
	}
}

TEST_F(Verbs, ASendWithInvalidateTakesAWindowAway)
{
	Ends ends = connect();
	const Memory offered(ends.requester, 4096, Access::window_write);
	const Memory other(ends.requester, 4096, Access::window_write);
	const Memory local(ends.responder, 4096, Access::none);
	EXPECT_TRUE(ends.responder.send(HELLO, offered.segment().handle, soon()).ok);
	const Message message = message_from(ends.requester);
	EXPECT_EQ(message.bytes, HELLO);
	EXPECT_EQ(message.invalidated, offered.segment().handle);
	EXPECT_TRUE(ends.responder.write(local, 0, 1, other.segment(), soon()).ok);
	EXPECT_FALSE(ends.responder.write(local, 0, 1, offered.segment(), soon()).ok);
}

TEST_F(Verbs, AMessageIsToldBeforeTheEndThatFollowedIt)
{
	Ends ends = connect();
	EXPECT_TRUE(ends.requester.send(HELLO, {}, soon()).ok);
	ends.requester.disconnect();
	EXPECT_EQ(message_from(ends.responder).bytes, HELLO);
	EXPECT_TRUE(end_of(ends.responder).by_disconnect);
	EXPECT_FALSE(ends.responder.connected());
	EXPECT_FALSE(ends.responder.send(HELLO, {}, soon()).ok);
	EXPECT_FALSE(end_of(ends.requester).by_disconnect);
}

TEST_F(Verbs, WhoHasDisconnectedReceivesNothingMore)
{
	Ends ends = connect();
	EXPECT_TRUE(ends.requester.send(HELLO, {}, soon()).ok);
	ends.responder.disconnect();
	EXPECT_FALSE(end_of(ends.responder).by_disconnect);
}

TEST_F(Verbs, AConnectionThatGoesDisconnects)
{
	std::optional<Ends> ends = connect();
	Connection responder = std::move(ends->responder);
	ends.reset();
	EXPECT_TRUE(end_of(responder).by_disconnect);
}

TEST_F(Verbs, AMessageThatIsTooLongBreaksBothEnds)
{
	Ends ends = connect({}, {.receive_size = 1024});
	EXPECT_TRUE(ends.requester.send(Bytes(1024), {}, soon()).ok);
	EXPECT_EQ(message_from(ends.responder).bytes.size(), 1024U);
	EXPECT_FALSE(ends.requester.send(Bytes(1025), {}, soon()).ok);
	EXPECT_FALSE(end_of(ends.responder).by_disconnect);
}

TEST_F(Verbs, WhoVanishesTellsNobody)
{
	Ends ends = connect();
	Memory window(ends.requester, 4096, Access::window_read);
	ends.requester.vanish();
	EXPECT_FALSE(ends.requester.connected());
	EXPECT_TRUE(std::holds_alternative<TimedOut>(ends.responder.receive(Clock::now() + 2s)));
	EXPECT_FALSE(ends.responder.send(HELLO, {}, Clock::now() + 2s).ok);
	EXPECT_FALSE(ends.responder.connected());
}

TEST_F(Verbs, WhatIsSentBehindTheEndNeverGoesOut)
{
	Ends ends = connect();
	ends.responder.disconnect();
	EXPECT_TRUE(end_of(ends.requester).by_disconnect);
	const Transferred sent = ends.requester.send(HELLO, {}, soon());
	EXPECT_FALSE(sent.ok);
	EXPECT_TRUE(sent.inconclusive);
}

TEST_F(Verbs, WhatARefusalEndsHasGoneOut)
{
	Ends ends = connect({}, {.receive_size = 1024});
	const Transferred sent = ends.requester.send_all(std::vector<Bytes>(300, Bytes(1025)), soon());
	EXPECT_FALSE(sent.ok);
	EXPECT_FALSE(sent.inconclusive);
}

TEST_F(Verbs, WithoutReceivesASendDoesNotArrive)
{
	Ends ends = connect({}, {.receives = 0});
	const Transferred sent = ends.requester.send(HELLO, {}, Clock::now() + 2s);
	EXPECT_FALSE(sent.ok);
	EXPECT_FALSE(ends.requester.connected());
}

TEST_F(Verbs, WithoutRetriesASendHasToFindAReceive)
{
	Ends ends = connect({.rnr_retry = false}, {.private_data = HELLO, .receives = 1});
	EXPECT_EQ(Bytes(ends.requester.private_data().begin(), ends.requester.private_data().begin() + HELLO.size()),
		  HELLO);
	ASSERT_TRUE(ends.requester.send(HELLO, {}, soon()).ok);
	EXPECT_EQ(message_from(ends.responder).bytes, HELLO);
	ASSERT_TRUE(ends.responder.send(HELLO, {}, soon()).ok);
	EXPECT_EQ(message_from(ends.requester).bytes, HELLO);

	// The other end posts its Receive again when it looks, which it does not.
	EXPECT_TRUE(ends.requester.send(HELLO, {}, soon()).ok);
	EXPECT_FALSE(ends.requester.send(HELLO, {}, soon()).inconclusive);
	static_cast<void>(end_of(ends.requester));
}

bool is_readable(const std::vector<int> &descriptors)
{
	wait_for_any(descriptors, soon());
	bool readable = false;
	for (const int descriptor : descriptors) {
		pollfd polled{.fd = descriptor, .events = POLLIN, .revents = 0};
		readable |= poll(&polled, 1, 0) == 1;
	}
	return readable;
}

TEST_F(Verbs, DescriptorsTellOfNews)
{
	Ends ends = connect();
	Clock::time_point before = Clock::now();
	wait_for_any(ends.responder.descriptors(), before + 300ms);
	EXPECT_GE(Clock::now() - before, 300ms);

	EXPECT_TRUE(ends.requester.send(HELLO, {}, soon()).ok);
	EXPECT_TRUE(is_readable(ends.responder.descriptors()));
	// Still so when this end has seen the message, but nobody has asked for it.
	EXPECT_TRUE(ends.responder.send(HELLO, {}, soon()).ok);
	EXPECT_TRUE(is_readable(ends.responder.descriptors()));
	EXPECT_EQ(message_from(ends.responder).bytes, HELLO);

	ends.requester.disconnect();
	EXPECT_TRUE(is_readable(ends.responder.descriptors()));
	EXPECT_TRUE(end_of(ends.responder).by_disconnect);
	EXPECT_TRUE(is_readable(ends.responder.descriptors()));
}

TEST_F(Verbs, APortThatIsTakenIsNamed)
{
	try {
		const Listener second(device_address(), listener.port());
		FAIL() << "listens twice";
	} catch (const VerbsError &error) {
		EXPECT_NE(std::string(error.what()).find(std::to_string(listener.port())), std::string::npos);
	}
}

} // namespace
} // namespace peer
