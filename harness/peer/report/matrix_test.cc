// SPDX-License-Identifier: GPL-2.0-only

#include "report/matrix.hh"

#include <sstream>

#include <gtest/gtest.h>

#include "language/case.hh"
#include "report/view.hh"

namespace peer {
namespace {

CaseResult result(const std::string &name, const std::string &level, Outcome outcome,
		  const std::vector<std::string> &requirements = {})
{
	return {.name = name,
		.section = "RFC 8166, 3.4.5",
		.level = level,
		.title = "about " + name,
		.requirements = requirements,
		.outcome = outcome,
		.expected = "this",
		.came = "<that>"};
}

Report report(const std::string &name, const std::vector<CaseResult> &results)
{
	return {.role = "server", .device = "10.9.0.1:20049", .name = name, .results = results};
}

// The first fails one case, the second another; one has not been run against the second.
std::vector<Report> two()
{
	return {report("one", {result("server/link-10", "hostile", Outcome::passed),
			       result("server/link-9", "hostile", Outcome::failed),
			       result("server/zero-1", "MUST", Outcome::passed, {"8166-3.4.5-1"}),
			       result("server/late-1", "MUST NOT", Outcome::passed)}),
		report("two", {result("server/link-9", "hostile", Outcome::passed),
			       result("server/link-10", "hostile", Outcome::skipped),
			       result("server/zero-1", "MUST", Outcome::failed, {"8166-3.4.5-1"})})};
}

Matrix of_cases(const std::vector<Report> &reports)
{
	return matrix_of(reports, Matrix::Rows::cases);
}

std::vector<std::string> names_of(const Matrix &matrix)
{
	std::vector<std::string> names;
	for (const MatrixRow &row : matrix.rows)
		names.push_back(row.name);
	return names;
}

std::string text_of(const Matrix &matrix, bool only_differences = false, bool colour = false)
{
	std::ostringstream out;
	write_matrix(out, matrix, only_differences, colour);
	return out.str();
}

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

TEST(Matrix, HasMustsFirstAndThenSubjectsInTheirOrder)
{
	EXPECT_EQ(names_of(of_cases(two())),
		  (std::vector<std::string>{"server/late-1", "server/zero-1", "server/link-9", "server/link-10"}));
}

TEST(Matrix, KnowsWhereImplementationsDiffer)
{
	const Matrix matrix = of_cases(two());
	EXPECT_EQ(matrix.differences(), 3U);
	EXPECT_EQ(matrix.heading(), "2 servers: 3 of 4 cases differ");
	// What was run against one alone is no difference.
	EXPECT_FALSE(matrix.rows[0].differs());
	EXPECT_FALSE(matrix.rows[0].cells[1].outcome.has_value());
}

TEST(Matrix, MakesOneColumnOfReportsWithOneName)
{
	std::vector<Report> reports = two();
	reports.push_back(report("two", {result("server/late-1", "MUST", Outcome::failed),
					 result("server/zero-1", "MUST", Outcome::passed)}));
	const Matrix matrix = of_cases(reports);
	ASSERT_EQ(matrix.columns.size(), 2U);
	EXPECT_EQ(matrix.columns[1].results.size(), 4U);
	EXPECT_EQ(matrix.rows[0].cells[1].outcome, Outcome::failed);
	EXPECT_EQ(matrix.rows[1].cells[1].outcome, Outcome::passed);
}

TEST(Matrix, IsNotOfServersAndClients)
{
	std::vector<Report> reports = two();
	reports[1].role = "client";
	EXPECT_THROW(static_cast<void>(of_cases(reports)), ScriptError);
}

TEST(Matrix, OfRequirementsHasTheWorstOfTheirCases)
{
	std::vector<Report> reports = two();
	reports[0].requirements = {
		{.identifier = "8166-3.4.5-2", .level = "MUST", .seen = "wire", .what = "nobody tests it"},
		{.identifier = "8166-3.4.5-1", .level = "MUST NOT", .seen = "wire", .what = "a thing"},
		{.identifier = "bis-4.1-1",
		 .level = "MUST NOT",
		 .seen = "wire",
		 .what = "a thing",
		 .same_as = "8166-3.4.5-1"}};
	reports[1].requirements = reports[0].requirements;
	reports[1].results.push_back(result("server/zero-2", "MUST", Outcome::passed, {"bis-4.1-1"}));
	const Matrix matrix = matrix_of(reports, Matrix::Rows::requirements);
	ASSERT_EQ(names_of(matrix), (std::vector<std::string>{"8166-3.4.5-1"}));
	EXPECT_EQ(matrix.rows[0].cells[0].outcome, Outcome::passed);
	EXPECT_EQ(matrix.rows[0].cells[1].outcome, Outcome::failed);
	EXPECT_EQ(matrix.rows[0].cells[1].came, "server/zero-1: <that>");
	EXPECT_EQ(matrix.heading(), "2 servers: 1 of 1 requirements differ");
}

TEST(MatrixText, HasAColumnForEachImplementation)
{
	const std::string text = text_of(of_cases(two()));
	EXPECT_TRUE(has(text, "  1  one: conforms: 2 of 2 cases about a MUST passed\n"
			      "  2  two: does not conform: 1 of 1 cases about a MUST failed\n"))
		<< text;
	EXPECT_TRUE(has(text, "  2 of 2      0 of 1      MUST\n")) << text;
	EXPECT_TRUE(has(text, "\n  1       2       MUST, late\n"
			      "  passed  -       server/late-1  about server/late-1\n"))
		<< text;
	EXPECT_TRUE(has(text, "\n  1       2       robustness against hostile input, link\n"
			      "! FAILED  passed  server/link-9  about server/link-9\n"
			      "! passed  skipped server/link-10 about server/link-10\n"))
		<< text;
}

TEST(MatrixText, HasDifferencesAlone)
{
	const std::string text = text_of(of_cases(two()), true);
	EXPECT_FALSE(has(text, "server/late-1")) << text;
	EXPECT_TRUE(has(text, "server/zero-1")) << text;
}

TEST(MatrixText, IsColouredOnDemand)
{
	EXPECT_FALSE(has(text_of(of_cases(two())), "\033"));
	EXPECT_TRUE(has(text_of(of_cases(two()), false, true), "\033[1;31mFAILED  \033[0m"));
}

TEST(MatrixView, MarksDifferencesAndShowsWhatCame)
{
	const View view = matrix_view(of_cases(two()), false);
	EXPECT_EQ(view["title"], "Conformance of 2 servers: 3 of 4 cases differ");
	EXPECT_EQ(view["rows_are"], "Case");
	EXPECT_EQ(view["levels"], View::array({"MUST", "MUST NOT", "hostile"}));
	EXPECT_EQ(view["only_differences"], false);
	EXPECT_EQ(matrix_view(of_cases(two()), true)["only_differences"], true);
	const View &late = view["groups"][0]["rows"][0];
	EXPECT_EQ(late["name"], "server/late-1");
	EXPECT_EQ(late["level"], "MUST NOT");
	EXPECT_EQ(late["differs"], false);
	EXPECT_TRUE(late["cells"][1]["outcome"].is_null());
	const View &zero = view["groups"][1]["rows"][0];
	EXPECT_EQ(zero["name"], "server/zero-1");
	EXPECT_EQ(zero["differs"], true);
	EXPECT_EQ(zero["cells"][0], View({{"outcome", "passed"}, {"came", ""}}));
	EXPECT_EQ(zero["cells"][1], View({{"outcome", "failed"}, {"came", "<that>"}}));
	EXPECT_EQ(zero["url"], "https://www.rfc-editor.org/rfc/rfc8166.html#section-3.4.5");
}

TEST(MatrixView, HasRowsBelowTheirHeadings)
{
	std::vector<std::string> headings;
	const View view = matrix_view(of_cases(two()), false);
	for (const View &group : view["groups"])
		headings.push_back(group["heading"]);
	EXPECT_EQ(headings,
		  (std::vector<std::string>{"MUST, late", "MUST, zero", "robustness against hostile input, link"}));
	EXPECT_EQ(view["groups"][2]["rows"].size(), 2U);
}

TEST(MatrixView, HasTheVerdictOfEachImplementation)
{
	const View view = matrix_view(of_cases(two()), false);
	EXPECT_EQ(view["columns"][1]["verdict"], View({{"text", "does not conform"}, {"outcome", "failed"}}));
	EXPECT_EQ(view["weights"][0]["title"], "MUST");
	EXPECT_EQ(view["weights"][0]["totals"],
		  View::array({View({{"passed", 2}, {"tested", 2}, {"outcome", "passed"}}),
			       View({{"passed", 0}, {"tested", 1}, {"outcome", "failed"}})}));
}

} // namespace
} // namespace peer
