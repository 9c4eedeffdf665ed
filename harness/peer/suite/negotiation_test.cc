// SPDX-License-Identifier: GPL-2.0-only
//
// The cases for clients of version 2, for a client that is made up here: it settles the version as section 5 of
// draft-cel-nfsv4-rpcrdma-version-two-01 has it. These tests need an RDMA device, like verbs_test.cc.

#include <future>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "engine/direction.hh"
#include "engine/option.hh"
#include "service/programs.hh"
#include "suite/client_instance.hh"
#include "suite/client_suite.hh"
#include "suite/export.hh"
#include "verbs/test_device.hh"

namespace peer {
namespace {

constexpr std::uint16_t PORT = 20074;
constexpr std::uint16_t MOUNT_PORT = 20075;
constexpr Patience PATIENCE = {.answer = std::chrono::seconds(20)};
// After which it takes a server for one that does not know version 2.
constexpr std::chrono::seconds SILENCE{5};

// An RPC has come to nothing; the text is what a shell says then.
class Failed : public std::runtime_error {
	using runtime_error::runtime_error;
};

class Negotiator {
    public:
	// With these OPTIONAL features. Asks for @asked, options of its own, before the first Call of each connection.
	Negotiator(const Features &features, const std::vector<Frame> &asked)
		: features_(features)
		, asked_(asked)
	{
	}

	// What has come to its options.
	[[nodiscard]] const std::vector<Header> &answers() const { return answers_; }

	// Does what the client is given to do in this instance of a case, on a connection that begins with version 2.
	void work(const Instance &instance)
	{
		version_ = VERSION_2;
		connection_.reset();
		const FileHandle data = find({"cases", instance.name, "data"});
		const bool is_idle = instance.test->operation[0] == "idle";
		const std::uint32_t size = is_idle ? 8192 : static_cast<std::uint32_t>(instance.size());
		try {
			Bytes read;
			for (int i = 0; i < (is_idle ? 2 : 1); i++)
				read = call(nfs3::read(++xid_, data, 0, size)).result.data;
			tell(instance, 0, cksum_line(read), "");
		} catch (const Failed &failed) {
			tell(instance, 1, cksum_line({}), failed.what());
		}
		wait_for_end();
	}

    private:
	// The responder ends connections when a case of version 2 is over.
	void wait_for_end()
	{
		while (connection_ && connection_->connected())
			if (std::holds_alternative<TimedOut>(connection_->receive(soon())))
				connection_->disconnect();
	}

	// The same RPC goes out again for as long as it takes to settle the version.
	Reply call(const NfsCall &call)
	{
		for (int i = 0; i < 10; i++) {
			connect();
			if (auto reply = attempt(call))
				return *std::move(reply);
			if (!connection_->connected())
				lost();
		}
		throw Failed("Input/output error");
	}

	// Its memory is gone when the connection goes.
	std::optional<Reply> attempt(const NfsCall &call)
	{
		const Transaction transaction(*connection_, in_version({}, version_), call, Style::as_needed, {}, {});
		if (!connection_->send(transaction.frame().bytes(), {}, soon()).ok)
			return std::nullopt;
		return answer_to(transaction);
	}

	void connect()
	{
		if (connection_)
			return;
		connection_ = std::make_unique<Connection>(Connection::connect(
			device_address(), PORT, {.private_data = encode(usual_private_data())}, soon()));
		is_settled_ = false;
		for (const Frame &option : asked_) {
			const Event event =
				(connection_->send(option.bytes(), {}, soon()), connection_->receive(soon()));
			if (const auto *const message = std::get_if<Message>(&event))
				answers_.push_back(decode(message->bytes).header);
		}
	}

	void lost()
	{
		if (!is_settled_)
			version_ = VERSION_1;
		connection_.reset();
	}

	// Nothing where the Call has to be sent again.
	std::optional<Reply> answer_to(const Transaction &transaction)
	{
		const Deadline deadline = Clock::now() + SILENCE;
		for (;;) {
			const Event event = connection_->receive(deadline);
			const auto *const message = std::get_if<Message>(&event);
			if (!message) {
				connection_->disconnect();
				return std::nullopt;
			}
			if (XdrReader(message->bytes).u32("rdma_xid") != transaction.frame().header.xid)
				take_other(message->bytes);
			else if (auto reply = judged(transaction, *message))
				return reply;
			else if (version_ != transaction.frame().header.version)
				return std::nullopt;
		}
	}

	// Nothing where it is no Reply, and is dropped, or has settled version 1.
	std::optional<Reply> judged(const Transaction &transaction, const Message &message)
	{
		try {
			const Decoded decoded = decode(message.bytes);
			if (decoded.header.type == RDMA2_OPTIONAL)
				return std::nullopt;
			if (decoded.header.type == RDMA_ERROR)
				take_error(decoded.header);
			else if (is_call_message(decoded))
				return std::nullopt;
			else {
				Reply reply = transaction.judge(message);
				is_settled_ = true;
				return reply;
			}
		} catch (const Malformed &) {
			settle_for_version_1();
		} catch (const Violation &) {
		}
		return std::nullopt;
	}

	void settle_for_version_1()
	{
		if (!is_settled_)
			version_ = VERSION_1;
	}

	void take_error(const Header &error)
	{
		if (is_settled_ && error.error == ERR_INVAL_OPTION)
			return;
		if (is_settled_ && error.version == version_)
			throw Failed("Input/output error");
		const Versions range = {.low = error.version_low, .high = error.version_high};
		if (error.error == ERR_VERS && !range.contain(VERSION_1))
			throw Failed("Protocol not supported");
		settle_for_version_1();
	}

	// An option gets its answer, and nothing else does.
	void take_other(ByteView message)
	{
		try {
			if (const auto answer = answer_to_option(decode(message), features_))
				connection_->send(encode(*answer), {}, soon());
		} catch (const Malformed &) {
		}
	}

	FileHandle find(const std::vector<std::string> &path)
	{
		FileHandle found = Files::handle({.id = ROOT});
		for (const std::string &part : path)
			found = call(nfs3::lookup(++xid_, found, part)).result.handle;
		return found;
	}

	void tell(const Instance &instance, int status, const std::string &read, const std::string &output)
	{
		const std::string text = std::to_string(status) + "\n" + read + " data\n" +
					 cksum_line(pattern(0, 8192, 2)) + " good\n" + output + "\nend\n";
		const FileHandle results = find({"results"});
		call(nfs3::symlink(++xid_, results, instance.name, text));
	}

	Features features_;
	std::vector<Frame> asked_;
	std::vector<Header> answers_;
	std::unique_ptr<Connection> connection_;
	std::uint32_t version_ = VERSION_2;
	bool is_settled_ = false;
	std::uint32_t xid_ = 1;
};

// What a case comes to, and what the client's own options came to.
struct Outcomes {
	CaseResult result;
	std::vector<Header> answers;
};

Outcomes run(const Case &test, const Features &features = {}, const std::vector<Frame> &asked = {})
{
	const std::vector<Case> cases = {test};
	const std::vector<Instance> instances = instances_of(cases);
	std::future<void> client;
	Outcomes outcomes;
	CaseResult &result = outcomes.result;
	ClientHooks hooks;
	hooks.ready = [&] {
		client = std::async(std::launch::async, [&] {
			Negotiator negotiator(features, asked);
			for (const Instance &instance : instances)
				negotiator.work(instance);
			outcomes.answers = negotiator.answers();
		});
	};
	hooks.begun = [](const Case &) {};
	hooks.told = [&](const CaseResult &told) { result = told; };
	run_client_cases(
		cases, {.host = device_address(), .port = PORT, .mount_port = MOUNT_PORT, .patience = PATIENCE}, hooks);
	try {
		client.get();
	} catch (const std::runtime_error &error) {
		result.came += std::string("; the client: ") + error.what();
	}
	return outcomes;
}

// What it can be given to do.
bool is_within_its_power(const Case &test)
{
	return test.protocol == VERSION_2 && test.tested == Tested::client && test.version == "3" &&
	       (test.operation[0] == "read" || test.operation[0] == "idle");
}

TEST(VerbsNegotiation, CasesForClientsPassForOneThatSettlesTheVersion)
{
	unsigned passed = 0;
	for (Case &test : load_cases(PEER_SOURCE "/cases")) {
		if (!is_within_its_power(test))
			continue;
		test.settle(false);
		const CaseResult result = run(test).result;
		EXPECT_EQ(result.outcome, Outcome::passed) << test.name << ": " << result.came << "\n"
							   << testing::PrintToString(result.trace);
		passed += result.outcome == Outcome::passed;
	}
	EXPECT_GT(passed, 30U);
}

Case case_of(const std::string &lines)
{
	return parse_case("client/x", "# version-two-01, 3, MUST: title\nprotocol 2\nclient read 512\n" + lines);
}

void expect_outcome(Outcome outcome, const std::string &steps, const Features &features)
{
	const CaseResult result = run(case_of("on READ\n" + steps + "answer\nexpect client ok\n"), features).result;
	EXPECT_EQ(result.outcome, outcome) << steps << result.came;
}

TEST(VerbsOptionForAClient, IsAnsweredWhereItHasTheFeature)
{
	const Features mirror = {feature_called("mirror")};
	expect_outcome(Outcome::passed,
		       "send option 0x4d495252 010203\nexpect option 0x4d495252 030201\n    optinfo.length = 3\n"
		       "send option 0x4d495252\nexpect option 0x4d495252\n"
		       "send option 0x4d495252 ff\nexpect error BAD_HEADER\n"
		       "send option 0x4d495252 01\n    payload 00000000\nexpect error INVAL_OPTION\n",
		       mirror);
	expect_outcome(Outcome::failed, "send option 0x4d495252 0102\nexpect option 0x4d495252 0102\n", mirror);
	expect_outcome(Outcome::failed, "send option 0x4d495252 01\nexpect error INVAL_OPTION\n", mirror);
}

TEST(VerbsOptionForAClient, IsRefusedWhereItHasNotTheFeature)
{
	expect_outcome(Outcome::passed, "send option 0x4d495252 01\nexpect error INVAL_OPTION\n", {});
	expect_outcome(Outcome::failed, "send option 0x4d495252 01\nexpect option 0x4d495252 01\n", {});
}

TEST(VerbsOptionOfAClient, IsAnsweredInACaseThatNamesTheFeature)
{
	Frame option;
	option.header = {.xid = 7, .version = VERSION_2, .type = RDMA2_OPTIONAL};
	option.header.option = feature_called("mirror")->type;
	option.header.option_info = {1, 2};
	const std::string steps = "on READ\nanswer\nexpect client ok\n";
	const Outcomes with = run(case_of("feature mirror\n" + steps), {}, {option});
	EXPECT_EQ(with.result.outcome, Outcome::passed) << with.result.came;
	ASSERT_EQ(with.answers.size(), 1U);
	EXPECT_EQ(with.answers[0].type, RDMA2_OPTIONAL);
	EXPECT_EQ(with.answers[0].option_info, (Bytes{2, 1}));
	const Outcomes without = run(case_of(steps), {}, {option});
	EXPECT_EQ(without.result.outcome, Outcome::passed) << without.result.came;
	ASSERT_EQ(without.answers.size(), 1U);
	EXPECT_EQ(without.answers[0].error, ERR_INVAL_OPTION);
}

} // namespace
} // namespace peer
