// SPDX-License-Identifier: GPL-2.0-only

#include "suite/client_script.hh"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace peer {
namespace {

void put(const std::filesystem::path &file, const std::string &content)
{
	std::filesystem::create_directories(file.parent_path());
	std::ofstream(file) << content;
	std::filesystem::permissions(file, std::filesystem::perms::owner_all);
}

// What it leaves of a read, in a directory in the place of a mount, where @dd does the reading.
std::string result_of_read(const std::string &dd, const std::string &protocol = "1")
{
	const std::filesystem::path here = testing::TempDir() + "client-script-" + std::to_string(::getpid());
	put(here / "run", {client_script().begin(), client_script().end()});
	put(here / "source", "");
	put(here / "list.3", "x read 512 " + protocol + "\n");
	put(here / "results/x", "");
	put(here / "bin/dd", dd);
	const std::string command = "OFFER='give() { export offered=$1; }; give' LC_ALL=de_DE.UTF-8 PATH=" +
				    (here / "bin").string() + ":$PATH sh " + (here / "run").string() + " 3";
	EXPECT_EQ(std::system(command.c_str()), 0);
	std::ifstream result(here / "results/x");
	const std::string text(std::istreambuf_iterator<char>(result), {});
	std::filesystem::remove_all(here);
	return text;
}

TEST(ClientScript, HasErrorsInEnglishWhateverTheClientSpeaks)
{
	const std::string result = result_of_read("#!/bin/sh\necho \"in $LC_ALL\" >&2\nexit 5\n");
	EXPECT_TRUE(result.starts_with("5\n")) << result;
	EXPECT_NE(result.find("\nin C"), std::string::npos) << result;
	EXPECT_TRUE(result.ends_with("\nend\n")) << result;
}

TEST(ClientScript, OffersVersion2InCasesOfVersion2)
{
	const std::string dd = "#!/bin/sh\necho \"offered: ${offered-none}\"\n";
	EXPECT_NE(result_of_read(dd).find("offered: none"), std::string::npos);
	EXPECT_NE(result_of_read(dd, "2").find("offered: 2"), std::string::npos);
}

} // namespace
} // namespace peer
