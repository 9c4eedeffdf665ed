// SPDX-License-Identifier: GPL-2.0-only

#include "report/report.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string_view>

#include "language/case.hh"
#include "report/text.hh"
#include "report/view.hh"

namespace peer {
namespace {

// What a device may send, and no reader may take for markup or for a terminal's command.
const std::string HOSTILE = "</pre><script>alert(\"1\")</script>&\x1b[31m\xff\x01\xc2\x9b]]>'";

Report example()
{
	Report report;
	report.role = "server";
	report.device = "10.9.0.1:20049";
	report.started = "2026-11-21T04:00:00Z";
	report.peer_version = "abc123";
	report.tester = {
		.kernel = "Linux 6.12 x86_64", .device = "rxe0", .driver = "rdma_rxe", .transport = "InfiniBand"};
	report.terms = {.announced = Terms::Announced{.send_size = 4096, .receive_size = 8192},
			.call_threshold = 4096,
			.reply_threshold = 4096,
			.credits = 64};
	report.settings = {.arguments = {"rpcordma-peer", "conform", "10.9.0.1"}, .strict = true, .patience = 10};
	report.results.push_back({.name = "server/version",
				  .section = "bis-04, 5.5.1",
				  .level = "MUST",
				  .title = "another version is answered with ERR_VERS",
				  .requirements = {"bis-5.5.1-1"},
				  .outcome = Outcome::passed,
				  .expected = "ERR_VERS 1 1",
				  .came = "",
				  .trace = {"> MSG xid=0x1 vers=2", "< ERROR xid=0x1 vers=2"},
				  .seconds = 0.0125});
	report.results.push_back({.name = "server/padding",
				  .section = "RFC 8166, 3.4.10",
				  .level = "MUST NOT",
				  .title = "padding is not written",
				  .requirements = {"bis-4.4.6.1-3"},
				  .outcome = Outcome::failed,
				  .expected = "three bytes\nand no more",
				  .came = HOSTILE,
				  .comparison = {{"padding", "none", HOSTILE, true}},
				  .trace = {HOSTILE},
				  .seconds = 1.5,
				  .command = "rpcordma-peer conform 10.9.0.1 --only server/padding --trace"});
	report.results.push_back({.name = "server/windows",
				  .section = "RFC 8166, 3.4.9",
				  .level = "hostile",
				  .title = "memory windows",
				  .requirements = {},
				  .outcome = Outcome::skipped,
				  .expected = "",
				  .came = "the device has no memory windows",
				  .trace = {},
				  .seconds = 0});
	return report;
}

std::vector<Requirement> example_requirements()
{
	std::istringstream in("# a remark\n"
			      "\n"
			      "8166-3.4.6.2-2 | MUST NOT | responder | wire | padding is not in a Write chunk\n"
			      "bis-4.4.6.1-3 | MUST NOT | responder | wire | = 8166-3.4.6.2-2\n"
			      "8166-3.4.4.3-1 | MUST NOT | ULB | no: binds authors | a union is not eligible\n"
			      "8166-3.3.1-2 | MUST NOT | responder | wire | a grant is never zero\n");
	return parse_requirements(in);
}

Report with_requirements()
{
	Report report = example();
	report.requirements = example_requirements();
	return report;
}

template <typename Write> std::string written(Write write)
{
	std::ostringstream out;
	write(out);
	return out.str();
}

std::string table_of(const Report &report)
{
	return written([&](std::ostream &out) { write_table(out, report, false); });
}

// The one with this name; null where there is none.
View named(const View &all, const std::string &name)
{
	for (const View &one : all)
		if (one["name"] == name)
			return one;
	return {};
}

View property_of(const Report &report, const std::string &name)
{
	return named(junit_view(report)["properties"], name)["value"];
}

View case_of(const View &page, const std::string &name)
{
	for (const View &section : page["sections"])
		if (View found = named(section["cases"], name); !found.is_null())
			return found;
	return {};
}

View requirement_of(const View &page, const std::string &name)
{
	return named(page["requirements"], name);
}

bool has_control_characters(const std::string &text)
{
	return text.find('\x1b') != std::string::npos || text.find('\x01') != std::string::npos ||
	       text.find("\xc2\x9b") != std::string::npos || text.find('\xff') != std::string::npos;
}

TEST(Printable, LeavesTextAsItIs)
{
	EXPECT_EQ(printable("a\tb\n\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"), "a\tb\n\xc3\xa4 \xe2\x82\xac "
									     "\xf0\x9f\x98\x80");
}

TEST(Printable, WritesControlCharactersInHex)
{
	EXPECT_EQ(printable(std::string_view("\0\x1b\x7f\r\xc2\x9b", 6)), "\\x00\\x1b\\x7f\\x0d\\xc2\\x9b");
}

TEST(Printable, WritesInHexWhatIsNoUtf8)
{
	EXPECT_EQ(printable("\xff"), "\\xff");
	EXPECT_EQ(printable("\xc3"), "\\xc3");
	EXPECT_EQ(printable("\xc3(\x80"), "\\xc3(\\x80");
	EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");
	EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
	EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
	EXPECT_EQ(printable("\xef\xbf\xbf"), "\\xef\\xbf\\xbf");
}

TEST(CutTo, CountsCharactersAndEndsInAnEllipsis)
{
	EXPECT_EQ(cut_to("abcdef", 6), "abcdef");
	EXPECT_EQ(cut_to("abcdef", 5), "abcd…");
	EXPECT_EQ(cut_to("ääää", 4), "ääää");
	EXPECT_EQ(cut_to("ääää", 3), "ää…");
	EXPECT_EQ(cut_to("ab", 1), "…");
	EXPECT_EQ(cut_to("abcdef", 0), "abcdef");
}

TEST(Requirements, AreRead)
{
	const std::vector<Requirement> requirements = example_requirements();
	ASSERT_EQ(requirements.size(), 4U);
	EXPECT_EQ(requirements[0].identifier, "8166-3.4.6.2-2");
	EXPECT_EQ(requirements[0].level, "MUST NOT");
	EXPECT_EQ(requirements[0].who, "responder");
	EXPECT_TRUE(requirements[0].visible());
	EXPECT_FALSE(requirements[2].visible());
	EXPECT_EQ(requirements[1].same_as, "8166-3.4.6.2-2");
	EXPECT_EQ(requirements[1].what, "padding is not in a Write chunk");
}

TEST(Requirements, ThatAreMalformed_AreRefused)
{
	for (const char *const text :
	     {"a | MUST | both | wire\n", "a | MUST | both | wire | x\na | MUST | both | wire | y\n",
	      "a | MUST | both | perhaps | x\n", "a | MUST | both | wire | = b\n",
	      "a | MUST | both | wire | = b\nb | MUST | both | wire | = a\n"}) {
		std::istringstream in(text);
		EXPECT_THROW((void)parse_requirements(in), std::runtime_error) << text;
	}
}

TEST(Report, FindsResultsByWhatSaysTheSame)
{
	const Report report = with_requirements();
	const auto results = report.results_for(report.requirements[0]);
	ASSERT_EQ(results.size(), 1U);
	EXPECT_EQ(results[0]->name, "server/padding");
	EXPECT_EQ(report.results_for(report.requirements[1]), results);
	EXPECT_TRUE(report.results_for(report.requirements[3]).empty());
}

TEST(Table, HasARowForEachCaseAndWhatCameBelowFailedOnes)
{
	const std::string table = table_of(example());
	EXPECT_NE(table.find("passed  MUST       bis-04, 5.5.1    server/version another version"), std::string::npos)
		<< table;
	EXPECT_NE(table.find("        expected  three bytes\n                  and no more\n        came      </pre>"),
		  std::string::npos)
		<< table;
	EXPECT_NE(table.find("                ! padding  none      </pre>"), std::string::npos) << table;
	EXPECT_NE(table.find("        why       the device has no memory windows\n"), std::string::npos) << table;
	EXPECT_NE(table.find("\n1 passed, 1 failed, 1 skipped\n"), std::string::npos) << table;
	EXPECT_EQ(table.find("ERR_VERS 1 1"), std::string::npos) << table;
	EXPECT_FALSE(has_control_characters(table));
}

TEST(Table, CutsNothing)
{
	Report report = example();
	report.results[0].title = std::string(500, 'x');
	report.results[1].came = std::string(500, 'y');
	const std::string table = table_of(report);
	EXPECT_NE(table.find(' ' + report.results[0].title + '\n'), std::string::npos);
	EXPECT_NE(table.find(' ' + report.results[1].came + '\n'), std::string::npos);
}

TEST(Row, IsColouredOnDemand)
{
	const Report report = example();
	const std::string row = written([&](std::ostream &out) { write_row(out, report.results[0], true); });
	EXPECT_EQ(row.find("\033[32mpassed \033[0m MUST       bis-04, 5.5.1"), 0U) << row;
}

TEST(Reports, SayThatTheRunWasInterrupted)
{
	Report report = example();
	report.planned = 300;
	report.interrupted = "SIGINT";
	const std::string sentence = "interrupted by SIGINT after 3 of 300 cases";
	EXPECT_TRUE(written([&](std::ostream &out) {
			    write_summary(out, report);
		    }).ends_with("\n1 passed, 1 failed, 1 skipped; " + sentence + "\n"));
	EXPECT_EQ(page_view(report)["interruption"], sentence);
	EXPECT_EQ(junit_view(report)["interruption"], sentence);
	EXPECT_EQ(property_of(report, "interrupted"), "SIGINT");
	const auto json = nlohmann::json::parse(written([&](std::ostream &out) { write_json(out, report); }));
	EXPECT_EQ(json["interrupted"], "SIGINT");
	EXPECT_EQ(json["planned"], 300);
}

TEST(Reports, SayNothingOfAnInterruptionThatThereWasNot)
{
	const Report report = example();
	for (const std::string &text : {page_view(report).dump(), junit_view(report).dump(), table_of(report)})
		EXPECT_EQ(text.find("interrupted"), std::string::npos) << text;
	const auto json = nlohmann::json::parse(written([&](std::ostream &out) { write_json(out, report); }));
	EXPECT_TRUE(json["interrupted"].is_null());
}

TEST(Verdict, IsAboutMusts)
{
	Report report = example();
	EXPECT_EQ(report.verdict(), "does not conform: 1 of 2 cases about a MUST failed");
	report.results[1].level = "SHOULD";
	EXPECT_EQ(report.verdict(), "conforms: 1 of 1 cases about a MUST passed");
	report.results[0].outcome = Outcome::skipped;
	EXPECT_EQ(report.verdict(), "no verdict: no case about a MUST came to an end");
	EXPECT_FALSE(report.conforms().has_value());
}

TEST(Verdict, HasWhatIsNoMustApart)
{
	Report report = example();
	report.results[1].level = "SHOULD NOT";
	EXPECT_EQ(written([&](std::ostream &out) { write_summary(out, report); }),
		  "conforms: 1 of 1 cases about a MUST passed\n"
		  "  MUST: 1 passed, 0 failed, 0 skipped\n"
		  "  SHOULD: 0 passed, 1 failed, 0 skipped\n"
		  "  robustness against hostile input: 0 passed, 0 failed, 1 skipped\n"
		  "1 passed, 1 failed, 1 skipped\n");
}

TEST(Verdict, IsInEveryReport)
{
	const Report report = example();
	EXPECT_EQ(page_view(report)["verdict"], View({{"text", report.verdict()}, {"outcome", "failed"}}));
	EXPECT_EQ(property_of(report, "verdict"), report.verdict());
	const auto json = nlohmann::json::parse(written([&](std::ostream &out) { write_json(out, report); }));
	EXPECT_EQ(json["conforms"], false);
	EXPECT_EQ(json["levels"]["must"]["failed"], 1);
	EXPECT_EQ(json["levels"]["hostile"]["skipped"], 1);
	EXPECT_FALSE(json["levels"].contains("should"));
}

TEST(Weights, HaveEveryLevelOfTheCasesOnce)
{
	for (const Case &test : load_cases(PEER_SOURCE "/cases"))
		EXPECT_EQ(std::count_if(weights().begin(), weights().end(),
					[&](const Weight &weight) { return weight.has(test.level); }),
			  1)
			<< test.name << ": " << test.level;
}

TEST(Json, HasEverything)
{
	const Report report = with_requirements();
	const auto json = nlohmann::json::parse(written([&](std::ostream &out) { write_json(out, report); }));
	EXPECT_EQ(json["failed"], 1);
	EXPECT_EQ(json["results"].size(), 3U);
	EXPECT_EQ(json["results"][0]["outcome"], "passed");
	EXPECT_EQ(json["results"][0]["trace"].size(), 2U);
	EXPECT_EQ(json["results"][1]["requirements"][0], "bis-4.4.6.1-3");
	EXPECT_EQ(json["results"][1]["url"], "https://www.rfc-editor.org/rfc/rfc8166.html#section-3.4.10");
	EXPECT_EQ(json["results"][1]["command"], "rpcordma-peer conform 10.9.0.1 --only server/padding --trace");
	EXPECT_TRUE(json["results"][0]["command"].is_null());
	EXPECT_EQ(json["format_version"], 1);
	EXPECT_EQ(json["tester"]["driver"], "rdma_rxe");
	EXPECT_TRUE(json["tester"]["firmware"].is_null());
	EXPECT_EQ(json["terms"]["announced"]["receive_size"], 8192);
	EXPECT_EQ(json["terms"]["credits"], 64);
	EXPECT_EQ(json["settings"]["strict"], true);
	EXPECT_EQ(json["settings"]["arguments"][1], "conform");
	EXPECT_EQ(json["requirements"][0]["cases"][0], "server/padding");
	EXPECT_TRUE(json["requirements"][0]["same_as"].is_null());
	EXPECT_TRUE(json["requirements"][3]["cases"].empty());
}

TEST(JunitView, HasCountsAndFailures)
{
	const View junit = junit_view(example());
	EXPECT_EQ(junit["name"], "rpcordma-peer.server");
	EXPECT_EQ(junit["failures"], 1);
	EXPECT_EQ(junit["skipped"], 1);
	EXPECT_EQ(junit["seconds"], 1.5125);
	ASSERT_EQ(junit["cases"].size(), 3U);
	const View &failed = junit["cases"][1];
	EXPECT_EQ(failed["class"], "server.RFC 8166, 3_4_10");
	EXPECT_EQ(failed["name"], "server/padding");
	EXPECT_NE(failed["comparison"].get<std::string>().find("\n! padding  none      </pre"), std::string::npos);
	EXPECT_EQ(junit["cases"][2]["outcome"], "skipped");
	EXPECT_EQ(junit["cases"][2]["came"], "the device has no memory windows");
}

TEST(Views, HavePrintableTextsThatNobodyHasEscaped)
{
	const std::string shown = "</pre><script>alert(\"1\")</script>&\\x1b[31m\\xff\\x01\\xc2\\x9b]]>'";
	const View page = page_view(with_requirements());
	const View junit = junit_view(example());
	EXPECT_EQ(case_of(page, "server/padding")["came"], shown);
	EXPECT_EQ(case_of(page, "server/padding")["messages"], shown + "\n");
	EXPECT_EQ(junit["cases"][1]["came"], shown);
	// Which also throws where there is something else than UTF-8.
	EXPECT_FALSE(has_control_characters(page.dump(-1, ' ', false)));
	EXPECT_FALSE(has_control_characters(junit.dump(-1, ' ', false)));
	EXPECT_EQ(made_printable(View::array({View("\xff"), View({{"a", "\x01"}}), View(7)})),
		  View::array({View("\\xff"), View({{"a", "\\x01"}}), View(7)}));
}

TEST(Views, OfNothingCanBeMade)
{
	EXPECT_EQ(page_view({})["sections"], View::array());
	EXPECT_EQ(junit_view({})["cases"], View::array());
}

TEST(PageView, MarksWhatDiffers)
{
	const View result = case_of(page_view(example()), "server/padding");
	EXPECT_EQ(result["comparison"][0]["what"], "padding");
	EXPECT_EQ(result["comparison"][0]["expected"], View::array({View({{"text", "none"}, {"differs", true}})}));
}

TEST(PageView, HasSectionsInTheOrderOfTheirNumbers)
{
	const View page = page_view(example());
	std::vector<std::string> titles;
	for (const View &section : page["sections"])
		titles.push_back(section["title"]);
	EXPECT_EQ(titles, (std::vector<std::string>{"RFC 8166, 3.4.9", "RFC 8166, 3.4.10", "bis-04, 5.5.1"}));
}

TEST(PageView, SaysHowItWasTestedAndWhereToRead)
{
	Report report = example();
	const View page = page_view(report);
	EXPECT_EQ(page["title"], "Conformance of the server 10.9.0.1:20049");
	EXPECT_NE(std::find(page["facts"].begin(), page["facts"].end(),
			    View({{"name", "credits granted"}, {"value", "64"}})),
		  page["facts"].end());
	EXPECT_EQ(case_of(page, "server/padding")["command"], report.results[1].command);
	EXPECT_EQ(page["sections"][0]["url"], "https://www.rfc-editor.org/rfc/rfc8166.html#section-3.4.9");
	report.name = "my <server>";
	EXPECT_EQ(page_view(report)["title"], "Conformance of my <server>");
}

TEST(PageView, CountsEachWeight)
{
	const View page = page_view(example());
	EXPECT_EQ(page["totals"][1], View({{"outcome", "failed"}, {"count", 1}}));
	EXPECT_EQ(page["weights"][0]["title"], "MUST");
	EXPECT_EQ(page["weights"][0]["totals"][2], View({{"outcome", "skipped"}, {"count", 0}}));
}

TEST(PageView, SaysOfEachRequirementWhichCasesItHas)
{
	const View page = page_view(with_requirements());
	const View covered = requirement_of(page, "bis-4.4.6.1-3");
	EXPECT_EQ(covered["anchor"], "bis-4.4.6.1-3");
	EXPECT_EQ(covered["outcomes"], View::array({"failed"}));
	EXPECT_EQ(covered["same_as"]["url"], "#8166-3.4.6.2-2");
	EXPECT_EQ(covered["cases"][0],
		  View({{"name", "server/padding"}, {"url", "#server/padding"}, {"outcome", "failed"}}));
	EXPECT_EQ(covered["absence"], "");
	EXPECT_EQ(requirement_of(page, "8166-3.3.1-2")["outcomes"], View::array({"uncovered"}));
	EXPECT_EQ(requirement_of(page, "8166-3.3.1-2")["absence"], "no case in this run");
	EXPECT_EQ(requirement_of(page, "8166-3.4.4.3-1")["absence"], "cannot be seen: binds authors");
	EXPECT_EQ(page["outcomes"].back(), "uncovered");
}

// Each link has a place to go to.
TEST(PageView, HasLinksToWhatItLists)
{
	Report report = with_requirements();
	const View page = page_view(report);
	EXPECT_EQ(case_of(page, "server/padding")["requirements"][0]["url"], "#bis-4.4.6.1-3");
	EXPECT_EQ(case_of(page, "server/version")["requirements"][0]["url"], "");
	report.results[1].name = "server/a b\tc\nd";
	const View blank = page_view(report);
	EXPECT_EQ(case_of(blank, report.results[1].name)["anchor"], "server/a-b-c-d");
	EXPECT_EQ(requirement_of(blank, "bis-4.4.6.1-3")["cases"][0]["url"], "#server/a-b-c-d");
}

} // namespace
} // namespace peer
