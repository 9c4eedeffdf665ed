// SPDX-License-Identifier: GPL-2.0-only

#include "suite/client_instance.hh"

#include <gtest/gtest.h>

namespace peer {
namespace {

using Texts = std::vector<std::string>;

std::vector<Case> cases()
{
	return {parse_case("client/plain", "# RFC 8166, 3, MUST: title\nclient read 8192\non read\n"),
		parse_case("client/sizes", "# RFC 8166, 3, MUST: title\nfor n in 1..2\nclient read $n\non read\n")};
}

Texts texts_of(const std::vector<Instance> &instances, std::string Instance::*part)
{
	Texts texts;
	for (const Instance &instance : instances)
		texts.push_back(instance.*part);
	return texts;
}

TEST(Instances, AreEachCaseWithEachValue)
{
	const std::vector<Case> all = cases();
	const std::vector<Instance> instances = instances_of(all);
	EXPECT_EQ(texts_of(instances, &Instance::name), (Texts{"plain", "sizes.1", "sizes.2"}));
	EXPECT_EQ(texts_of(instances, &Instance::described), (Texts{"", "n = 1: ", "n = 2: "}));
}

TEST(Instances, OfACaseThatIsRepeatedStandTogetherAndHaveNamesOfTheirOwn)
{
	const std::vector<Case> all = cases();
	const std::vector<Instance> instances = instances_of(all, 2);
	EXPECT_EQ(texts_of(instances, &Instance::name),
		  (Texts{"plain", "plain.again-2", "sizes.1", "sizes.2", "sizes.again-2.1", "sizes.again-2.2"}));
	EXPECT_EQ(instances[1].described, "time 2 of 2: ");
	EXPECT_EQ(instances[5].described, "time 2 of 2: n = 2: ");
	EXPECT_EQ(instances[5].value, 2U);
}

} // namespace
} // namespace peer
