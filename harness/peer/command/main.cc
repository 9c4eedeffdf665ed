// SPDX-License-Identifier: GPL-2.0-only
//
// rpcordma-peer: a requester and a responder of RPC-over-RDMA in user space, to test others with.

#include <iostream>

#include <CLI/CLI.hpp>

#include "command/command.hh"
#include "command/conform.hh"
#include "command/fuzz.hh"
#include "command/ping.hh"
#include "command/show.hh"
#include "command/usage.hh"
#include "command/version.hh"
#include "engine/transaction.hh"
#include "language/case.hh"
#include "suite/export.hh"

int main(int argc, char **argv)
{
	peer::Invocation invocation;
	invocation.arguments.assign(argv, argv + argc);
	CLI::App app("Tests servers and clients of RPC-over-RDMA, over any verbs device.", "rpcordma-peer");
	app.set_version_flag("--version", std::string("rpcordma-peer ") + peer::version());
	app.add_flag("--json", invocation.json, "Print JSON");
	app.fallthrough();
	app.require_subcommand(1);
	app.footer("Exit status: 0 all is well, 1 a case failed or the other end misbehaved, 2 wrong use,\n"
		   "3 no connection or no device, 4 --path is not exported to this machine for writing,\n"
		   "128 + N ended by signal N.");
	app.failure_message(peer::explain);
	peer::add_conform(app, invocation);
	peer::add_fuzz(app, invocation);
	peer::add_run(app, invocation);
	peer::add_serve(app, invocation);
	peer::add_report(app, invocation);
	peer::add_ping(app, invocation);
	try {
		app.parse(argc, argv);
	} catch (const CLI::ParseError &error) {
		return app.exit(error) == 0 ? peer::FINE : peer::WRONG_USE;
	} catch (const peer::ScriptError &error) {
		std::cerr << "rpcordma-peer: " << error.what() << '\n';
		return peer::WRONG_USE;
	} catch (const peer::Violation &violation) {
		std::cerr << "rpcordma-peer: " << violation.what() << '\n';
		return peer::FAILED;
	} catch (const peer::NotExported &error) {
		std::cerr << "rpcordma-peer: " << error.what() << '\n';
		return peer::NO_EXPORT;
	} catch (const peer::Malformed &malformed) {
		std::cerr << "rpcordma-peer: what came is malformed: " << malformed.what() << '\n';
		return peer::FAILED;
	} catch (const std::runtime_error &error) {
		std::cerr << "rpcordma-peer: " << error.what() << '\n';
		return peer::NO_CONNECTION;
	}
	return invocation.status;
}
