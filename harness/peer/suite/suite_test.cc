// SPDX-License-Identifier: GPL-2.0-only
//
// That cases fail where they should: against a client that is made up here, and against the server of the machine.
// Like verbs_test.cc, these tests need an RDMA device; PEER_TEST_EXPORT is what the NFS server at its address exports.

#include <functional>
#include <future>
#include <map>
#include <thread>

#include <gtest/gtest.h>

#include "engine/responder.hh"
#include "service/programs.hh"
#include "suite/client_suite.hh"
#include "suite/export.hh"
#include "suite/server_case.hh"
#include "suite/words.hh"
#include "verbs/test_device.hh"

// It keeps 16 bytes of every client that it makes.
extern "C" const char *__lsan_default_suppressions()
{
	return "leak:libtirpc";
}

namespace peer {
namespace {

constexpr std::uint16_t PORT = 20070;
constexpr std::uint16_t MOUNT_PORT = 20071;
// Some cases last as long as it does, or several times as long.
constexpr Patience PATIENCE = {.answer = std::chrono::seconds(5)};
// Of cases that do not wait in vain.
constexpr Patience MORE_PATIENCE = {.answer = std::chrono::seconds(10)};
const std::string TITLE = "# RFC 8166, 3, MUST: title\n";

// A client that does what a test has it do to the file of a case, and says that it has read what the file holds.
class MadeUpClient {
    public:
	MadeUpClient()
		: connection(Connection::connect(device_address(), PORT, {.private_data = encode(usual_private_data())},
						 soon()))
	{
	}

	Reply call(const NfsCall &call, const std::vector<Line> &block = {})
	{
		const Transaction transaction(connection, {}, call, Style::in_line, block, {});
		send(transaction.frame().bytes());
		for (;;) {
			const Event event = connection.receive(soon());
			if (const auto *const message = std::get_if<Message>(&event);
			    message && XdrReader(message->bytes).u32("XID") == transaction.frame().header.xid)
				return transaction.judge(*message);
			if (!std::holds_alternative<Message>(event))
				throw std::runtime_error("no Reply came");
		}
	}

	// A Call whose Reply is not waited for.
	void post(const NfsCall &call)
	{
		send(Transaction(connection, {}, call, Style::in_line, {}, {}).frame().bytes());
	}

	void send(ByteView message)
	{
		if (!connection.send(message, {}, soon()).ok)
			throw std::runtime_error("a message could not be sent");
	}

	FileHandle find(const std::string &path)
	{
		FileHandle found = Files::handle({.id = ROOT});
		for (const char *const part : {"cases", "x", path.c_str()})
			found = call(nfs3::lookup(++xid, found, part)).result.handle;
		return found;
	}

	NfsCall read_of_the_case() { return nfs3::read(++xid, find("data"), 0, 512); }

	// The case is about 512 bytes of its file; other 8 KiB have to be read well, too.
	void tell(int status, ByteView data)
	{
		const std::string text = std::to_string(status) + "\n" + cksum_line(data) + " data\n" +
					 cksum_line(pattern(0, 8192, 2)) + " good\n\nend\n";
		const FileHandle root = Files::handle({.id = ROOT});
		const FileHandle results = call(nfs3::lookup(++xid, root, "results")).result.handle;
		// A link's text is its content.
		call(nfs3::symlink(++xid, results, "x", text));
	}

	Connection connection;
	std::uint32_t xid = 1;
};

using Work = std::function<void(MadeUpClient &)>;

void read_well(MadeUpClient &client)
{
	client.tell(0, client.call(client.read_of_the_case()).result.data);
}

// What a case comes to for such a client.
CaseResult run(const std::string &steps, const Work &work)
{
	const Case test = parse_case("client/x", TITLE + "client read 512\n" + steps);
	std::future<void> client;
	CaseResult result;
	ClientHooks hooks;
	hooks.ready = [&] {
		client = std::async(std::launch::async, [&] {
			MadeUpClient made_up;
			work(made_up);
			// Until the suite ends.
			made_up.connection.receive(soon());
		});
	};
	hooks.begun = [](const Case &) {};
	hooks.told = [&](const CaseResult &told) { result = told; };
	run_client_cases({test},
			 {.host = device_address(), .port = PORT, .mount_port = MOUNT_PORT, .patience = PATIENCE},
			 hooks);
	try {
		client.get();
	} catch (const std::runtime_error &) {
		// A client that is not answered any more has nothing to say.
	}
	return result;
}

TEST(Cksum, IsThatOfPosix)
{
	const std::string digits = "123456789";
	EXPECT_EQ(cksum_line({}), "4294967295 0");
	EXPECT_EQ(cksum_line(Bytes(digits.begin(), digits.end())), "930766865 9");
}

void expect_failure(const CaseResult &result, const std::string &reason)
{
	EXPECT_EQ(result.outcome, Outcome::failed);
	EXPECT_NE(result.came.find(reason), std::string::npos) << result.came;
}

TEST(VerbsClientCase, PassesForAClientThatBehaves)
{
	const CaseResult result = run("on READ\nexpect call\n    type = MSG\nanswer\nexpect client ok\n"
				      "expect connection kept\n",
				      read_well);
	EXPECT_EQ(result.outcome, Outcome::passed) << result.came;
}

TEST(VerbsClientCase, FailsWhereTheClientReadsOtherData)
{
	expect_failure(run("on READ\nanswer\nexpect client ok\n",
			   [](MadeUpClient &client) {
				   Bytes data = client.call(client.read_of_the_case()).result.data;
				   data.back() ^= 1;
				   client.tell(0, data);
			   }),
		       "other data");
}

TEST(VerbsClientCase, FailsWhereTheClientFailsOrDoesNot)
{
	expect_failure(run("on READ\nanswer\nexpect client ok\n",
			   [](MadeUpClient &client) {
				   client.call(client.read_of_the_case());
				   client.tell(1, {});
			   }),
		       "the client's operation failed");
	expect_failure(run("on READ\nanswer\nexpect client EIO\n", read_well), "succeeded");
}

TEST(VerbsClientCase, FailsForATypeThatMayNotBeSent)
{
	for (const std::uint32_t type : {RDMA_MSGP, RDMA_DONE})
		expect_failure(run("on READ\nanswer\nexpect client ok\n",
				   [type](MadeUpClient &client) {
					   client.send(encode(Header{.xid = ++client.xid, .type = type}));
					   read_well(client);
				   }),
			       "bis-04, 5.6");
}

TEST(VerbsClientCase, FailsWhereMoreIsOutstandingThanWasGranted)
{
	// The first Call on a connection has to be alone.
	expect_failure(run("on LOOKUP anywhere\nserve 500\nanswer\nexpect client ok\n",
			   [](MadeUpClient &client) {
				   const FileHandle root = Files::handle({.id = ROOT});
				   client.post(nfs3::lookup(++client.xid, root, "cases"));
				   client.post(nfs3::null(++client.xid));
				   read_well(client);
			   }),
		       "2 Calls are outstanding where 1 may be");
}

// RFC 8166 allows both (3.3.1 binds what is granted).
TEST(VerbsClientCase, PassesWhereAClientAsksForNoCreditOrOffersNoBytes)
{
	const CaseResult result =
		run("on READ\nexpect call\n    credits = 0\n    write[0].length = 0\nanswer\nexpect client ok\n",
		    [](MadeUpClient &client) {
			    const std::vector<Line> block = {{1, {"credits", "=", "0"}}, {2, {"write", "7:0/0"}}};
			    client.tell(0, client.call(client.read_of_the_case(), block).result.data);
		    });
	EXPECT_EQ(result.outcome, Outcome::passed) << result.came;
}

TEST(VerbsClientCase, FailsWhereAnAnswerCannotGoOut)
{
	expect_failure(run("on READ\nserve 500\nanswer\nexpect client ok\n",
			   [](MadeUpClient &client) {
				   client.post(client.read_of_the_case());
				   client.connection.disconnect();
				   throw std::runtime_error("that is all");
			   }),
		       "there is no connection");
}

TEST(VerbsClientCase, FailsWhereWhatShouldBeDroppedIsAnswered)
{
	expect_failure(run("on READ\nsend reply\nanswer\nexpect client ok\nexpect dropped\n",
			   [](MadeUpClient &client) {
				   client.send(encode(Header{.xid = 99, .type = RDMA_ERROR}));
				   read_well(client);
			   }),
		       "what came is ERROR");
}

// The connection goes then, with what was registered with it.
TEST(VerbsClientCase, EndsTheConnectionWhereMemoryIsOutOfReach)
{
	const CaseResult result =
		run("on READ\nreach write 1:4096/64 fails\nexpect client ok\n", [](MadeUpClient &client) {
			client.post(client.read_of_the_case());
			MadeUpClient again;
			again.xid = 100;
			again.tell(0, pattern(0, 512, 3));
			throw std::runtime_error("that is all");
		});
	EXPECT_EQ(result.outcome, Outcome::passed) << result.came;
}

TEST(VerbsClientCase, IsSkippedWhereItNeedsSomethingElse)
{
	const CaseResult result = run("on READ\nneed call\n    writes = 1\nanswer\nexpect client ok\n", read_well);
	EXPECT_EQ(result.outcome, Outcome::skipped);
	EXPECT_EQ(result.came, "the case needs something else: writes is 0, not = 1");
}

TEST(VerbsClientCase, NotesWhatACallHas)
{
	const Work twice = [](MadeUpClient &client) {
		client.call(client.read_of_the_case());
		read_well(client);
	};
	const std::string once = "on READ\nnote first call.xid\nanswer\non READ\nexpect call\n    xid ";
	EXPECT_EQ(run(once + "> first\nanswer\nexpect client ok\n", twice).outcome, Outcome::passed);
	expect_failure(run(once + "= first\nanswer\nexpect client ok\n", twice), "xid is");
}

// Cases for servers

class VerbsServerCase : public testing::Test {
    protected:
	static Target target()
	{
		const char *const path = std::getenv("PEER_TEST_EXPORT");
		if (!path)
			throw std::runtime_error("PEER_TEST_EXPORT must be a path that the server exports");
		return {.host = device_address(), .port = 20049, .path = path};
	}

	CaseResult run(const std::string &steps)
	{
		return run_server_case(parse_case("server/x", TITLE + steps), server, MORE_PATIENCE);
	}

	Export server{target(), MORE_PATIENCE};
};

TEST_F(VerbsServerCase, PassesForAServerThatBehaves)
{
	const CaseResult result = run("send write 512\nexpect reply\n    count = 512\nexpect written\n"
				      "send read 4096\nexpect reply\n    count = 4096\n    writes = 1\n");
	EXPECT_EQ(result.outcome, Outcome::passed) << result.came;
}

TEST_F(VerbsServerCase, FailsWhereSomethingElseComes)
{
	expect_failure(run("send null\nexpect error CHUNK\n"), "what came is no RDMA_ERROR");
	expect_failure(run("send null\nexpect refusal\n"), "RPC accept_stat 0 came");
	expect_failure(run("send null\nexpect closed\n"), "it was answered");
	expect_failure(run("send null\nexpect reply proc-unavail\n"), "RPC accept_stat 0 came");
	expect_failure(run("send null\nexpect dropped\n"), "it was not dropped");
	expect_failure(run("send program 100003 3 99\nexpect reply\n"), "RPC accept_stat 3 came");
	expect_failure(run("send write 512\nexpect reply\nexpect unwritten\n"), "has been written to");
	expect_failure(run("send getattr\nexpect reply\n    type = NOMSG\n"), "type is 0");
}

TEST_F(VerbsServerCase, FailsWhereAMessageCannotGoOut)
{
	for (const char *const message : {"send null\n", "send null times 3\n", "send again\n", "send reply times 2\n"})
		expect_failure(run("send null\nexpect reply\ndisconnect\n" + std::string(message) + "expect closed\n"),
			       "did not go out");
}

TEST_F(VerbsServerCase, IsSkippedWhereItNeedsSomethingElse)
{
	EXPECT_EQ(run("need call_threshold >= 1024\nsend null\nexpect reply\n").outcome, Outcome::passed);
	const CaseResult result = run("need call_threshold > 262144\nsend null\nexpect error CHUNK\n");
	EXPECT_EQ(result.outcome, Outcome::skipped);
}

TEST_F(VerbsServerCase, LeavesOutOfAMessageWhatAReadChunkHasOfItsStream)
{
	const CaseResult result = run("send lookup\n    read 0 stream\nexpect reply\n"
				      "send write 512\n    read data.position data\n    type = MSG\nexpect reply\n");
	EXPECT_EQ(result.outcome, Outcome::passed) << result.came;
}

// A server whose callbacks are those that a test has it make.
class MadeUpServer {
    public:
	MadeUpServer()
	{
		responder.take_call = [this](ArrivedCall &call) { return called(call); };
		responder.take_other = [this](std::uint64_t, const Message &message) {
			take_other(decode(message.bytes));
		};
		// Its ERR_VERS comes behind a probe.
		responder.take_version = [this](std::uint64_t connection, const Message &) {
			probe(connection);
			return false;
		};
	}

	// What a case comes to there. @on_call says true of a Call that is not to be answered.
	CaseResult run(const std::string &steps, std::function<bool(const ArrivedCall &)> on_call)
	{
		called = std::move(on_call);
		const std::jthread server([this](const std::stop_token &stop) {
			while (!stop.stop_requested()) {
				responder.serve_until([&] { return stop.stop_requested(); },
						      Clock::now() + std::chrono::milliseconds(50));
				if (without_end)
					for (const Service::Backchannel &to : service.backchannels())
						probe(to.connection);
			}
		});
		Export tested({.host = device_address(), .port = PORT, .root = Files::handle({.id = ROOT})}, patience);
		CaseResult result = run_server_case(parse_case("server/x", TITLE + steps), tested, patience);
		ended = Clock::now();
		return result;
	}

	// Asks a client whether it is there, in both ways, if it has a backchannel.
	void probe(std::uint64_t connection)
	{
		for (const Service::Backchannel &to : service.backchannels())
			if (to.connection == connection) {
				call_back(to, callback_null(++xid, to));
				call_back(to, callback_sequence(++xid, to, 0, ++sequences[to.session]));
			}
	}

	// The only delegation there is.
	void recall()
	{
		const Service::Backchannel &to = service.backchannels().at(0);
		call_back(to, callback_recall(++xid, to, 0, ++sequences[to.session], service.delegated().at(0)));
	}

	Tree tree;
	Service service{tree};
	Responder responder{device_address(), PORT, service};
	unsigned unanswered = 0;
	/// Whether it probes all the time.
	bool without_end = false;
	Patience patience = MORE_PATIENCE;
	/// When the case was over. What was made for it is removed later.
	Clock::time_point ended;

    private:
	void call_back(const Service::Backchannel &to, const Payload &call)
	{
		Frame frame;
		frame.header.xid = xid;
		frame.payload = call.stream;
		responder.send_beside(to.connection, frame);
		unanswered++;
	}

	void take_other(const Decoded &message)
	{
		EXPECT_EQ(read_callback_reply(message.payload), 0U);
		unanswered--;
	}

	std::function<bool(const ArrivedCall &)> called;
	std::uint32_t xid = 0x70000000;
	std::map<Bytes, std::uint32_t> sequences;
};

bool is_v4(const ArrivedCall &call, const std::string &operation)
{
	return call.served.call.version == 4 && call.served.operation == operation;
}

TEST(VerbsServerThatDelegatesNothing, IsNotTestedForWhatTakesADelegation)
{
	MadeUpServer server;
	const CaseResult result = server.run("delegation\nexpect call\n", [](const ArrivedCall &) { return false; });
	EXPECT_EQ(result.outcome, Outcome::skipped);
	EXPECT_EQ(result.came, "none of 8 new files is delegated");
}

TEST(VerbsProbingServer, PassesWhereItProbesFromTheBeginningOn)
{
	MadeUpServer server;
	const CaseResult result = server.run("send v4 getattr\nexpect reply\n"
					     "send v4 getattr\n    version = 9\nexpect error VERS 1 1\n",
					     [&](const ArrivedCall &call) {
						     server.probe(call.connection);
						     return false;
					     });
	EXPECT_EQ(result.outcome, Outcome::passed) << result.came;
	EXPECT_EQ(server.unanswered, 0U);
}

TEST(VerbsProbingServer, DropsWhatIsToBeDropped)
{
	MadeUpServer server;
	const CaseResult result = server.run("send v4 getattr\nexpect dropped\n", [&](const ArrivedCall &call) {
		server.probe(call.connection);
		return is_v4(call, "GETATTR");
	});
	EXPECT_EQ(result.outcome, Outcome::passed) << result.came;
	EXPECT_EQ(server.unanswered, 0U);
}

TEST(VerbsProbingServer, RecallsBehindAProbe)
{
	MadeUpServer server;
	server.service.delegations(true);
	const auto recall_for_others = [&](const ArrivedCall &call) {
		const auto &backchannels = server.service.backchannels();
		const bool is_other = !backchannels.empty() && backchannels[0].connection != call.connection;
		if (is_other && call.served.operation == "READ" && !server.service.delegated().empty()) {
			server.probe(backchannels[0].connection);
			server.recall();
		}
		return false;
	};
	const CaseResult result = server.run("delegation\nconnect as other\nsend read 512\nexpect reply\non main\n"
					     "expect call\nanswer recall\nsend v4 return\nexpect reply\n",
					     recall_for_others);
	EXPECT_EQ(result.outcome, Outcome::passed) << result.came;
	EXPECT_EQ(server.unanswered, 0U);
}

TEST(VerbsProbingServer, HasNoMoreTimeThanOthersWhereItProbesWithoutEnd)
{
	MadeUpServer server;
	server.without_end = true;
	server.patience = PATIENCE;
	Clock::time_point begin = Clock::time_point::max();
	expect_failure(server.run("send v4 getattr\nexpect reply\n",
				  [&](const ArrivedCall &call) {
					  const bool is_it = is_v4(call, "GETATTR");
					  if (is_it)
						  begin = Clock::now();
					  return is_it;
				  }),
		       "nothing came in time instead of a Reply");
	ASSERT_LT(begin, server.ended);
	EXPECT_LT(server.ended - begin, 4 * PATIENCE.answer);
}

} // namespace
} // namespace peer
