// SPDX-License-Identifier: GPL-2.0-only

#include "suite/words.hh"

#include <gtest/gtest.h>

namespace peer {
namespace {

const Names NAMES = {.value = [](const std::string &name) -> std::optional<std::uint64_t> {
			     return name == "n" ? std::optional<std::uint64_t>(7) : std::nullopt;
		     },
		     .memory = {}};

const Words ACCEPT = {"accept", "private", "f6ab0e18", "offset", "2", "length", "8", "credits", "n+1"};

TEST(WordsOfALine, AreFoundByTheWordBeforeThem)
{
	EXPECT_EQ(behind(ACCEPT, "offset"), "2");
	EXPECT_EQ(behind(ACCEPT, "n+1"), std::nullopt);
	EXPECT_EQ(number_behind(ACCEPT, "credits", 1, NAMES), 8U);
	EXPECT_EQ(number_behind(ACCEPT, "reads", 16), 16U);
	EXPECT_THROW(static_cast<void>(number_behind(ACCEPT, "credits", 1)), ScriptError);
}

TEST(StepThatSendsAMessage, IsReadAsThatMessage)
{
	for (const Bytes &message : {Bytes{0x9e, 0x37, 0x00}, Bytes()}) {
		const Case test =
			parse_case("server/x", "# RFC 8166, 4.5, hostile: title\n" + step_sending(message) + "\n");
		const Words &words = test.steps.at(0).line.words;
		ASSERT_EQ(words.size(), 3U);
		EXPECT_EQ(bytes_of_hex(words[2]), message);
	}
}

TEST(PrivateDataOfALine, IsBehindZerosAndCutOrFilled)
{
	EXPECT_EQ(private_data_of(ACCEPT), (Bytes{0, 0, 0xf6, 0xab, 0x0e, 0x18, 0, 0}));
	EXPECT_EQ(private_data_of({"reject", "private", "f6ab0e18", "length", "2"}), (Bytes{0xf6, 0xab}));
	EXPECT_EQ(private_data_of({"reject"}), Bytes());
	EXPECT_THROW(static_cast<void>(private_data_of({"reject", "private", "f6a"})), ScriptError);
}

TEST(ExpectationOfAStep, HasTheLinesBelowIt)
{
	const Case test = parse_case("client/x", "# RFC 8166, 3, MUST: title\nexpect reply again\n    type = MSG\n");
	EXPECT_EQ(expectation_of(test.steps[0]), "reply again, type = MSG");
	EXPECT_EQ(new_result(test).expected, "reply again, type = MSG");
}

TEST(PrivateDataThatCame, IsComparedFieldByField)
{
	const Bytes data = encode(PrivateData{.send_size = 4096, .receive_size = 8192, .remote_invalidation = true});
	EXPECT_NO_THROW(check_private_data(data, {{1, {"send", "=", "4096"}}, {2, {"receive", ">", "n"}}}, NAMES));
	EXPECT_THROW(check_private_data(data, {{1, {"invalidation", "=", "0"}}}, NAMES), Violation);
	EXPECT_THROW(check_private_data(data, {{1, {"colour", "=", "0"}}}, NAMES), Violation);
	EXPECT_THROW(check_private_data({}, {}, NAMES), Violation);
}

// What the check that fails here shows.
template <typename Check> Comparison shown_by(Check check)
{
	try {
		check();
	} catch (const Violation &violation) {
		return violation.comparison;
	}
	return {};
}

TEST(FieldsThatDiffer, StandBesideTheOthers)
{
	const auto fields = [](const std::string &name) -> std::optional<std::uint64_t> {
		return name == "credits" ? std::optional<std::uint64_t>(3) : std::nullopt;
	};
	const std::vector<Line> lines = {
		{1, {"credits", ">", "0"}}, {2, {"credits", "=", "n", "or", "8"}}, {3, {"colour", "=", "unknown"}}};
	EXPECT_EQ(shown_by([&] { check_all(lines, fields, NAMES); }),
		  (Comparison{{"credits", "> 0", "3", false},
			      {"credits", "= n (7) or 8", "3", true},
			      {"colour", "= unknown", "nothing", true}}));
}

TEST(ErrorsThatDiffer, StandBesideTheirs)
{
	const Header expected = {.xid = 26, .version = VERSION_1, .type = RDMA_ERROR, .error = ERR_CHUNK};
	Header came = expected;
	came.error = ERR_VERS;
	came.credits = 0;
	EXPECT_EQ(compare_errors(expected, {.header = came, .payload = {}}),
		  (Comparison{{"type", "ERROR", "ERROR", false},
			      {"error", "ERR_CHUNK", "ERR_VERS 1..1", true},
			      {"XID", "0x1a", "0x1a", false},
			      {"version", "1", "1", false},
			      {"credits", "at least 1", "0", true},
			      {"bytes behind the header", "0", "0", false}}));
	came.type = RDMA_MSG;
	EXPECT_EQ(compare_errors(expected, {.header = came, .payload = {}})[1].came, "none");
}

TEST(StatusesThatDiffer, HaveTheirKind)
{
	EXPECT_EQ(shown_by([] { check_rpc_status(false, RPC_AUTH_ERROR, "garbage-args"); }),
		  (Comparison{{"RPC status", "accept_stat 4", "reject_stat 1", true}}));
	EXPECT_EQ(shown_by([] { check_rpc_status(true, RPC_SUCCESS, "success"); }), Comparison());
}

TEST(FeaturesOfACase, AreThoseOfThePeer)
{
	const auto features = [](const std::string &lines) {
		return features_of(parse_case("client/x", "# RFC 8166, 3, MUST: title\n" + lines + "on READ\n"));
	};
	EXPECT_EQ(features(""), Features());
	EXPECT_EQ(features("feature mirror\n"), Features{feature_called("mirror")});
	EXPECT_THROW(features("feature mirror\nfeature window\n"), ScriptError);
}

TEST(AnswerToAnOption, HasToBeTheOneThatIsNamed)
{
	const Header sent = {.xid = 5, .version = VERSION_2};
	Decoded right;
	right.header = {.xid = 5, .version = VERSION_2, .credits = 1, .type = RDMA2_OPTIONAL};
	right.header.direction = DIRECTION_REPLY;
	right.header.option = 8;
	right.header.option_info = {1, 2};
	const Words words = {"expect", "option", "n+1", "0102"};
	EXPECT_NO_THROW(check_option(right, sent, words, NAMES));
	EXPECT_THROW(check_option(right, sent, {"expect", "option", "n", "0102"}, NAMES), Violation);
	EXPECT_THROW(check_option(right, sent, {"expect", "option", "n+1"}, NAMES), Violation);
	EXPECT_THROW(check_option(right, sent, {"expect", "option", "n+1", "01"}, NAMES), Violation);
	EXPECT_THROW(check_option(right, sent, {"expect", "option", "n+1", "010"}, NAMES), ScriptError);
	const auto expect_violation = [&](const std::function<void(Decoded &)> &change) {
		Decoded wrong = right;
		change(wrong);
		EXPECT_THROW(check_option(wrong, sent, words, NAMES), Violation);
	};
	expect_violation([](Decoded &answer) { answer.header.type = RDMA_ERROR; });
	expect_violation([](Decoded &answer) { answer.header.direction = DIRECTION_CALL; });
	expect_violation([](Decoded &answer) { answer.header.xid = 6; });
	expect_violation([](Decoded &answer) { answer.header.credits = 0; });
	expect_violation([](Decoded &answer) { answer.payload = {0}; });
}

TEST(RpcStatus, HasToBeTheOneThatIsNamed)
{
	EXPECT_NO_THROW(check_rpc_status(true, RPC_SUCCESS, "success"));
	EXPECT_NO_THROW(check_rpc_status(true, RPC_PROC_UNAVAIL, "proc-unavail"));
	EXPECT_THROW(check_rpc_status(true, RPC_PROG_UNAVAIL, "proc-unavail"), Violation);
	EXPECT_NO_THROW(check_rpc_status(false, RPC_AUTH_ERROR, "auth-error"));
	// An accept_stat and a reject_stat may have the same number.
	EXPECT_THROW(check_rpc_status(true, RPC_AUTH_ERROR, "auth-error"), Violation);
	EXPECT_THROW(check_rpc_status(false, RPC_SUCCESS, "success"), Violation);
	EXPECT_THROW(check_rpc_status(true, 0, "fine"), ScriptError);
}

TEST(Reach, HasToBeAsExpected)
{
	const Transferred done{.ok = true, .status = "success"};
	const Transferred refused{.ok = false, .status = "remote access error"};
	const Transferred ended{.ok = false, .status = "the other end disconnected"};
	const Transferred local{.ok = false, .status = "local protection error", .inconclusive = true};
	EXPECT_NO_THROW(check_reach(done, "ok"));
	EXPECT_THROW(check_reach(done, "fails"), Violation);
	EXPECT_NO_THROW(check_reach(done, "unrefused"));
	EXPECT_NO_THROW(check_reach(refused, "fails"));
	EXPECT_THROW(check_reach(refused, "ok"), Violation);
	EXPECT_THROW(check_reach(refused, "unrefused"), Violation);
	// iWARP knows no other refusal.
	EXPECT_NO_THROW(check_reach(ended, "fails"));
	EXPECT_THROW(check_reach(ended, "ok"), Violation);
	EXPECT_NO_THROW(check_reach(ended, "unrefused"));
	// That shows nothing of the memory.
	EXPECT_THROW(check_reach(local, "fails"), Violation);
	EXPECT_THROW(check_reach(local, "unrefused"), Violation);
	EXPECT_THROW(check_reach(done, "works"), ScriptError);
}

TEST(WhatCame, IsDecodedOrAViolation)
{
	const Bytes header = encode(Header{.xid = 5});
	EXPECT_EQ(decode_received({header, {}}).header.xid, 5U);
	EXPECT_THROW(static_cast<void>(decode_received({Bytes(7), {}})), Violation);
}

TEST(CaseThatRunsApart, SaysWhy)
{
	const std::string title = "# RFC 8166, 3, MUST: title\n";
	EXPECT_EQ(parse_case("client/x", title + "apart it takes long\nclose\n").apart, "it takes long");
	EXPECT_EQ(parse_case("client/x", title + "close\n").apart, "");
}

} // namespace
} // namespace peer
