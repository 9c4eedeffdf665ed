// SPDX-License-Identifier: GPL-2.0-only

#include "report/report.hh"

#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "language/case.hh"

namespace peer {
namespace {

std::string json_of(const Report &report)
{
	std::ostringstream out;
	write_json(out, report);
	return out.str();
}

Report read(const std::string &text)
{
	std::istringstream in(text);
	return read_json(in, "a.json");
}

std::string complaint_about(const std::string &text)
{
	try {
		static_cast<void>(read(text));
	} catch (const ScriptError &error) {
		return error.what();
	}
	return {};
}

// No member has the value that it has where nothing is said of it.
Report full()
{
	Report report = {.role = "client",
			 .device = "10.9.0.1:20049",
			 .name = "mine",
			 .started = "2026-11-21T04:00:00Z",
			 .peer_version = "abc123",
			 .tester = {.kernel = "Linux 6.12 x86_64",
				    .device = "rxe0",
				    .driver = "rdma_rxe",
				    .firmware = "1.2",
				    .transport = "InfiniBand"},
			 .terms = Terms{.announced = Terms::Announced{.send_size = 4096,
								      .receive_size = 8192,
								      .remote_invalidation = true},
					.call_threshold = 1024,
					.reply_threshold = 2048,
					.credits = 64},
			 .settings = {.arguments = {"rpcordma-peer", "conform"},
				      .strict = true,
				      .protocol = 2,
				      .repeat = 3,
				      .patience = 10,
				      .seed = 4000000000},
			 .planned = 7,
			 .interrupted = "SIGINT",
			 .results = {},
			 .requirements = {{.identifier = "bis-5.5.1-1",
					   .level = "MUST",
					   .who = "client",
					   .seen = "wire",
					   .what = "something",
					   .same_as = "8166-4.5-1"}}};
	for (const Outcome outcome : OUTCOMES)
		report.results.push_back(
			{.name = "client/" + name_of(outcome),
			 .section = "RFC 8166, 3.4.5",
			 .level = "MUST NOT",
			 .title = "a title",
			 .requirements = {"bis-5.5.1-1"},
			 .outcome = outcome,
			 .expected = "this",
			 .came = "that",
			 .comparison = {{"credits", "1", "0", true}, {"type", "MSG", "MSG", false}},
			 .trace = {"-> MSG", "<- MSG"},
			 .messages =
				 {{.seconds = 0.5, .connection = "main", .bytes = {1, 0xfe}},
				  {.seconds = 1.5, .connection = "2", .is_sent = false, .bytes = {}, .invalidates = 7}},
			 .messages_left_out = 3,
			 .seconds = 1.5,
			 .in_order = false,
			 .command = "rpcordma-peer conform"});
	return report;
}

TEST(JsonReading, LosesNothing)
{
	const std::string text = json_of(full());
	EXPECT_EQ(json_of(read(text)), text);
	const std::string empty = json_of({});
	EXPECT_EQ(json_of(read(empty)), empty);
}

TEST(JsonReading, RefusesWhatIsNoReport)
{
	for (const std::string text : {"", "7", "{}", "[]", "{\"format\": \"another\"}", "{\"format\": 7}"})
		EXPECT_EQ(complaint_about(text).find("a.json is no report of rpcordma-peer as JSON"), 0U) << text;
	nlohmann::json json = nlohmann::json::parse(json_of(full()));
	for (const auto &[member, value] : json.items()) {
		// What follows from the results is not read.
		if (member == "conforms" || member == "levels" || member == "passed" || member == "failed" ||
		    member == "skipped")
			continue;
		nlohmann::json without = json;
		without.erase(member);
		EXPECT_NE(complaint_about(without.dump()), "") << member;
	}
	json["results"][0]["outcome"] = "lost";
	EXPECT_EQ(complaint_about(json.dump()), "'lost' is no outcome");
}

TEST(JsonReading, RefusesBytesThatAreNone)
{
	nlohmann::json json = nlohmann::json::parse(json_of(full()));
	nlohmann::json &bytes = json["results"][0]["messages"][0]["bytes"];
	EXPECT_EQ(bytes, "01fe");
	for (const std::string text : {"0", "0x", "zz", "1 ", "-1"}) {
		bytes = text;
		EXPECT_NE(complaint_about(json.dump()), "") << text;
	}
}

TEST(JsonReading, RefusesAnotherFormatVersion)
{
	nlohmann::json json = nlohmann::json::parse(json_of({}));
	json["format_version"] = FORMAT_VERSION + 1;
	EXPECT_EQ(complaint_about(json.dump()), "a.json has format version 2, and not 1");
}

} // namespace
} // namespace peer
