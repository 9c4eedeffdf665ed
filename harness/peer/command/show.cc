// SPDX-License-Identifier: GPL-2.0-only

#include "command/show.hh"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>

#include <unistd.h>

#include "command/output_file.hh"
#include "command/terminal.hh"
#include "language/case.hh"
#include "report/report.hh"

namespace peer {

namespace {

struct Options {
	Invocation &invocation;
	std::string file;
	std::string junit;
	std::string html;
};

Report load(const std::string &name)
{
	std::ifstream in(name);
	if (!in)
		throw ScriptError(name + " cannot be read: " + std::strerror(errno));
	return read_json(in, name);
}

void show(const Options &options)
{
	const Report report = load(options.file);
	OutputFile junit("--junit", options.junit);
	OutputFile html("--html", options.html);
	write_junit(junit.stream(), report);
	write_html(html.stream(), report);
	if (options.invocation.json)
		write_json(std::cout, report);
	else if (options.junit.empty() && options.html.empty())
		write_table(std::cout, report, colours());
	for (OutputFile *const file : {&junit, &html})
		if (!file->finish())
			options.invocation.status = WRONG_USE;
}

} // namespace

void add_report(CLI::App &app, Invocation &invocation)
{
	const std::shared_ptr<Options> options(new Options{.invocation = invocation});
	CLI::App &command = *app.add_subcommand("report", "show the report of an earlier run, or write it in another "
							  "form");
	command.add_option("FILE", options->file, "a report as JSON: a file that --results has written")->required();
	command.add_option("--junit", options->junit, "write it as JUnit XML to a file");
	command.add_option("--html", options->html, "write it as one self-contained HTML page to a file");
	command.callback([options] { show(*options); });
}

} // namespace peer
