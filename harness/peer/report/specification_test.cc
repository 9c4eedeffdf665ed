// SPDX-License-Identifier: GPL-2.0-only

#include "report/specification.hh"

#include <fstream>

#include <gtest/gtest.h>

#include "language/case.hh"
#include "report/requirement.hh"

namespace peer {
namespace {

TEST(Section, HasAnIdentifier)
{
	EXPECT_EQ(section_identifier("RFC 8166, 3.4.5"), "8166-3.4.5");
	EXPECT_EQ(section_identifier("bis-04, 5.5.2"), "bis-5.5.2");
	EXPECT_EQ(section_identifier("version-two-01, 4.2"), "v2-4.2");
	EXPECT_EQ(section_identifier("somewhere"), "somewhere");
}

TEST(Url, IsOfTheSection)
{
	EXPECT_EQ(url_of("8166-3.4.5-2"), "https://www.rfc-editor.org/rfc/rfc8166.html#section-3.4.5");
	EXPECT_EQ(url_of("8797-4"), "https://www.rfc-editor.org/rfc/rfc8797.html#section-4");
	EXPECT_EQ(url_of("bis-5.5.1-s1"), "https://datatracker.ietf.org/doc/html/"
					  "draft-ietf-nfsv4-rfc5666bis-04#section-5.5.1");
	EXPECT_EQ(url_of("v2-4.2.1-1"), "https://datatracker.ietf.org/doc/html/"
					"draft-cel-nfsv4-rpcrdma-version-two-01#section-4.2.1");
}

TEST(Url, IsEmptyWhereNobodyKnowsTheDocument)
{
	for (const char *const text : {"", "8166", "-3.1", "mine-3.1", "81x6-3"})
		EXPECT_EQ(url_of(text), "") << text;
}

TEST(Url, IsThereForEachCaseAndRequirement)
{
	for (const Requirement &requirement : load_requirements(PEER_SOURCE "/requirements.txt"))
		EXPECT_NE(url_of(requirement.identifier), "") << requirement.identifier;
	for (const Case &test : load_cases(PEER_SOURCE "/cases"))
		EXPECT_NE(url_of(section_identifier(test.section)), "") << test.name << ": " << test.section;
}

} // namespace
} // namespace peer
