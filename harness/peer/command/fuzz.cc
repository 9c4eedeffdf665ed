// SPDX-License-Identifier: GPL-2.0-only

#include "command/fuzz.hh"

#include <functional>
#include <iomanip>
#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "command/companion.hh"
#include "command/listening.hh"
#include "command/progress.hh"
#include "engine/seed.hh"
#include "fuzz/client_fuzz.hh"
#include "fuzz/server_fuzz.hh"
#include "report/report.hh"
#include "report/text.hh"
#include "suite/words.hh"
#include "verbs/interruption.hh"

namespace peer {

namespace {

struct Options {
	std::string server;
	bool listen = false;
	ListenSettings listening;
	std::string execute;
	std::string path = "/";
	std::uint64_t count = 10000;
	std::optional<std::uint32_t> seed;
	std::uint32_t protocol = VERSION_1;
	unsigned patience = 10;
};

struct Results {
	/// "server", or "client": who is tested.
	std::string role;
	/// The server, or where clients find the peer.
	Address address;
	std::uint32_t seed = 0;
	FuzzTally tally;
	/// What the tested side did that it must not; empty where there was nothing.
	std::string failure;
	std::vector<Bytes> last_messages;
	std::string interrupted;

	[[nodiscard]] bool of_server() const { return role == "server"; }
};

// Output

void print_counts(const std::map<std::string, std::uint64_t> &counts)
{
	for (const auto &[name, count] : counts)
		std::cout << std::setw(12) << count << "  " << name << '\n';
}

// As rpcordma-peer-case(5) has it: what is printed can be put into a file below a directory "server" or "client", and run.
// Whether the tested side is well is looked at after each case.
void print_case(const Results &results)
{
	std::cout << "\nThe last messages as a case, which `rpcordma-peer run` takes. "
		  << (results.of_server() ? "Memory handles are" : "XIDs and memory handles are")
		  << " of this run, and where the\nconnection ends at one of them, those after it do not go out:\n\n"
		  << "# RFC 8166, 4.5, hostile: the last messages of `rpcordma-peer fuzz --seed " << results.seed
		  << "`\n"
		  << (results.of_server() ? "send null\nexpect reply\n" : "client read 8192\non READ\n");
	for (const Bytes &message : results.last_messages)
		std::cout << "# " << describe_message(message) << '\n' << step_sending(message) << '\n';
	if (!results.of_server())
		std::cout << "answer\nexpect client any\n";
}

void print_text(const Results &results)
{
	const FuzzTally &tally = results.tally;
	std::cout << tally.messages << " messages to " << (results.of_server() ? "" : "clients of ")
		  << describe(results.address) << ", seed " << results.seed << ", on " << tally.connections
		  << " connections\n\nAnswers:\n";
	print_counts(tally.answers);
	std::cout << "\nEnds of connections:\n";
	print_counts(tally.ends);
	std::cout << '\n';
	if (!results.interrupted.empty())
		std::cout << "Interrupted by " << results.interrupted << ".\n";
	if (results.failure.empty()) {
		std::cout << (results.of_server() ? "The server served well-formed Calls throughout.\n" :
						    "The client went on throughout.\n");
		return;
	}
	std::cout << "FAILED: " << results.failure << '\n';
	print_case(results);
}

void print_json(const Results &results)
{
	const FuzzTally &tally = results.tally;
	nlohmann::ordered_json json = {{"role", results.role},
				       {results.of_server() ? "server" : "listener", describe(results.address)},
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

// One fuzzer's run, up to what ended it.
template <typename Fuzz>
void run_to_its_end(Fuzz &fuzz, const std::function<void()> &run, Results &results, Invocation &invocation)
{
	try {
		run();
	} catch (const Violation &violation) {
		results.failure = violation.what();
		results.last_messages = fuzz.last_messages();
		invocation.status = FAILED;
	} catch (const Interrupted &signal) {
		results.interrupted = signal.what();
		invocation.status = INTERRUPTED + signal.signal;
	}
	results.tally = fuzz.tally();
}

void fuzz_server(const Options &options, const FuzzSettings &settings, Results &results, Invocation &invocation)
{
	results.address = parse_address(options.server, NFS_RDMA_PORT);
	Target target{.host = results.address.host,
		      .port = results.address.port,
		      .path = options.path,
		      .highest_version = options.protocol};
	// Before signals are caught: the library that asks the mount daemon waits on its own.
	target.root = find_root(target, settings.patience);
	const Interruption interruption;
	Export server(target, settings.patience);
	Progress progress(std::cerr, settings.count, progress_width());
	ServerFuzz fuzz(server, settings, [&](std::uint64_t sent) { progress.at(sent + 1, "messages"); });
	run_to_its_end(
		fuzz, [&] { fuzz.run(); }, results, invocation);
}

void fuzz_clients(const Options &options, const FuzzSettings &settings, Results &results, Invocation &invocation)
{
	const ListenSettings &listening = options.listening;
	results.address = {.host = listening.host, .port = listening.port};
	const Interruption interruption;
	ClientFuzz fuzz(listening, settings);
	std::cerr << "listening; on the client: " << mount_command(listening, "3") << '\n';
	Companion client;
	const auto begin = [&] {
		if (!options.execute.empty() && client.ended())
			client.start(options.execute);
	};
	Progress progress(std::cerr, settings.count, progress_width());
	const auto run = [&] {
		begin();
		fuzz.run([&](const FuzzTally &tally) {
			progress.at(tally.messages + 1, "messages");
			begin();
		});
		fuzz.serve_until([&] { return client.ended(); });
	};
	run_to_its_end(fuzz, run, results, invocation);
}

void fuzz(const Options &options, Invocation &invocation)
{
	if (options.listen != options.server.empty())
		throw CLI::ValidationError("fuzz", "names a SERVER to test, or says --listen to test clients");
	if (options.seed)
		set_seed(*options.seed);
	Results results{.role = options.listen ? "client" : "server", .seed = seed()};
	const FuzzSettings settings{.count = options.count,
				    .seed = results.seed,
				    .protocol = options.protocol,
				    .patience = {.answer = std::chrono::seconds(options.patience)}};
	options.listen ? fuzz_clients(options, settings, results, invocation) :
			 fuzz_server(options, settings, results, invocation);
	invocation.json ? print_json(results) : print_text(results);
}

} // namespace

void add_fuzz(CLI::App &app, Invocation &invocation)
{
	CLI::App *command = app.add_subcommand("fuzz", "send a server or clients messages that are changed at random");
	auto options = std::make_shared<Options>();
	command->add_option("SERVER", options->server, "the NFS server to test: HOST or HOST:PORT");
	command->add_flag("--listen", options->listen, "test clients: they mount this machine");
	add_listening(*command, options->listening);
	command->add_option("--exec", options->execute,
			    "with --listen: a shell command that has a client mount, work and unmount; again whenever "
			    "it "
			    "ends");
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
	command->add_option("--patience", options->patience, "seconds that the tested side may take for one thing")
		->capture_default_str()
		->check(CLI::Range(1U, 86400U));
	command->callback([options, &invocation] { fuzz(*options, invocation); });
}

} // namespace peer
