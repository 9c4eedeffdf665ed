// SPDX-License-Identifier: GPL-2.0-only

#include "report/report.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include <nlohmann/json.hpp>

#include "language/case.hh"
#include "report/text.hh"

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

std::string html_of(const Report &report)
{
	return written([&](std::ostream &out) { write_html(out, report); });
}

std::string junit_of(const Report &report)
{
	return written([&](std::ostream &out) { write_junit(out, report); });
}

std::string table_of(const Report &report)
{
	return written([&](std::ostream &out) { write_table(out, report, false); });
}

// An ampersand begins one of the entities that XML and HTML share.
bool text_is_well_formed(std::string_view text)
{
	constexpr std::array<std::string_view, 6> ENTITIES = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;", "&#10;"};
	for (std::size_t at = 0; (at = text.find('&', at)) != std::string_view::npos; at++)
		if (std::none_of(ENTITIES.begin(), ENTITIES.end(),
				 [&](std::string_view entity) { return text.substr(at).starts_with(entity); }))
			return false;
	return text.find_first_of("<>") == std::string_view::npos;
}

// ' name="value"', any number of them.
bool attributes_are_well_formed(std::string_view text)
{
	while (!text.empty()) {
		const std::size_t value = text.find("=\"");
		const std::size_t end = text.find('"', value == std::string_view::npos ? value : value + 2);
		if (text[0] != ' ' || end == std::string_view::npos ||
		    text.substr(1, value - 1).find_first_not_of("abcdefghijklmnopqrstuvwxyz-") !=
			    std::string_view::npos ||
		    !text_is_well_formed(text.substr(value + 2, end - value - 2)))
			return false;
		text.remove_prefix(end + 1);
	}
	return true;
}

// One tag, without its brackets. What is wrong with it, or nothing.
std::string complaint_about_tag(std::string_view tag, std::vector<std::string> &open)
{
	if (tag.starts_with('/')) {
		if (open.empty() || open.back() != tag.substr(1))
			return "closes what is not open: " + std::string(tag);
		open.pop_back();
		return {};
	}
	const bool empty = tag.ends_with('/');
	if (empty)
		tag.remove_suffix(tag.ends_with(" /") ? 2 : 1);
	const std::string_view name = tag.substr(0, tag.find(' '));
	if (name.empty() || !attributes_are_well_formed(tag.substr(name.size())))
		return "tag: " + std::string(tag);
	if (!empty)
		open.emplace_back(name);
	return {};
}

void remove(std::string &text, std::string_view from, std::string_view to)
{
	for (std::size_t at; (at = text.find(from)) != std::string::npos;)
		text.erase(at, text.find(to, at) + to.size() - at);
}

// What is wrong with a document's markup, or nothing.
std::string complaint_about(std::string markup)
{
	remove(markup, "<?xml", "?>");
	remove(markup, "<!DOCTYPE", ">");
	remove(markup, "<![CDATA[", "]]>");

	std::vector<std::string> open;
	for (std::size_t at = 0; at < markup.size();) {
		const std::size_t begin = std::min(markup.find('<', at), markup.size());
		if (!text_is_well_formed(markup.substr(at, begin - at)))
			return "text: " + markup.substr(at, begin - at);
		if (begin == markup.size())
			break;
		const std::size_t end = markup.find('>', begin);
		if (end == std::string::npos)
			return "a tag that does not end";
		const std::string complaint = complaint_about_tag(markup.substr(begin + 1, end - begin - 1), open);
		if (!complaint.empty())
			return complaint;
		at = end + 1;
	}
	return open.empty() ? "" : "not closed: " + open.back();
}

TEST(Complaint, IsAboutWhatIsNotWellFormed)
{
	EXPECT_EQ(complaint_about("<a b=\"1\" c=\"&lt;\">x<br /><d/>&amp;</a>"), "");
	for (const char *const bad :
	     {"<a>", "</a>", "<a></b>", "<a b></a>", "<a b=1></a>", "<a b=\"<\"></a>", "a & b", "a > b", "<a"})
		EXPECT_NE(complaint_about(bad), "") << bad;
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

const std::vector<Requirement> &all_requirements()
{
	static const std::vector<Requirement> requirements = load_requirements(std::string(PEER_SOURCE) + "/requirement"
													  "s.txt");
	return requirements;
}

// As many as the key words that each document has, but for those that require nothing: see requirements.txt.
TEST(RequirementsTxt, HasEachKeyWord)
{
	const auto count = [](std::string_view document) {
		return std::count_if(all_requirements().begin(), all_requirements().end(), [&](const Requirement &one) {
			return one.identifier.starts_with(document) && one.level != "says";
		});
	};
	EXPECT_EQ(count("8166-"), 31 + 46);
	EXPECT_EQ(count("8267-"), 20);
	EXPECT_EQ(count("bis-"), 78);
	EXPECT_EQ(count("8797-"), 7);
	EXPECT_EQ(count("8167-"), 10);
	EXPECT_EQ(count("v2-"), 13);
}

TEST(RequirementsTxt, HasWhatCasesSayThatTheyCover)
{
	std::set<std::string> known;
	for (const Requirement &requirement : all_requirements())
		known.insert(requirement.identifier);
	for (const Case &test : load_cases(PEER_SOURCE "/cases"))
		for (const std::string &identifier : test.requirements)
			EXPECT_TRUE(known.contains(identifier)) << test.name << " covers " << identifier;
}

// Which of the cases for servers and for clients have to see something, where @who is bound.
std::set<Tested> seen_in(const std::string &who)
{
	if (who == "responder" || who == "server")
		return {Tested::server};
	if (who == "requester" || who == "client")
		return {Tested::client};
	return {Tested::server, Tested::client};
}

// In the reverse direction the roles are exchanged, and RFC 8167 is about both.
TEST(RequirementsTxt, BindWhomTheCasesForThemTest)
{
	std::map<std::string, std::string> bound;
	for (const Requirement &requirement : all_requirements())
		bound[requirement.identifier] = requirement.who;
	for (const Case &test : load_cases(PEER_SOURCE "/cases")) {
		if (test.name.find("/reverse-") != std::string::npos)
			continue;
		for (const std::string &identifier : test.requirements)
			EXPECT_TRUE(identifier.starts_with("8167-") || seen_in(bound[identifier]).contains(test.tested))
				<< test.name << " covers " << identifier;
	}
}

TEST(RequirementsTxt, HasACaseForWhoeverIsBoundByWhatCanBeSeen)
{
	std::map<std::string, std::string> shared;
	for (const Requirement &one : all_requirements())
		shared[one.identifier] = one.shared_identifier();
	std::map<std::string, std::set<Tested>> covered;
	for (const Case &test : load_cases(PEER_SOURCE "/cases"))
		for (const std::string &identifier : test.requirements)
			covered[shared[identifier]].insert(test.tested);
	for (const Requirement &one : all_requirements())
		for (const Tested tested : seen_in(one.who))
			EXPECT_TRUE(!one.visible() || covered[one.shared_identifier()].contains(tested))
				<< one.identifier << " has no case for "
				<< (tested == Tested::server ? "servers" : "clients");
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
	EXPECT_NE(html_of(report).find("This run was " + sentence), std::string::npos);
	const std::string junit = junit_of(report);
	EXPECT_NE(junit.find("<system-err>" + sentence + "</system-err>"), std::string::npos);
	EXPECT_EQ(complaint_about(junit), "");
	EXPECT_EQ(complaint_about(html_of(report)), "");
	const auto json = nlohmann::json::parse(written([&](std::ostream &out) { write_json(out, report); }));
	EXPECT_EQ(json["interrupted"], "SIGINT");
	EXPECT_EQ(json["planned"], 300);
}

TEST(Reports, SayNothingOfAnInterruptionThatThereWasNot)
{
	const Report report = example();
	for (const std::string &text : {html_of(report), junit_of(report), table_of(report)})
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
	EXPECT_NE(html_of(report).find("<p class=\"verdict failed\">" + report.verdict()), std::string::npos);
	EXPECT_NE(junit_of(report).find("name=\"verdict\" value=\"" + report.verdict()), std::string::npos);
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

TEST(Junit, IsWellFormed)
{
	EXPECT_EQ(complaint_about(junit_of(example())), "");
	EXPECT_FALSE(has_control_characters(junit_of(example())));
}

TEST(Junit, HasCountsAndFailures)
{
	const std::string junit = junit_of(example());
	EXPECT_NE(junit.find("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\" time=\"1.512\""), std::string::npos)
		<< junit;
	EXPECT_NE(junit.find("<testcase classname=\"server.RFC 8166, 3_4_10\" name=\"server/padding\" "
			     "time=\"1.500\">\n      <failure message=\"&lt;/pre&gt;"),
		  std::string::npos)
		<< junit;
	EXPECT_NE(junit.find("\n! padding  none      &lt;/pre"), std::string::npos) << junit;
	EXPECT_NE(junit.find("<skipped message=\"the device has no memory windows\"/>"), std::string::npos) << junit;
}

TEST(Html, IsWellFormed)
{
	EXPECT_EQ(complaint_about(html_of(example())), "");
	EXPECT_EQ(complaint_about(html_of(with_requirements())), "");
	EXPECT_EQ(complaint_about(html_of({})), "");
}

TEST(Html, ShowsWhatCameAsText)
{
	const std::string html = html_of(example());
	EXPECT_NE(html.find("&lt;/pre&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;\\x1b[31m\\xff\\x01"),
		  std::string::npos);
	EXPECT_EQ(html.find("alert(\"1\")"), std::string::npos);
	EXPECT_FALSE(has_control_characters(html));
}

TEST(Html, MarksWhatDiffers)
{
	EXPECT_NE(html_of(example()).find("<td>padding</td><td><code><mark>none</mark></code></td>"),
		  std::string::npos);
}

TEST(Html, HasSectionsInTheOrderOfTheirNumbers)
{
	const std::string html = html_of(example());
	const std::size_t ninth = html.find(">RFC 8166, 3.4.9</a></h2>");
	const std::size_t tenth = html.find(">RFC 8166, 3.4.10</a></h2>");
	ASSERT_NE(ninth, std::string::npos);
	ASSERT_NE(tenth, std::string::npos);
	EXPECT_LT(ninth, tenth);
}

TEST(Html, TakesNothingFromElsewhere)
{
	const std::string html = html_of(with_requirements());
	for (const char *const reference : {"src=", "<link", "url(", "@import"})
		EXPECT_EQ(html.find(reference), std::string::npos) << reference;
	// What can be followed is not loaded.
	constexpr std::string_view LINK = "<a href=\"https";
	for (std::size_t at = 0; (at = html.find("://", at)) != std::string::npos; at++)
		EXPECT_EQ(html.substr(at - LINK.size(), LINK.size()), LINK);
}

TEST(Html, SaysHowItWasTestedAndWhereToRead)
{
	Report report = example();
	std::string html = html_of(report);
	EXPECT_NE(html.find("<h1>Conformance of the server 10.9.0.1:20049</h1>"), std::string::npos);
	EXPECT_NE(html.find("<dt>credits granted</dt><dd>64</dd>"), std::string::npos);
	EXPECT_NE(html.find("<h3>To run it alone</h3>\n<pre>rpcordma-peer conform"), std::string::npos);
	EXPECT_NE(html.find("<a href=\"https://www.rfc-editor.org/rfc/rfc8166.html#section-3.4.9\">RFC 8166, "
			    "3.4.9</a>"),
		  std::string::npos);
	report.name = "my <server>";
	EXPECT_NE(html_of(report).find("<h1>Conformance of my &lt;server&gt;</h1>"), std::string::npos);
}

TEST(Html, SaysOfEachRequirementWhichCasesItHas)
{
	const std::string html = html_of(with_requirements());
	EXPECT_NE(html.find("<tr id=\"bis-4.4.6.1-3\" data-outcome=\"failed\""), std::string::npos);
	EXPECT_NE(html.find("<a class=\"failed\" href=\"#server/padding\">server/padding</a>"), std::string::npos);
	EXPECT_NE(html.find("<tr id=\"8166-3.3.1-2\" data-outcome=\"uncovered\""), std::string::npos);
	EXPECT_NE(html.find("cannot be seen: binds authors"), std::string::npos);
	// Each link to a requirement has a place to go to.
	EXPECT_NE(html.find("<a href=\"#bis-4.4.6.1-3\">"), std::string::npos);
	EXPECT_EQ(html.find("<a href=\"#bis-5.5.1-1\">"), std::string::npos);
}

} // namespace
} // namespace peer
