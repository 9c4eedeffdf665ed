// SPDX-License-Identifier: GPL-2.0-only

#include "command/selection.hh"

#include <sstream>

#include <gtest/gtest.h>

namespace peer {
namespace {

using Names = std::vector<std::string>;

std::vector<Requirement> requirements()
{
	std::istringstream in("8166-3.4.5-1 | MUST | both | wire | one thing\n"
			      "8166-3.4.50-1 | MUST | both | wire | another thing\n"
			      "8166-3.4.5.1-s1 | says | both | wire | a third\n"
			      "bis-4.1-1 | MUST | both | wire | = 8166-3.4.5-1\n");
	return parse_requirements(in);
}

Case named(const std::string &name, const std::string &section, const std::string &level,
	   const std::string &covered = "")
{
	return parse_case("server/" + name, "# " + section + ", " + level + ": title\n" +
						    (covered.empty() ? "" : "covers " + covered + "\n") + "connect\n");
}

std::vector<Case> cases()
{
	std::vector<Case> all = {
		named("null", "RFC 8166, 3.2", "MUST"),
		named("padding", "RFC 8166, 3.4.6", "MUST NOT", "8166-3.4.5-1"),
		named("long-call", "RFC 8166, 3.4.5.1", "SHOULD"),
		named("long-reply", "bis-04, 5.5", "hostile"),
		named("minutes", "RFC 8166, 3.4.50", "MAY"),
		named("option", "version-two-01, 2.1", "says"),
	};
	all[4].apart = "takes minutes";
	all[5].protocol = 2;
	return all;
}

Names selected(const Selection &selection)
{
	Names names;
	for (const Case &test : select(cases(), selection, requirements()))
		names.push_back(test.name.substr(test.name.find('/') + 1));
	return names;
}

Names only(const Names &words)
{
	return selected({.only = words});
}

std::string complaint(const Selection &selection)
{
	try {
		static_cast<void>(selected(selection));
	} catch (const ScriptError &error) {
		return error.what();
	}
	return "";
}

TEST(Selection, IsUsuallyEveryCaseOfTheProtocolThatIsNotApart)
{
	EXPECT_EQ(selected({}), (Names{"null", "padding", "long-call", "long-reply"}));
	EXPECT_EQ(selected({.protocol = 2}), (Names{"null", "padding", "long-call", "long-reply", "option"}));
	EXPECT_EQ(selected({.apart = true}), (Names{"null", "padding", "long-call", "long-reply", "minutes"}));
}

TEST(Selection, ByName)
{
	EXPECT_EQ(only({"server/null"}), Names{"null"});
	EXPECT_EQ(only({"null"}), Names{"null"});
	EXPECT_EQ(only({"long-*"}), (Names{"long-call", "long-reply"}));
	EXPECT_EQ(only({"server/long-*", "null"}), (Names{"null", "long-call", "long-reply"}));
	EXPECT_EQ(only({"minutes"}), Names{"minutes"});
}

TEST(Selection, ByLevel)
{
	EXPECT_EQ(only({"must"}), (Names{"null", "padding"}));
	EXPECT_EQ(only({"should"}), Names{"long-call"});
	EXPECT_EQ(only({"hostile", "should"}), (Names{"long-call", "long-reply"}));
}

TEST(Selection, ByLevelAndSectionAsReportsHaveThem)
{
	EXPECT_EQ(only({"MUST"}), (Names{"null", "padding"}));
	EXPECT_EQ(only({"MUST NOT"}), Names{"padding"});
	EXPECT_EQ(only({"RFC 8166, 3.2"}), Names{"null"});
	EXPECT_EQ(only({"RFC 8166, 3.4.5"}), (Names{"padding", "long-call"}));
	EXPECT_EQ(only({"bis-04, 5.5"}), Names{"long-reply"});
}

TEST(Selection, ByRequirement)
{
	EXPECT_EQ(only({"8166-3.4.5-1"}), Names{"padding"});
	EXPECT_EQ(only({"bis-4.1-1"}), Names{"padding"}) << "which says the same";
	EXPECT_EQ(only({"8166-3.4.5"}), (Names{"padding", "long-call"}));
	EXPECT_EQ(only({"8166-3.2"}), Names{"null"});
	EXPECT_EQ(only({"bis"}), (Names{"padding", "long-reply"}));
	EXPECT_EQ(selected({.only = {"v2-2.1"}, .protocol = 2}), Names{"option"});
}

TEST(Selection, ByKindHasNoCasesThatAreApart)
{
	EXPECT_EQ(only({"may"}), Names{});
	EXPECT_EQ(selected({.only = {"may"}, .apart = true}), Names{"minutes"});
	EXPECT_EQ(selected({.only = {"8166-3.4.50"}, .apart = true}), Names{"minutes"});
}

TEST(Selection, ByWhatFailedBefore)
{
	EXPECT_EQ(selected({.names = {{"server/null", "server/minutes"}}}), (Names{"null", "minutes"}));
	EXPECT_EQ(selected({.only = {"must"}, .names = {{"server/null", "server/minutes"}}}), Names{"null"});
	EXPECT_EQ(selected({.names = std::set<std::string>{}}), Names{});
}

TEST(Selection, NamesAWordThatStandsForNothing)
{
	EXPECT_EQ(complaint({.only = {"null", "nul"}}), "--only nul: no case has this name, level or requirement; did "
							"you mean null?");
	EXPECT_EQ(complaint({.only = {"server/padidng"}}), "--only server/padidng: no case has this name, level or "
							   "requirement; did you mean server/padding?");
	EXPECT_EQ(complaint({.only = {"musst"}}), "--only musst: no case has this name, level or requirement; did you "
						  "mean must?");
	EXPECT_EQ(complaint({.only = {"qwertyuiop"}}), "--only qwertyuiop: no case has this name, level or "
						       "requirement");
	EXPECT_EQ(complaint({.only = {"option"}}), "--only option: these cases, such as server/option, need a higher "
						   "--protocol");
}

TEST(Selection, NamesAFailedCaseThatIsNotThere)
{
	EXPECT_EQ(complaint({.names = {{"server/nulll"}}}), "--failed-from: there is no case server/nulll here; did "
							    "you mean server/null?");
	EXPECT_EQ(complaint({.names = {{"client/read"}}}), "--failed-from: there is no case client/read here");
}

TEST(FailedCases, AreReadFromAReport)
{
	std::istringstream report(R"({"results": [{"name": "server/a", "outcome": "failed"},
		{"name": "server/b", "outcome": "passed"}, {"name": "server/c", "outcome": "failed"}]})");
	EXPECT_EQ(failed_cases(report, "r.json"), (std::set<std::string>{"server/a", "server/c"}));
}

TEST(FailedCases, OfWhatIsNoReportAreAnError)
{
	for (const char *const text : {"", "[]", "{}", R"({"results": [{}]})", R"({"results": [1]})", "<html>"}) {
		std::istringstream report(text);
		EXPECT_THROW(static_cast<void>(failed_cases(report, "r.json")), ScriptError) << text;
	}
}

} // namespace
} // namespace peer
