// SPDX-License-Identifier: GPL-2.0-only

#include "command/show.hh"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include "command/document_file.hh"
#include "command/output_file.hh"
#include "command/terminal.hh"
#include "language/case.hh"
#include "report/capture.hh"
#include "report/matrix.hh"

namespace peer {

namespace {

struct Options {
	Invocation &invocation;
	std::vector<std::string> files;
	std::string junit;
	std::string html;
	std::string capture;
	bool matrix = false;
	bool requirements = false;
	bool differences = false;
};

Report load(const std::string &name)
{
	std::ifstream in(name);
	if (!in)
		throw ScriptError(name + " cannot be read: " + std::strerror(errno));
	return read_json(in, name);
}

void finish(OutputFile &file, const Options &options)
{
	if (!file.finish())
		options.invocation.status = WRONG_USE;
}

void show_one(const Options &options)
{
	if (options.files.size() > 1)
		throw CLI::ValidationError("report", "shows one FILE, or several with --matrix");
	const Report report = load(options.files.front());
	DocumentFile junit("--junit", options.junit, "junit.xml");
	DocumentFile html("--html", options.html, "report.html");
	OutputFile capture("--capture", options.capture);
	junit.write(junit_view(report));
	html.write(page_view(report));
	write_capture(capture.stream(), report.results);
	if (options.invocation.json)
		write_json(std::cout, report);
	else if (options.junit.empty() && options.html.empty() && options.capture.empty())
		write_table(std::cout, report, colours());
	for (OutputFile *const file : std::initializer_list<OutputFile *>{&junit, &html, &capture})
		finish(*file, options);
}

// Implementations without a name of their own have that of the file.
Report load_named(const std::string &file)
{
	Report report = load(file);
	if (report.name.empty())
		report.name = std::filesystem::path(file).stem();
	return report;
}

void show_matrix(const Options &options)
{
	std::vector<Report> reports;
	for (const std::string &file : options.files)
		reports.push_back(load_named(file));
	const Matrix matrix =
		matrix_of(reports, options.requirements ? Matrix::Rows::requirements : Matrix::Rows::cases);
	DocumentFile html("--html", options.html, "matrix.html");
	html.write(matrix_view(matrix, options.differences));
	if (options.html.empty())
		write_matrix(std::cout, matrix, options.differences, colours());
	finish(html, options);
}

void show(const Options &options)
{
	if (!options.matrix)
		return show_one(options);
	if (options.invocation.json)
		throw CLI::ValidationError("--json", "there is no matrix as JSON");
	show_matrix(options);
}

} // namespace

void add_report(CLI::App &app, Invocation &invocation)
{
	const std::shared_ptr<Options> options(new Options{.invocation = invocation});
	CLI::App &command = *app.add_subcommand("report", "show reports of earlier runs, also side by side, or write "
							  "them in "
							  "other forms");
	command.add_option("FILE", options->files, "reports as JSON: files that --results has written")->required();
	CLI::Option *const junit =
		command.add_option("--junit", options->junit, "write the report as JUnit XML to a file");
	command.add_option("--html", options->html, "write one self-contained HTML page to a file");
	CLI::Option *const capture = command.add_option("--capture", options->capture,
							"write the messages of failed cases to a file that Wireshark "
							"reads");
	CLI::Option *const matrix = command.add_flag("--matrix", options->matrix,
						     "implementations side by side, and the cases below each other")
					    ->excludes(junit)
					    ->excludes(capture);
	command.add_flag("--requirements", options->requirements, "with --matrix: requirements in the place of cases")
		->needs(matrix);
	command.add_flag("--differences", options->differences,
			 "with --matrix: only rows in which implementations differ")
		->needs(matrix);
	command.callback([options] { show(*options); });
}

} // namespace peer
