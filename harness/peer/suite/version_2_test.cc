// SPDX-License-Identifier: GPL-2.0-only
//
// The peer's requester and its responder with each other in version 2: the cases for servers, where the peer is the server.
// These tests need an RDMA device, like verbs_test.cc.

#include <thread>

#include <gtest/gtest.h>

#include "engine/responder.hh"
#include "service/programs.hh"
#include "suite/export.hh"
#include "suite/server_case.hh"
#include "verbs/test_device.hh"

namespace peer {
namespace {

constexpr std::uint16_t PORT = 20072;
constexpr Patience PATIENCE = {.answer = std::chrono::seconds(10)};

// The peer as a server that answers Calls of these versions and has these features, for as long as this lasts.
class PeerAsServer {
    public:
	explicit PeerAsServer(Versions versions, const Features &features = {})
		: thread_([=, this](const std::stop_token &stop) { serve(versions, features, stop); })
	{
	}

	CaseResult run(const Case &test)
	{
		Case settled = test;
		settled.settle(false);
		return run_server_case(settled, export_, PATIENCE);
	}

	CaseResult run(const std::string &steps)
	{
		return run(parse_case("server/x", "# version-two-01, 4, MUST: title\n" + steps));
	}

    private:
	void serve(Versions versions, const Features &features, const std::stop_token &stop)
	{
		responder_.versions = versions;
		responder_.features = features;
		while (!stop.stop_requested())
			responder_.serve_until([&] { return stop.stop_requested(); },
					       Clock::now() + std::chrono::milliseconds(50));
	}

	Tree tree_;
	Service service_{tree_};
	Responder responder_{device_address(), PORT, service_};
	std::jthread thread_;
	Export export_{{.host = device_address(),
			.port = PORT,
			.root = Files::handle({.id = ROOT}),
			.highest_version = VERSION_2},
		       PATIENCE};
};

TEST(VerbsVersion2, CasesForServersPassWhereThePeerIsTheServer)
{
	PeerAsServer server({.low = VERSION_1, .high = VERSION_2});
	unsigned passed = 0;
	for (const Case &test : load_cases(PEER_SOURCE "/cases")) {
		if (test.tested != Tested::server || test.protocol != VERSION_2)
			continue;
		const CaseResult result = server.run(test);
		EXPECT_NE(result.outcome, Outcome::failed) << test.name << ": " << result.came << "\n"
							   << testing::PrintToString(result.trace);
		passed += result.outcome == Outcome::passed;
	}
	// Those for which the peer would have to call back are skipped.
	EXPECT_GT(passed, 40U);
}

TEST(VerbsVersion2, CasesForServersFailWhereTheServerSpeaksVersion1)
{
	PeerAsServer server({.low = VERSION_1, .high = VERSION_1});
	const CaseResult null = server.run("protocol 2\nsend null\nexpect reply\n");
	EXPECT_EQ(null.outcome, Outcome::failed);
	EXPECT_NE(null.came.find("ERR_VERS 1..1"), std::string::npos) << null.came;
	const CaseResult refused = server.run("protocol 2\nsend null\nexpect error VERS 1 1\n"
					      "send null\n    version = 1\nexpect reply\n    version = 1\n");
	EXPECT_EQ(refused.outcome, Outcome::passed) << refused.came;
}

TEST(VerbsVersion2, ExpectationsThatAreNotMetFail)
{
	PeerAsServer server({.low = VERSION_1, .high = VERSION_2});
	for (const char *const steps :
	     {"send null\nexpect reply\n    direction = CALL\n", "send null\nexpect reply\n    version = 1\n",
	      "send null\nexpect error INVAL_OPTION\n", "send option 9\nexpect error BAD_HEADER\n",
	      "send option 9\nexpect dropped\n", "send null\n    type = 2\nexpect error INVAL_OPTION\n",
	      "send null\n    version = 3\nexpect error VERS 1 1\n", "send option 9 01\nexpect option 9 01\n"})
		EXPECT_EQ(server.run(std::string("protocol 2\n") + steps).outcome, Outcome::failed) << steps;
}

TEST(VerbsOption, IsAnsweredByAServerThatHasTheFeature)
{
	PeerAsServer server({.low = VERSION_1, .high = VERSION_2}, {feature_called("mirror")});
	const CaseResult result = server.run("protocol 2\n"
					     "send option 0x4d495252 010203\n"
					     "expect option 0x4d495252 030201\n    optinfo.length = 3\n"
					     "send option 0x4d495252\nexpect option 0x4d495252\n"
					     "send option 0x4d495252 ff01\nexpect error BAD_HEADER\n"
					     "send option 0x4d495252 01\n    payload 00000000\n"
					     "expect error INVAL_OPTION\n"
					     "send option 0x4d495253 01\nexpect error INVAL_OPTION\n"
					     "send null\nexpect reply\n");
	EXPECT_EQ(result.outcome, Outcome::passed) << result.came;
	for (const char *const steps :
	     {"send option 0x4d495252 0102\nexpect option 0x4d495252 0102\n",
	      "send option 0x4d495252 01\nexpect option 0x4d495253 01\n",
	      "send option 0x4d495252 01\nexpect error INVAL_OPTION\n", "send option 0x4d495252 01\nexpect dropped\n"})
		EXPECT_EQ(server.run(std::string("protocol 2\n") + steps).outcome, Outcome::failed) << steps;
}

TEST(VerbsOption, IsRefusedByAServerThatHasNotTheFeature)
{
	PeerAsServer server({.low = VERSION_1, .high = VERSION_2});
	const CaseResult result = server.run("protocol 2\nfeature mirror\n"
					     "send option 0x4d495252 01\nexpect error INVAL_OPTION\n"
					     "send option 0x4d495252 ff\nexpect error INVAL_OPTION\n"
					     "send null\nexpect reply\n");
	EXPECT_EQ(result.outcome, Outcome::passed) << result.came;
}

// A server that sends options of its own, each in front of a Reply of version 2.
class AskingServer {
    public:
	explicit AskingServer(std::vector<Decoded> options)
		: options_(std::move(options))
	{
		responder_.versions = {.low = VERSION_1, .high = VERSION_2};
		responder_.take_call = [this](const ArrivedCall &call) {
			if (call.message.header.version == VERSION_2)
				ask(call.connection);
			return false;
		};
		responder_.take_other = [this](std::uint64_t, const Message &message) {
			answers_.push_back(decode(message.bytes).header);
		};
	}

	// The answers, after a case in which the peer, as the requester, has the features that these lines name.
	std::vector<Header> answers(const std::string &lines)
	{
		{
			const std::jthread server([this](const std::stop_token &stop) {
				while (!stop.stop_requested())
					responder_.serve_until([&] { return stop.stop_requested(); },
							       Clock::now() + std::chrono::milliseconds(50));
			});
			Export tested({.host = device_address(), .port = PORT, .root = Files::handle({.id = ROOT})},
				      PATIENCE);
			// The last one tells that the answers before it have come.
			std::string steps = "protocol 2\n" + lines;
			for (std::size_t i = 0; i <= options_.size(); i++)
				steps += "send null\nexpect reply\n";
			const CaseResult result = run_server_case(
				parse_case("server/x", "# version-two-01, 3, MUST: title\n" + steps), tested, PATIENCE);
			EXPECT_EQ(result.outcome, Outcome::passed) << result.came;
		}
		return answers_;
	}

    private:
	void ask(std::uint64_t connection)
	{
		if (asked_ == options_.size())
			return;
		Frame frame;
		frame.header = options_[asked_].header;
		frame.header.xid = static_cast<std::uint32_t>(asked_++);
		frame.header.version = VERSION_2;
		frame.header.type = RDMA2_OPTIONAL;
		frame.header.option = feature_called("mirror")->type;
		frame.payload = options_[frame.header.xid].payload;
		responder_.send_beside(connection, frame);
	}

	std::vector<Decoded> options_;
	std::size_t asked_ = 0;
	std::vector<Header> answers_;
	Tree tree_;
	Service service_{tree_};
	Responder responder_{device_address(), PORT, service_};
};

Decoded with(Bytes info, Bytes payload = {})
{
	return {.header = {.option_info = std::move(info)}, .payload = std::move(payload)};
}

TEST(VerbsOption, InTheReverseDirection_IsAnsweredByARequesterThatHasTheFeature)
{
	AskingServer server({with({1, 2, 3}), with({0xff}), with({1}, {0, 0, 0, 0})});
	const std::vector<Header> answers = server.answers("feature mirror\n");
	ASSERT_EQ(answers.size(), 3U);
	EXPECT_EQ(answers[0].xid, 0U);
	EXPECT_EQ(answers[0].type, RDMA2_OPTIONAL);
	EXPECT_EQ(answers[0].direction, DIRECTION_REPLY);
	EXPECT_EQ(answers[0].option, feature_called("mirror")->type);
	EXPECT_EQ(answers[0].option_info, (Bytes{3, 2, 1}));
	EXPECT_GT(answers[0].credits, 0U);
	EXPECT_EQ(answers[1].xid, 1U);
	EXPECT_EQ(answers[1].type, RDMA_ERROR);
	EXPECT_EQ(answers[1].error, ERR_BAD_HEADER);
	EXPECT_EQ(answers[2].xid, 2U);
	EXPECT_EQ(answers[2].type, RDMA_ERROR);
	EXPECT_EQ(answers[2].error, ERR_INVAL_OPTION);
}

TEST(VerbsOption, InTheReverseDirection_IsRefusedByARequesterThatHasNotTheFeature)
{
	AskingServer server({with({1, 2, 3}), with({0xff})});
	const std::vector<Header> answers = server.answers("");
	ASSERT_EQ(answers.size(), 2U);
	for (std::uint32_t i = 0; i < 2; i++) {
		EXPECT_EQ(answers[i].xid, i);
		EXPECT_EQ(answers[i].type, RDMA_ERROR);
		EXPECT_EQ(answers[i].error, ERR_INVAL_OPTION);
	}
}

} // namespace
} // namespace peer
