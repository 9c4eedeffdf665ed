// SPDX-License-Identifier: GPL-2.0-only

#include "command/conform.hh"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <tuple>

#include <sys/utsname.h>
#include <unistd.h>

#include "command/alone.hh"
#include "command/companion.hh"
#include "command/document_file.hh"
#include "command/listening.hh"
#include "command/output_file.hh"
#include "command/progress.hh"
#include "command/selection.hh"
#include "command/terminal.hh"
#include "command/version.hh"
#include "engine/seed.hh"
#include "report/requirement.hh"
#include "suite/client_suite.hh"
#include "suite/server_case.hh"
#include "suite/words.hh"
#include "verbs/interruption.hh"

namespace peer {

namespace {

struct Options {
	Invocation &invocation;
	std::string server;
	bool listen = false;
	std::string path = "/";
	ListenSettings listening;
	std::string cases = PEER_CASES;
	std::vector<std::string> only;
	std::string failed_from;
	unsigned repeat = 1;
	std::vector<std::string> files;
	std::string after_each;
	std::string execute;
	std::string mark;
	unsigned patience = 10;
	std::uint32_t protocol = VERSION_1;
	std::string versions = "1..2";
	std::optional<std::uint32_t> seed;
	std::string name;
	std::string results;
	std::string junit;
	std::string html;
	bool list = false;
	bool apart = false;
	bool stop_when_ill = false;
	bool strict = false;
	bool json_lines = false;
	bool trace = false;

	[[nodiscard]] Patience patience_of() const { return {.answer = std::chrono::seconds(patience)}; }
};

Target target_of(const Options &options)
{
	const Address address = parse_address(options.server, options.listening.port);
	return {.host = address.host, .port = address.port, .path = options.path, .highest_version = options.protocol};
}

// A copy of the program runs single cases far from the source tree.
std::vector<Requirement> requirements_of(const Options &options)
{
	const std::filesystem::path file = options.cases + "/../requirements.txt";
	if (std::filesystem::exists(file))
		return load_requirements(file);
	if (options.files.empty())
		throw ScriptError(file.string() + " is not there; it belongs beside the directory that --cases names");
	return {};
}

Selection selection_of(const Options &options)
{
	Selection selection = {.only = options.only, .protocol = options.protocol, .apart = options.apart};
	if (options.failed_from.empty())
		return selection;
	std::ifstream report(options.failed_from);
	if (!report)
		throw ScriptError("--failed-from: " + options.failed_from + " cannot be read: " + std::strerror(errno));
	selection.names = failed_cases(report, options.failed_from);
	return selection;
}

std::vector<Case> cases_for(const Options &options, Tested tested)
{
	std::vector<Case> all = load_cases(options.cases);
	std::erase_if(all, [tested](const Case &test) { return test.tested != tested; });
	return all;
}

// By subject, as the names have it, and those behind the others that may do damage. The client runs those of one NFS version
// after those of the other, and those of version 2 behind those of version 1.
void put_in_order(std::vector<Case> &cases, Tested tested)
{
	std::ranges::stable_sort(cases, {}, &Case::protocol);
	std::ranges::stable_sort(cases, {}, [](const Case &test) { return test.level == "hostile"; });
	if (tested == Tested::client)
		std::ranges::stable_sort(cases, {},
					 [](const Case &test) { return std::tie(test.version, test.protocol); });
}

std::vector<Case> wanted_cases(const Options &options, Tested tested)
{
	std::vector<Case> wanted = select(cases_for(options, tested), selection_of(options), requirements_of(options));
	for (Case &test : wanted)
		test.settle(options.strict);
	put_in_order(wanted, tested);
	return wanted;
}

// What a shell command printed where it failed; nothing where it succeeded.
std::optional<std::string> complaint_of(const std::string &command)
{
	std::FILE *const pipe = ::popen((command + " 2>&1").c_str(), "r");
	if (!pipe)
		return "'" + command + "' cannot be run";
	std::string output;
	std::array<char, 4096> buffer;
	while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe))
		output.append(buffer.data(), got);
	if (::pclose(pipe) == 0)
		return std::nullopt;
	return output.empty() ? "'" + command + "' failed" : output;
}

void look_after(CaseResult &result, const Options &options)
{
	if (options.after_each.empty())
		return;
	if (const auto complaint = complaint_of(options.after_each)) {
		result.outcome = Outcome::failed;
		result.came += "; afterwards: " + *complaint;
	}
}

std::string now()
{
	const std::time_t seconds = std::time(nullptr);
	std::array<char, sizeof("2026-01-01T00:00:00Z")> text;
	std::strftime(text.data(), text.size(), "%FT%TZ", std::gmtime(&seconds));
	return text.data();
}

std::string kernel()
{
	utsname system = {};
	if (::uname(&system) != 0)
		return {};
	return std::string(system.sysname) + " " + system.release + " " + system.machine;
}

// How wide the terminal is that somebody watches the run on; zero where there is none. What goes to a pipe or a file is
// rows alone, and JSON is for no terminal.
std::size_t progress_width(const Options &options)
{
	const bool is_watched = ::isatty(STDERR_FILENO) && (::isatty(STDOUT_FILENO) || options.invocation.json);
	return is_watched ? terminal_width(STDERR_FILENO) : 0;
}

struct Outputs {
	explicit Outputs(const Options &options)
		: results("--results", options.results)
		, junit("--junit", options.junit, "junit.xml")
		, html("--html", options.html, "report.html")
		, mark("--mark", options.mark, std::ios::app)
	{
	}

	OutputFile results;
	DocumentFile junit;
	DocumentFile html;
	OutputFile mark;
};

// The mark is there so that what a kernel says can be told to belong to a case.
void begin(const Case &test, Outputs &outputs, Progress &progress)
{
	progress.begin(test.name);
	outputs.mark.stream() << "rpcordma-peer: case " << test.name << std::endl;
}

void show(const CaseResult &result, const Options &options)
{
	if (options.json_lines)
		return write_json_line(std::cout, result);
	if (options.invocation.json)
		return;
	write_row(std::cout, result, colours());
	if (options.trace)
		for (const std::string &line : result.trace)
			std::cout << "        " << line << '\n';
	std::cout.flush();
}

void conclude(const Report &report, const Options &options, Outputs &outputs)
{
	write_json(outputs.results.stream(), report);
	// The others take longer, and a second signal may come.
	outputs.results.stream().flush();
	outputs.junit.write(junit_view(report));
	outputs.html.write(page_view(report));
	if (options.invocation.json && !options.json_lines)
		write_json(std::cout, report);
	else if (!options.json_lines)
		write_summary(std::cout, report);
	if (report.count(Outcome::failed) > 0 && report.interrupted.empty())
		options.invocation.status = FAILED;
	for (OutputFile *const file :
	     std::initializer_list<OutputFile *>{&outputs.results, &outputs.junit, &outputs.html, &outputs.mark})
		if (!file->finish())
			options.invocation.status = WRONG_USE;
}

Report new_report(const std::string &role, std::size_t cases, const Options &options)
{
	if (options.seed)
		set_seed(*options.seed);
	Report report;
	report.role = role;
	report.device = options.server;
	report.name = options.name;
	report.started = now();
	report.peer_version = version();
	report.tester.kernel = kernel();
	report.settings = {.arguments = options.invocation.arguments,
			   .strict = options.strict,
			   .protocol = options.protocol,
			   .repeat = options.repeat,
			   .patience = options.patience,
			   .seed = seed()};
	report.planned = cases;
	report.requirements = requirements_of(options);
	return report;
}

void note(const Encounter &encounter, Report &report)
{
	report.tester.device = encounter.device.name;
	report.tester.driver = encounter.device.driver;
	report.tester.firmware = encounter.device.firmware;
	report.tester.transport = encounter.device.transport;
	Terms &terms = report.terms.emplace();
	if (const auto &announced = encounter.announced)
		terms.announced = {.send_size = announced->send_size,
				   .receive_size = announced->receive_size,
				   .remote_invalidation = announced->remote_invalidation};
	terms.call_threshold = static_cast<std::uint32_t>(encounter.agreement.call_threshold);
	terms.reply_threshold = static_cast<std::uint32_t>(encounter.agreement.reply_threshold);
	terms.credits = encounter.credits;
}

// Does the work as far as a signal lets it. The report is about what was done by then.
void run_until_interrupted(Report &report, const Options &options, const std::function<void()> &work)
{
	try {
		work();
	} catch (const Interrupted &signal) {
		report.interrupted = signal.what();
		options.invocation.status = INTERRUPTED + signal.signal;
	}
}

// The case that a signal has come in proves nothing.
void take_result(CaseResult result, Report &report, const Options &options, Progress &progress)
{
	look_after(result, options);
	throw_if_interrupted();
	if (result.outcome != Outcome::failed)
		result.messages.clear();
	result.command = command_alone(options.invocation.arguments, result.name);
	progress.clear();
	show(result, options);
	report.results.push_back(std::move(result));
}

// As often as is asked for, up to the first time that it does not pass.
CaseResult run_repeatedly(const Case &test, Export &server, const Options &options)
{
	CaseResult result;
	double seconds = 0;
	for (unsigned time = 1; time <= options.repeat; time++) {
		result = run_server_case(test, server, options.patience_of());
		seconds += result.seconds;
		if (result.outcome == Outcome::passed)
			continue;
		if (options.repeat > 1)
			result.came = time_text(time, options.repeat) + result.came;
		break;
	}
	result.seconds = seconds;
	return result;
}

void run_server_cases(const std::vector<Case> &cases, Export &server, const Options &options, Outputs &outputs,
		      Report &report)
{
	Progress progress(std::cerr, cases.size(), progress_width(options));
	for (const Case &test : cases) {
		begin(test, outputs, progress);
		take_result(run_repeatedly(test, server, options), report, options, progress);
		if (options.stop_when_ill && !report.results.back().in_order)
			return;
	}
}

void test_server(const Options &options, const std::vector<Case> &cases)
{
	Report report = new_report("server", cases.size(), options);
	Outputs outputs(options);
	Target target = target_of(options);
	// Before signals are caught: the library that asks the mount daemon waits on its own.
	target.root = find_root(target, options.patience_of());
	const Interruption interruption;
	// Removed behind the reports, which are written even if the server is no longer there.
	std::optional<Export> server;
	run_until_interrupted(report, options, [&] {
		server.emplace(target, options.patience_of());
		note(server->encounter(), report);
		run_server_cases(cases, *server, options, outputs, report);
	});
	conclude(report, options, outputs);
}

ListenSettings listen_settings(const Options &options)
{
	ListenSettings settings = options.listening;
	settings.patience = options.patience_of();
	settings.stop_when_ill = options.stop_when_ill;
	settings.repeat = options.repeat;
	settings.highest_version = options.protocol;
	return settings;
}

// "LOW..HIGH"
Versions versions_of(const Options &options)
{
	const std::string &text = options.versions;
	const std::size_t dots = text.find("..");
	try {
		if (dots != std::string::npos)
			return {.low = static_cast<std::uint32_t>(evaluate(text.substr(0, dots), {})),
				.high = static_cast<std::uint32_t>(evaluate(text.substr(dots + 2), {}))};
	} catch (const ScriptError &) {
	}
	throw CLI::ValidationError("--versions", "'" + text + "' is not of the form LOW..HIGH");
}

void tell_how_to_mount(const Options &options, const std::vector<Case> &cases)
{
	for (const char *const version : {"3", "4.1"})
		if (std::any_of(cases.begin(), cases.end(), [&](const Case &test) { return test.version == version; }))
			std::cerr << "listening; on the client: " << mount_command(options.listening, version)
				  << " && sh /mnt/run " << version << " && umount /mnt\n";
}

void test_client(const Options &options, const std::vector<Case> &cases)
{
	Report report = new_report("client", cases.size(), options);
	Outputs outputs(options);
	Companion client;
	Progress progress(std::cerr, cases.size(), progress_width(options));
	ClientHooks hooks;
	hooks.ready = [&] {
		tell_how_to_mount(options, cases);
		if (!options.execute.empty())
			client.start(options.execute);
	};
	hooks.met = [&](const Encounter &encounter) { note(encounter, report); };
	hooks.begun = [&](const Case &test) { begin(test, outputs, progress); };
	hooks.told = [&](const CaseResult &result) { take_result(result, report, options, progress); };
	if (!options.execute.empty()) {
		hooks.ended = [&] { return client.ended(); };
		hooks.wait_for_end = true;
	}
	const Interruption interruption;
	run_until_interrupted(report, options, [&] { run_client_cases(cases, listen_settings(options), hooks); });
	progress.clear();
	conclude(report, options, outputs);
}

void list(const std::vector<Case> &cases)
{
	for (const Case &test : cases)
		std::cout << test.name << "\t" << test.section << "\t" << test.level << "\t" << test.title
			  << (test.protocol == VERSION_1 ? "" : " (--protocol " + std::to_string(test.protocol) + ")")
			  << (test.apart.empty() ? "" : " (apart: " + test.apart + ")") << '\n';
}

void conform(const Options &options)
{
	// The list of cases for servers needs none.
	const bool needs_server = !options.listen && !options.list;
	if (options.server.empty() ? needs_server : options.listen)
		throw CLI::ValidationError("conform", "names a SERVER to test, or says --listen to test a client");
	const std::vector<Case> cases = wanted_cases(options, options.listen ? Tested::client : Tested::server);
	if (options.list)
		list(cases);
	else if (cases.empty() && !options.failed_from.empty())
		std::cerr << "rpcordma-peer: no case that is asked for failed in " << options.failed_from << '\n';
	else if (cases.empty())
		throw ScriptError("there is no such case, but for those that --apart or --protocol adds");
	else if (options.listen)
		test_client(options, cases);
	else
		test_server(options, cases);
}

void run_files(const Options &options)
{
	std::vector<Case> cases;
	for (const std::string &file : options.files)
		cases.push_back(load_case(file));
	for (Case &test : cases)
		test.settle(options.strict);
	const Tested tested = cases.at(0).tested;
	for (const Case &test : cases)
		if (test.tested != tested)
			throw ScriptError("cases for servers and for clients cannot be run together");
	if (tested == Tested::client)
		return test_client(options, cases);
	if (options.server.empty())
		throw CLI::ValidationError("run", "cases for servers need --server HOST[:PORT]");
	test_server(options, cases);
}

void add_output(CLI::App &command, Options &options)
{
	command.add_option("--repeat", options.repeat, "run each case so often, up to the first time that it fails")
		->capture_default_str()
		->check(CLI::Range(1U, 1000000U));
	command.add_option("--seed", options.seed, "what XIDs follow from, which otherwise are others in each run");
	command.add_flag("--json-lines", options.json_lines,
			 "print each result as a line of JSON as soon as it is known, and nothing else");
	command.add_option("--name", options.name, "what reports call the server or client under test");
	command.add_option("--results", options.results, "write the results as JSON to a file");
	command.add_option("--junit", options.junit, "the same as JUnit XML");
	command.add_option("--html", options.html, "the same as one self-contained HTML page");
	command.add_option("--after-each", options.after_each,
			   "a shell command to run after each case, which fails with it (to look at a kernel's log)");
	command.add_option("--mark", options.mark,
			   "a file to append a line with each case's name to before it runs, such as /dev/kmsg");
	command.add_flag("--strict", options.strict,
			 "of what a case allows, only what stands first passes, and what is usual has to come as well");
	command.add_option("--patience", options.patience, "seconds that the tested side may take for one thing")
		->capture_default_str()
		->check(CLI::Range(1U, 86400U));
	command.add_flag("--trace", options.trace, "show the messages of each case");
	command.add_option("--protocol", options.protocol,
			   "the highest version of RPC-over-RDMA that the tested side speaks: cases of higher ones are "
			   "left out, but for those in files that are named")
		->capture_default_str()
		->check(CLI::Range(VERSION_1, VERSION_2));
}

} // namespace

void add_conform(CLI::App &app, Invocation &invocation)
{
	const std::shared_ptr<Options> options(new Options{.invocation = invocation});
	CLI::App &command = *app.add_subcommand("conform", "run the conformance cases against a server or a client");
	command.add_option("SERVER", options->server, "the NFS server to test: HOST or HOST:PORT");
	command.add_flag("--listen", options->listen,
			 "test a client: it mounts this machine, and runs the script in the mount");
	command.add_option("--path", options->path, "what the server exports, to this machine's root, for writing")
		->capture_default_str();
	add_listening(command, options->listening);
	command.add_option("--exec", options->execute, "with --listen: a shell command that makes the client begin");
	command.add_option("--cases", options->cases, "the directory with the cases")->capture_default_str();
	// One word each time: the next one is the server.
	command.add_option("--only", options->only,
			   "only cases with names like this one, such as 'server/version-*', of a requirement or "
			   "section, such "
			   "as 8166-4.5, or of a level: must, should, may, says or hostile; again for more of them")
		->allow_extra_args(false);
	command.add_option("--failed-from", options->failed_from,
			   "only cases that failed in an earlier report: a file that --results has written");
	command.add_flag("--apart", options->apart,
			 "also those that are run only where they are asked for; --list says why");
	command.add_flag("--stop-when-ill", options->stop_when_ill,
			 "end behind a case after which the tested side serves, or works on, no more");
	command.add_flag("--list", options->list, "show the cases and what they are about, and run none");
	add_output(command, *options);
	command.callback([options] { conform(*options); });
}

void add_run(CLI::App &app, Invocation &invocation)
{
	const std::shared_ptr<Options> options(new Options{.invocation = invocation});
	options->trace = true;
	CLI::App &command = *app.add_subcommand("run", "run single cases from files, and show their messages");
	command.add_option("FILE", options->files, "case files: see rpcordma-peer-case(5)")->required();
	command.add_option("--server", options->server, "the server to test, for cases below a directory 'server'");
	command.add_option("--path", options->path, "what it exports")->capture_default_str();
	add_listening(command, options->listening);
	command.add_option("--exec", options->execute, "a shell command that makes the client begin");
	add_output(command, *options);
	command.callback([options] { run_files(*options); });
}

void add_serve(CLI::App &app, Invocation &invocation)
{
	const std::shared_ptr<Options> options(new Options{.invocation = invocation});
	CLI::App &command = *app.add_subcommand("serve", "serve a small file tree in memory, until interrupted");
	add_listening(command, options->listening);
	command.add_flag("--trace", options->trace, "show every message");
	command.add_option("--versions", options->versions,
			   "LOW..HIGH: Calls of these versions are answered, each in its own, where the peer speaks "
			   "it; "
			   "others get ERR_VERS with this range")
		->capture_default_str();
	command.callback([options] {
		const Versions versions = versions_of(*options);
		const auto trace = [&](const std::string &line) {
			if (options->trace)
				std::cout << line << std::endl;
		};
		const Interruption interruption;
		std::cerr << "serving; on a client: " << mount_command(options->listening, "3") << '\n';
		try {
			serve(listen_settings(*options), versions, trace);
		} catch (const Interrupted &) {
			// This is how it ends.
		}
	});
}

} // namespace peer
