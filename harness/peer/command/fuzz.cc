// SPDX-License-Identifier: GPL-2.0-only

#include "command/fuzz.hh"

#include <iomanip>
#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "command/progress.hh"
#include "engine/seed.hh"
#include "fuzz/server_fuzz.hh"
#include "report/report.hh"
#include "report/text.hh"
#include "verbs/interruption.hh"

namespace peer {

namespace {

struct Options {
	std::string server;
	std::string path = "/";
	std::uint64_t count = 10000;
	std::optional<std::uint32_t> seed;
	std::uint32_t protocol = VERSION_1;
	unsigned patience = 10;
};

struct Results {
	Address server;
	std::uint32_t seed = 0;
	FuzzTally tally;
	/// What the server did that it must not; empty where there was nothing.
	std::string failure;
	std::vector<Bytes> last_messages;
	std::string interrupted;
};

// Output

void print_counts(const std::map<std::string, std::uint64_t> &counts)
{
	for (const auto &[name, count] : counts)
		std::cout << std::setw(12) << count << "  " << name << '\n';
}

// As rpcordma-peer-case(5) has it: what is printed can be put into a file below a directory "server", and run. Whether the
// server is well is looked at after each case.
void print_case(const Results &results)
{
	std::cout << "\nThe last messages as a case, which `rpcordma-peer run` takes. Memory handles are of this run, "
		     "and where the\n"
		  << "connection ends at one of them, those after it do not go out:\n\n"
		  << "# RFC 8166, 4.5, hostile: the last messages of `rpcordma-peer fuzz --seed " << results.seed
		  << "`\nsend null\nexpect reply\n";
	for (const Bytes &message : results.last_messages)
		std::cout << "# " << describe_message(message) << "\nsend raw " << hex_of(message) << '\n';
}

void print_text(const Results &results)
{
	const FuzzTally &tally = results.tally;
	std::cout << tally.messages << " messages to " << describe(results.server) << ", seed " << results.seed
		  << ", on " << tally.connections << " connections\n\nAnswers:\n";
	print_counts(tally.answers);
	std::cout << "\nEnds of connections:\n";
	print_counts(tally.ends);
	std::cout << '\n';
	if (!results.interrupted.empty())
		std::cout << "Interrupted by " << results.interrupted << ".\n";
	if (results.failure.empty()) {
		std::cout << "The server served well-formed Calls throughout.\n";
		return;
	}
	std::cout << "FAILED: " << results.failure << '\n';
	print_case(results);
}

void print_json(const Results &results)
{
	const FuzzTally &tally = results.tally;
	nlohmann::ordered_json json = {{"server", describe(results.server)},
				       {"seed", results.seed},
				       {"messages", tally.messages},
				       {"connections", tally.connections},
				       {"answers", tally.answers},
				       {"ends", tally.ends},
				       {"failure", nullptr},
				       {"interrupted", nullptr},
				       {"last_messages", nlohmann::json::array()}};
	if (!results.interrupted.empty())
		json["interrupted"] = results.interrupted;
	if (!results.failure.empty()) {
		json["failure"] = results.failure;
		for (const Bytes &message : results.last_messages)
			json["last_messages"].push_back(hex_of(message));
	}
	std::cout << json.dump(2) << '\n';
}

// On a terminal that somebody watches.
std::size_t progress_width()
{
	return ::isatty(STDERR_FILENO) ? terminal_width(STDERR_FILENO) : 0;
}

void fuzz(const Options &options, Invocation &invocation)
{
	if (options.seed)
		set_seed(*options.seed);
	Results results{.server = parse_address(options.server, NFS_RDMA_PORT), .seed = seed()};
	Target target{.host = results.server.host,
		      .port = results.server.port,
		      .path = options.path,
		      .highest_version = options.protocol};
	const FuzzSettings settings{.count = options.count,
				    .seed = results.seed,
				    .protocol = options.protocol,
				    .patience = {.answer = std::chrono::seconds(options.patience)}};
	// Before signals are caught: the library that asks the mount daemon waits on its own.
	target.root = find_root(target, settings.patience);
	const Interruption interruption;
	Export server(target, settings.patience);
	Progress progress(std::cerr, settings.count, progress_width());
	ServerFuzz fuzz(server, settings, [&](std::uint64_t sent) { progress.at(sent + 1, "messages"); });
	try {
		fuzz.run();
	} catch (const Violation &violation) {
		results.failure = violation.what();
		results.last_messages = fuzz.last_messages();
		invocation.status = FAILED;
	} catch (const Interrupted &signal) {
		results.interrupted = signal.what();
		invocation.status = INTERRUPTED + signal.signal;
	}
	results.tally = fuzz.tally();
	progress.clear();
	invocation.json ? print_json(results) : print_text(results);
}

} // namespace

void add_fuzz(CLI::App &app, Invocation &invocation)
{
	CLI::App *command = app.add_subcommand("fuzz", "send a server messages that are changed at random");
	auto options = std::make_shared<Options>();
	command->add_option("SERVER", options->server, "the NFS server to test: HOST or HOST:PORT")->required();
	command->add_option("--path", options->path, "what the server exports, to this machine's root, for writing")
		->capture_default_str();
	command->add_option("--count", options->count, "messages to send")
		->capture_default_str()
		->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
	command->add_option("--seed", options->seed,
			    "the number that the changes follow from (default: one at random, which is printed)");
	command->add_option("--protocol", options->protocol, "the highest version of RPC-over-RDMA of the messages")
		->capture_default_str()
		->check(CLI::Range(VERSION_1, VERSION_2));
	command->add_option("--patience", options->patience, "seconds that the server may take for one thing")
		->capture_default_str()
		->check(CLI::Range(1U, 86400U));
	command->callback([options, &invocation] { fuzz(*options, invocation); });
}

} // namespace peer
