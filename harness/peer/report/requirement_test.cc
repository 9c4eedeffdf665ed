// SPDX-License-Identifier: GPL-2.0-only

#include "report/requirement.hh"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include "language/case.hh"

namespace peer {
namespace {

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

} // namespace
} // namespace peer
