// SPDX-License-Identifier: GPL-2.0-only

#include "language/case.hh"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace peer {
namespace {

TEST(CaseFile, HasATitlePropertiesAndSteps)
{
	const Case test = parse_case("server/x", "# RFC 8166, 3.4.5, MUST NOT: something is wrong\n"
						 "covers 8166-3.4.5-1 bis-1\n"
						 "for n in 1..3 0x10   # a remark\n"
						 "\n"
						 "send null\n"
						 "\tversion = $n\n"
						 "expect error VERS 1 1\n");
	EXPECT_EQ(test.section, "RFC 8166, 3.4.5");
	EXPECT_EQ(test.level, "MUST NOT");
	EXPECT_EQ(test.title, "something is wrong");
	EXPECT_EQ(test.requirements, (std::vector<std::string>{"8166-3.4.5-1", "bis-1"}));
	EXPECT_EQ(test.values, (std::vector<std::uint64_t>{1, 2, 3, 16}));
	EXPECT_EQ(test.tested, Tested::server);
	ASSERT_EQ(test.steps.size(), 2U);
	EXPECT_EQ(test.steps_for(16)[0].block[0].words, (Words{"version", "=", "16"}));
	EXPECT_EQ(test.steps[1].line.number, 7U);
}

TEST(CaseFile, HasAVersionOfTheProtocol)
{
	const auto protocol_of = [](const std::string &lines) {
		return parse_case("server/x", "# RFC 8166, 3, MUST: title\n" + lines + "send null\n").protocol;
	};
	EXPECT_EQ(protocol_of(""), 1U);
	EXPECT_EQ(protocol_of("protocol 1\n"), 1U);
	EXPECT_EQ(protocol_of("protocol 2\n"), 2U);
	for (const std::string line : {"protocol\n", "protocol 3\n", "protocol two\n", "protocol 1 2\n"})
		EXPECT_THROW(protocol_of(line), ScriptError) << line;
}

TEST(CaseFile, HasFeaturesOfThePeer)
{
	const auto parse = [](const std::string &lines) {
		return parse_case("server/x", "# RFC 8166, 3, MUST: title\n" + lines + "send null\n");
	};
	EXPECT_TRUE(parse("").features.empty());
	EXPECT_EQ(parse("feature one\nfeature two\n").features, (std::vector<std::string>{"one", "two"}));
	// It is no property then, and no step that there is.
	EXPECT_EQ(parse("feature one two\n").steps.size(), 2U);
}

TEST(CaseFile, ThatIsWrongIsRefusedWithItsLine)
{
	const auto why = [](const char *text) -> std::string {
		try {
			static_cast<void>(parse_case("server/x", text));
		} catch (const ScriptError &error) {
			return error.what();
		}
		return "";
	};
	EXPECT_EQ(why("send null\n").substr(0, 12), "server/x:1: ");
	EXPECT_EQ(why("# RFC 8166, 1, OUGHT: x\nsend null\n").substr(0, 12), "server/x:1: ");
	EXPECT_EQ(why("# RFC 8166, 1, MUST: x\n\tversion = 1\n").substr(0, 12), "server/x:2: ");
	EXPECT_EQ(why("# RFC 8166, 1, MUST: x\nfor n in x\nsend null\n").substr(0, 12), "server/x:2: ");
	EXPECT_EQ(why("# RFC 8166, 1, MUST: x\n"), "server/x:1: there are no steps");
}

const char *const CHOICE = "# RFC 8166, 1, MUST: x\n"
			   "send null\n"
			   "expect error VERS 1 1 or dropped\n"
			   "\tcredits = 1 or 2\n"
			   "\tusually credits = 1\n"
			   "usually expect closed\n";

TEST(CaseFile, SettledForAnyone_AllowsWhatIsAllowed)
{
	Case test = parse_case("server/x", CHOICE);
	test.settle(false);
	ASSERT_EQ(test.steps.size(), 2U);
	EXPECT_EQ(test.steps[1].line.words, (Words{"expect", "error", "VERS", "1", "1", "or", "dropped"}));
	ASSERT_EQ(test.steps[1].block.size(), 1U);
	EXPECT_EQ(test.steps[1].block[0].words, (Words{"credits", "=", "1", "or", "2"}));
}

TEST(CaseFile, SettledStrictly_WantsWhatStandsFirstAndWhatIsUsual)
{
	Case test = parse_case("server/x", CHOICE);
	test.settle(true);
	ASSERT_EQ(test.steps.size(), 3U);
	EXPECT_EQ(test.steps[1].line.words, (Words{"expect", "error", "VERS", "1", "1"}));
	ASSERT_EQ(test.steps[1].block.size(), 2U);
	EXPECT_EQ(test.steps[1].block[0].words, (Words{"credits", "=", "1"}));
	EXPECT_EQ(test.steps[1].block[1].words, (Words{"credits", "=", "1"}));
	EXPECT_EQ(test.steps[2].line.words, (Words{"expect", "closed"}));
}

class CaseFolder : public testing::Test {
    protected:
	~CaseFolder() override { std::filesystem::remove_all(folder); }
	void write(const std::string &file)
	{
		std::filesystem::create_directories((folder / file).parent_path());
		std::ofstream(folder / file) << "# RFC 8166, 4, MUST: a title\nsend null\n";
	}

	const std::filesystem::path folder =
		std::filesystem::temp_directory_path() / ("cases." + std::to_string(::getpid()));
};

TEST_F(CaseFolder, OfAnyDepth_NamesItsCasesAfterTheSideAndTheFile)
{
	write("client/write/write-one.case");
	write("server/read/chunk/read-two.case");
	write("server/read/read-one.case");
	write("server/null.case");
	write("version-2/server/v2/null-2.case");
	std::vector<std::string> names;
	for (const Case &test : load_cases(folder))
		names.push_back(test.name);
	EXPECT_EQ(names, (std::vector<std::string>{"server/null", "server/null-2", "server/read-one", "server/read-two",
						   "client/write-one"}));
	EXPECT_EQ(load_case(folder / "server/read/chunk/read-two.case").name, "server/read-two");
}

TEST_F(CaseFolder, WithTwoFilesOfOneName_IsRefused)
{
	write("server/read/one.case");
	write("server/write/one.case");
	EXPECT_THROW(static_cast<void>(load_cases(folder)), ScriptError);
	std::filesystem::remove(folder / "server/write/one.case");
	static_cast<void>(load_cases(folder));
	write("version-2/server/one.case");
	EXPECT_THROW(static_cast<void>(load_cases(folder)), ScriptError);
}

} // namespace
} // namespace peer
