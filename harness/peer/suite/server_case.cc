// SPDX-License-Identifier: GPL-2.0-only

#include "suite/server_case.hh"

#include <algorithm>
#include <utility>

#include "suite/server_run.hh"

namespace peer {

void Run::steps(const std::vector<Step> &steps)
{
	answered_.reset();
	delegated_.clear();
	std::erase_if(links_,
		      [](const auto &link) { return !link.second.connection || !link.second.connection->connected(); });
	for (auto &[name, link] : links_)
		link.outstanding.clear();
	current_ = "main";
	if (std::any_of(steps.begin(), steps.end(), [](const Step &step) {
		    return step.line.words == Words{"expect", "unwritten"};
	    }))
		server_.clear_scratch();
	for (const Step &step : steps) {
		try {
			take(step);
		} catch (const ScriptError &error) {
			throw ScriptError(test_.name + ":" + std::to_string(step.line.number) + ": " + error.what());
		} catch (const std::out_of_range &) {
			throw ScriptError(test_.name + ":" + std::to_string(step.line.number) + ": a word is missing");
		}
	}
}

void Run::take(const Step &step)
{
	const Words &words = step.line.words;
	const std::string &verb = words[0];
	if (verb == "connect")
		connect(words);
	else if (verb == "on")
		current_ = words.at(1);
	else if (verb == "memory")
		make_memory(words);
	else if (verb == "free")
		free_memory(words.at(1));
	else if (verb == "send")
		send(step);
	else if (verb == "answer")
		answer(step);
	else if (verb == "reach")
		reach(words);
	else if (verb == "session")
		make_session(link());
	else if (verb == "delegation")
		get_delegation(step);
	else if (verb == "expect")
		expect(step);
	else if (verb == "need")
		need(step.line);
	else if (verb == "disconnect")
		link().connection->disconnect();
	else if (verb == "vanish")
		link().connection->vanish();
	else if (verb == "pause")
		pause(std::chrono::milliseconds(evaluate(words.at(1), {})));
	else
		throw ScriptError("'" + verb + "' is no step of a case for servers");
}

void Run::trace(const std::string &line)
{
	result_.trace.push_back((links_.size() > 1 ? current_ + ": " : "") + line);
}

namespace {

void run_once(Run &run, const Case &test, std::uint64_t value, CaseResult &result)
{
	const std::string which =
		test.variable.empty() ? "" : test.variable.substr(1) + " = " + std::to_string(value) + ": ";
	result.trace.clear();
	result.comparison.clear();
	try {
		run.steps(test.steps_for(value));
		result.came = "the same";
	} catch (const ScriptError &) {
		throw;
	} catch (const Unable &error) {
		result.outcome = Outcome::skipped;
		result.came = error.what();
	} catch (const Violation &violation) {
		result.outcome = Outcome::failed;
		result.came = which + "instead of " + run.expectation() + ": " + violation.what();
		result.comparison = violation.comparison;
	} catch (const std::runtime_error &error) {
		result.outcome = Outcome::failed;
		result.came = which + "instead of " + run.expectation() + ": " + error.what();
	}
}

} // namespace

CaseResult run_server_case(const Case &test, Export &server, Patience patience)
{
	CaseResult result = new_result(test);
	const Clock::time_point started = Clock::now();
	{
		Run run(test, server, patience, result);
		for (const std::uint64_t value : test.values)
			if (result.outcome == Outcome::passed)
				run_once(run, test, value, result);
	}
	if (const auto ill = server.health()) {
		result.outcome = Outcome::failed;
		result.in_order = false;
		result.came += "; after it a well-behaved requester is not served: " + *ill;
	}
	result.seconds = std::chrono::duration<double>(Clock::now() - started).count();
	return result;
}

} // namespace peer
