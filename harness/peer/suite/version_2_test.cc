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

// The peer as a server that answers Calls of these versions, for as long as this lasts.
class PeerAsServer {
    public:
	explicit PeerAsServer(Versions versions)
		: thread_([this, versions](const std::stop_token &stop) { serve(versions, stop); })
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
	void serve(Versions versions, const std::stop_token &stop)
	{
		responder_.versions = versions;
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
	      "send null\n    version = 3\nexpect error VERS 1 1\n"})
		EXPECT_EQ(server.run(std::string("protocol 2\n") + steps).outcome, Outcome::failed) << steps;
}

} // namespace
} // namespace peer
