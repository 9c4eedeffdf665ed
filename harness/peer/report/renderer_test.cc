// SPDX-License-Identifier: GPL-2.0-only

#include "report/renderer.hh"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

namespace peer {
namespace {

// A directory of templates, whose "render" is a script of this test.
class Renderer : public testing::Test {
    protected:
	Renderer()
	{
		std::string name = std::filesystem::temp_directory_path() / "renderer-XXXXXX";
		directory_ = ::mkdtemp(name.data());
	}
	~Renderer() override { std::filesystem::remove_all(directory_); }

	[[nodiscard]] Template with(const std::string &script, const std::string &interpreter = "/bin/sh") const
	{
		const std::filesystem::path file = directory_ / "render";
		std::ofstream(file) << "#!" << interpreter << '\n' << script << '\n';
		std::filesystem::permissions(file, std::filesystem::perms::owner_all);
		return found();
	}

	[[nodiscard]] Template found() const { return {.directory = directory_, .name = "report.html"}; }

	static std::string complaint_of(const Template &broken)
	{
		try {
			broken.check();
		} catch (const RenderError &error) {
			return error.what();
		}
		return {};
	}

	std::filesystem::path directory_;
};

TEST_F(Renderer, HasTheViewAndTheNameOfTheTemplate)
{
	EXPECT_EQ(with("cat; echo \" $*\"").render({{"a", "ä"}}), "{\"a\":\"ä\"} report.html\n");
}

TEST_F(Renderer, IsAskedBeforehandWithoutAView)
{
	EXPECT_EQ(complaint_of(with("[ \"$(cat)$*\" = '--check report.html' ]")), "");
}

TEST_F(Renderer, MayReadAndWriteMuchOrNothing)
{
	const View view = std::string(1 << 20, 'x');
	EXPECT_EQ(with("cat").render(view), view.dump());
	EXPECT_EQ(with("cat >&2; cat").render(view), "");
	EXPECT_EQ(with("exit 0").render(view), "");
}

TEST_F(Renderer, IsNotInTheGroupThatATerminalSendsSignalsTo)
{
	EXPECT_EQ(with("read -r _ _ _ _ group _ </proc/$$/stat; [ $group = $$ ] && echo apart").render({}), "apart\n");
}

TEST_F(Renderer, SaysWhyItMakesNothing)
{
	EXPECT_EQ(complaint_of(with("echo needs a thing >&2; exit 1")), "needs a thing");
	EXPECT_EQ(complaint_of(with("exit 3")), "render ended with status 3");
	EXPECT_EQ(complaint_of(with("kill -KILL $$")), "render was ended by signal 9");
	EXPECT_THROW((void)with("echo half of it; exit 1").render({}), RenderError);
}

TEST_F(Renderer, NeedsPython)
{
	EXPECT_EQ(complaint_of(with("", "/nowhere/python3")), "needs python3 and python3-jinja2: apt install "
							      "python3-jinja2");
}

TEST_F(Renderer, IsNamedWhereItIsNotThere)
{
	EXPECT_EQ(complaint_of(found()),
		  "the templates are not there: " + (directory_ / "render").string() + ": No such file or directory");
}

} // namespace
} // namespace peer
