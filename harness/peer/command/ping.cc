// SPDX-License-Identifier: GPL-2.0-only

#include "command/ping.hh"

#include <algorithm>
#include <functional>
#include <future>
#include <iomanip>
#include <iostream>
#include <memory>

#include <nlohmann/json.hpp>

#include "command/exchange.hh"
#include "command/latency.hh"

namespace peer {

namespace {

// So many are not measured: until then, caches fill and the server grants credits.
constexpr unsigned WARM_UP = 10;
constexpr unsigned MAX_DEPTH = 64; // the Receives that an echo has
constexpr Deadline FOR_EVER = Deadline::max();

struct Options {
	std::string address;
	bool listen = false;
	std::string floor;
	unsigned count = 1000;
	unsigned depth = 16;
	std::size_t size = 4096;
	std::uint32_t nfs_version = 3;
	std::uint32_t protocol = VERSION_1;
	double patience = 10;

	[[nodiscard]] ExchangeSettings settings() const
	{
		return {.depth = depth,
			.protocol = protocol,
			.patience =
				std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(patience))};
	}
};

struct Measurement {
	std::string what;
	std::size_t size = 0; // of what is sent, read or written
	unsigned depth = 1; // how many were on their way at once
	std::optional<Latency> latency; // where that was one
	double per_second = 0;
};

struct Results {
	Address server;
	// What bare verbs were measured with, and where that is; neither where they were not.
	std::string floor;
	std::string floor_is;
	std::vector<Measurement> measurements;
};

double seconds_since(Clock::time_point start)
{
	return std::chrono::duration<double>(Clock::now() - start).count();
}

// One after the other.
Measurement measure_latency(std::string what, std::size_t size, unsigned count, const std::function<void()> &once)
{
	for (unsigned i = 0; i < WARM_UP; i++)
		once();
	std::vector<Clock::duration> durations;
	const Clock::time_point start = Clock::now();
	for (unsigned i = 0; i < count; i++) {
		const Clock::time_point before = Clock::now();
		once();
		durations.push_back(Clock::now() - before);
	}
	const double rate = count / seconds_since(start);
	return {.what = std::move(what),
		.size = size,
		.depth = 1,
		.latency = summarise(std::move(durations)),
		.per_second = rate};
}

// As many at once as there is room for.
Measurement measure_throughput(std::string what, auto &exchange, unsigned count, unsigned depth)
{
	unsigned sent = 0;
	unsigned answered = 0;
	const Clock::time_point start = Clock::now();
	while (answered < count) {
		if (const unsigned more = std::min(exchange.room(), count - sent); more > 0) {
			exchange.send(more);
			sent += more;
		}
		exchange.take_answer();
		answered++;
		while (answered < sent && exchange.try_answer())
			answered++;
	}
	return {.what = std::move(what),
		.size = exchange.size(),
		.depth = depth,
		.per_second = count / seconds_since(start)};
}

void measure_exchange(Results &results, const std::string &what, auto &exchange, const Options &options)
{
	results.measurements.push_back(measure_latency(what, exchange.size(), options.count, [&exchange] {
		exchange.send(1);
		exchange.take_answer();
	}));
	if (options.depth > 1)
		results.measurements.push_back(measure_throughput(what, exchange, options.count, options.depth));
}

void expect_transferred(const Transferred &transferred)
{
	if (!transferred.ok)
		throw Violation("an RDMA operation failed: " + transferred.status);
}

void measure_echo(Results &results, const Address &at, std::size_t message_size, const Options &options)
{
	const ExchangeSettings settings = options.settings();
	Echo echo = connect_to_echo(at.host, at.port, {}, settings.deadline());
	EchoedMessages messages(echo.connection, message_size, settings);
	measure_exchange(results, "Send and Receive", messages, options);

	Memory local(echo.connection, options.size, Access::none);
	Segment remote = echo.memory;
	remote.length = static_cast<std::uint32_t>(options.size);
	results.measurements.push_back(measure_latency("RDMA Read", options.size, options.count, [&] {
		expect_transferred(echo.connection.read(remote, local, 0, settings.deadline()));
	}));
	results.measurements.push_back(measure_latency("RDMA Write", options.size, options.count, [&] {
		expect_transferred(echo.connection.write(local, 0, options.size, remote, settings.deadline()));
	}));
}

// A listener at the address: that can be had only where the address is this machine's.
std::optional<Listener> listener_beside(const Address &server)
{
	try {
		return Listener(server.host, 0);
	} catch (const VerbsError &) {
		return {};
	}
}

void measure_floor(Results &results, std::size_t message_size, const Options &options)
{
	if (!options.floor.empty()) {
		const Address echo = parse_address(options.floor, ECHO_PORT);
		results.floor = describe(echo);
		results.floor_is = "an echo on the other machine";
		return measure_echo(results, echo, message_size, options);
	}
	std::optional<Listener> listener = listener_beside(results.server);
	if (!listener)
		return;
	const Address echo{results.server.host, listener->port()};
	results.floor = describe(echo);
	results.floor_is = "an echo in this process: the server is this machine";
	const Deadline deadline = options.settings().deadline();
	const auto served = std::async(std::launch::async, [&] { return serve_echo(*listener, deadline); });
	measure_echo(results, echo, message_size, options);
}

Results measure(const Options &options)
{
	Results results{.server = parse_address(options.address, NFS_RDMA_PORT)};
	std::size_t size = 0;
	{
		NullCalls calls(results.server, options.nfs_version, options.settings());
		size = calls.size();
		measure_exchange(results, "NULL call", calls, options);
	}
	measure_floor(results, size, options);
	return results;
}

// Output

const Measurement *find(const Results &results, const std::string &what)
{
	const auto found = std::find_if(results.measurements.begin(), results.measurements.end(),
					[&what](const Measurement &measurement) { return measurement.what == what; });
	return found == results.measurements.end() ? nullptr : &*found;
}

// How many times a bare round trip a NULL call takes; nothing where the former was not measured.
std::optional<double> ratio_to_floor(const Results &results)
{
	const Measurement *floor = find(results, "Send and Receive");
	if (!floor)
		return {};
	return find(results, "NULL call")->latency->median / floor->latency->median;
}

void print_row(const Measurement &measurement)
{
	std::cout << std::left << std::setw(18) << measurement.what << std::right << std::setw(7) << measurement.size
		  << std::setw(7) << measurement.depth << std::fixed << std::setprecision(1);
	if (const auto &latency = measurement.latency)
		for (const double value : {latency->min, latency->median, latency->percentile_99, latency->max})
			std::cout << std::setw(11) << value;
	else
		std::cout << std::setw(44) << "";
	std::cout << std::setw(12) << std::setprecision(0) << measurement.per_second << '\n';
}

void print_table(const Results &results)
{
	std::cout << "NULL calls to " << describe(results.server);
	if (!results.floor.empty())
		std::cout << ", and bare verbs with " << results.floor << " (" << results.floor_is << ")";
	std::cout << "\n\n"
		  << "                    bytes  depth     min us  median us    99 % us     max us  per second\n";
	for (const Measurement &measurement : results.measurements)
		print_row(measurement);
	std::cout << '\n';
	if (const std::optional<double> ratio = ratio_to_floor(results))
		std::cout << "In the median, a NULL call takes " << std::setprecision(2) << *ratio
			  << " times as long as a Send and its answer without RPC.\n";
	else
		std::cout << "Bare verbs were not measured: the server is another machine. Start `rpcordma-peer ping "
			     "--listen`\nthere, and give its address to --floor here.\n";
}

nlohmann::ordered_json json_of(const Measurement &measurement)
{
	nlohmann::ordered_json json = {{"what", measurement.what},
				       {"size", measurement.size},
				       {"depth", measurement.depth},
				       {"per_second", measurement.per_second}};
	if (const auto &latency = measurement.latency)
		json["latency_us"] = {{"min", latency->min},
				      {"median", latency->median},
				      {"percentile_99", latency->percentile_99},
				      {"max", latency->max}};
	return json;
}

void print_json(const Results &results)
{
	nlohmann::ordered_json json = {{"server", describe(results.server)}, {"floor", nullptr}};
	if (!results.floor.empty())
		json["floor"] = {
			{"with", results.floor}, {"where", results.floor_is}, {"ratio", *ratio_to_floor(results)}};
	for (const Measurement &measurement : results.measurements)
		json["measurements"].push_back(json_of(measurement));
	std::cout << json.dump(2) << '\n';
}

// The echo that others give to --floor.
void listen(const Options &options)
{
	const Address address = parse_address(options.address, ECHO_PORT);
	Listener listener(address.host, address.port);
	std::cout << "listening at " << describe(address) << std::endl;
	for (;;) {
		try {
			serve_echo(listener, FOR_EVER);
		} catch (const NotConnected &error) {
			std::cerr << "rpcordma-peer: " << error.what() << '\n';
		}
	}
}

void ping(const Options &options, Invocation &invocation)
{
	if (options.listen)
		return listen(options);
	try {
		const Results results = measure(options);
		invocation.json ? print_json(results) : print_table(results);
	} catch (const Violation &violation) {
		std::cerr << "rpcordma-peer: " << options.address << ": " << violation.what() << '\n';
		invocation.status = FAILED;
	} catch (const Malformed &malformed) {
		std::cerr << "rpcordma-peer: " << options.address << ": an answer is malformed: " << malformed.what()
			  << '\n';
		invocation.status = FAILED;
	}
}

} // namespace

void add_ping(CLI::App &app, Invocation &invocation)
{
	CLI::App *command = app.add_subcommand("ping", "measure NULL calls, and the bare verbs below them");
	auto options = std::make_shared<Options>();
	CLI::Option *listen = command->add_flag("--listen", options->listen,
						"be what bare verbs are measured with, on one connection at a time");
	CLI::Option *address = command->add_option("server", options->address,
						   "SERVER[:PORT]; with --listen, where to listen (default: every "
						   "address, port " +
							   std::to_string(ECHO_PORT) + ")");
	command->add_option("--floor", options->floor,
			    "HOST[:PORT] of a `ping --listen`; not needed where the server is this machine")
		->excludes(listen);
	command->add_option("--count", options->count, "measurements of each kind")
		->capture_default_str()
		->check(CLI::Range(1U, 100000000U));
	command->add_option("--depth", options->depth, "calls at once for the throughput, if the server grants them")
		->capture_default_str()
		->check(CLI::Range(1U, MAX_DEPTH));
	command->add_option("--size", options->size, "bytes of each RDMA Read and Write")
		->capture_default_str()
		->check(CLI::Range(std::size_t{1}, ECHO_MEMORY));
	command->add_option("--nfs-version", options->nfs_version, "of the program whose procedure NULL is called")
		->capture_default_str();
	command->add_option("--protocol", options->protocol, "the version of RPC-over-RDMA that NULL calls have")
		->capture_default_str()
		->check(CLI::Range(VERSION_1, VERSION_2));
	command->add_option("--timeout", options->patience, "seconds that connecting, and each answer, may take")
		->capture_default_str()
		->check(CLI::PositiveNumber);
	command->callback([options, listen, address, &invocation] {
		if (listen->empty() && address->empty())
			throw CLI::RequiredError("SERVER, or --listen,");
		ping(*options, invocation);
	});
}

} // namespace peer
