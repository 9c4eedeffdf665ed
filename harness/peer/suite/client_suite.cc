// SPDX-License-Identifier: GPL-2.0-only

#include "suite/client_suite.hh"

#include <algorithm>
#include <utility>

#include "suite/client_run.hh"
#include "suite/export.hh"

namespace peer {

void Suite::run(const Instance &instance, Deadline begin, CaseResult &result)
{
	instance_ = &instance;
	trace_ = &result.trace;
	trace_->clear();
	recorder_.emplace(result);
	violations_.clear();
	others_.clear();
	ended_.clear();
	held_.reset();
	held_beside_.clear();
	held_request_.reset();
	client_.reset();
	noted_.clear();
	patience_ = {};
	awaited_operation_.clear();
	expectation_ = "the client's operation";
	begin_ = begin;
	responder_.acceptance = usual_acceptance();
	speak({.low = VERSION_1, .high = instance.test->protocol});
	responder_.features = features_of(*instance.test);
	try {
		for (const Step &step : instance.test->steps_for(instance.value))
			take(step);
		conclude();
		result.came = "the same";
	} catch (const ScriptError &) {
		throw;
	} catch (const ClientEnded &) {
		leave();
		throw;
	} catch (const Unable &error) {
		result.outcome = Outcome::skipped;
		result.came = instance.described + error.what();
		result.in_order = recover();
	} catch (const Violation &violation) {
		result.outcome = Outcome::failed;
		result.came = instance.described + "instead of " + expectation_ + ": " + violation.what();
		result.comparison = violation.comparison;
		result.in_order = recover();
	} catch (const std::runtime_error &error) {
		result.outcome = Outcome::failed;
		result.came = instance.described + "instead of " + expectation_ + ": " + error.what();
		result.in_order = recover();
	}
	leave();
}

// Nothing is told to the result any more, which goes before this.
void Suite::leave()
{
	trace_ = nullptr;
	recorder_.reset();
	instance_ = nullptr;
}

void Suite::take(const Step &step)
{
	try {
		perform(step);
	} catch (const ScriptError &error) {
		// What a step changes may be something that this client's Calls do not have.
		if (held_)
			throw Violation(error.what());
		throw ScriptError(instance_->test->name + ":" + std::to_string(step.line.number) + ": " + error.what());
	} catch (const std::out_of_range &) {
		throw ScriptError(instance_->test->name + ":" + std::to_string(step.line.number) +
				  ": a word is missing");
	}
}

void Suite::perform(const Step &step)
{
	const Words &words = step.line.words;
	const std::string &verb = words[0];
	if (verb == "on")
		await(words);
	else if (verb == "answer")
		answer(step);
	else if (verb == "accept")
		accept(words);
	else if (verb == "reject")
		reject(words);
	else if (verb == "ignore")
		request().ignore();
	else if (verb == "serve")
		serve_for(std::chrono::milliseconds(evaluate(words.at(1), {})));
	else if (verb == "pause")
		pause(std::chrono::milliseconds(evaluate(words.at(1), {})));
	else if (verb == "versions")
		speak({.low = static_cast<std::uint32_t>(evaluate(words.at(1), names())),
		       .high = static_cast<std::uint32_t>(evaluate(words.at(2), names()))});
	else if (verb == "grant")
		grant(words);
	else if (verb == "memory")
		make_memory(words);
	else if (verb == "remember")
		remembered_[words.at(1)] = evaluate_segment(words.at(2), names());
	else if (verb == "note")
		noted_[words.at(1)] = evaluate(words.at(2), names());
	else if (verb == "patience")
		patience_ = std::chrono::seconds(evaluate(words.at(1), {}));
	else if (verb == "need")
		need(step);
	else if (verb == "send")
		send(step);
	else if (verb == "keep")
		keep_outstanding(step);
	else if (verb == "reach")
		reach(words);
	else if (verb == "starve")
		starve();
	else if (verb == "close" || verb == "vanish")
		end(verb == "close");
	else if (verb == "expect")
		expect(step);
	else
		throw ScriptError("'" + verb + "' is no step of a case for clients");
}

void Suite::conclude()
{
	expectation_ = "a client in order";
	const ClientResult &result = client_result();
	if (result.good != cksum_line(pattern(0, 8192, 2)))
		throw Violation("another file was not read well afterwards: " + result.good + ": " + result.output);
	if (!violations_.empty())
		throw Violation(violations_.front());
	put_things_right();
}

void Suite::put_things_right()
{
	memory_.clear();
	remembered_.clear();
	if (std::exchange(is_unusual_, false))
		responder_.end_all();
}

bool Suite::recover()
{
	if (held_)
		held_beside_.push_back(std::move(*held_));
	held_.reset();
	for (const ArrivedCall &call : std::exchange(held_beside_, {}))
		if (responder_.awaits_reply(call))
			responder_.send(call.connection, responder_.plan(call));
	awaited_operation_.clear();
	awaits_request_ = false;
	if (held_request_)
		responder_.accept(request(), usual_acceptance());
	const bool goes_on =
		responder_.serve_until([this] { return has_result(); }, Clock::now() + 6 * settings_.patience.answer);
	put_things_right();
	return goes_on;
}

void run_client_cases(const std::vector<Case> &cases, const ListenSettings &settings, const ClientHooks &hooks)
{
	Suite suite(cases, settings, hooks);
	hooks.ready();
	Deadline begin = Clock::now() + settings.start;
	// Why there is no client any more: that fails the cases which it has not come to.
	std::string gone;
	for (std::size_t i = 0; i < suite.instances().size();) {
		const Case &test = *suite.instances()[i].test;
		hooks.begun(test);
		CaseResult result = new_result(test);
		const Clock::time_point started = Clock::now();
		for (; i < suite.instances().size() && suite.instances()[i].test == &test; i++) {
			CaseResult once = new_result(test);
			try {
				if (gone.empty())
					suite.run(suite.instances()[i], begin, once);
			} catch (const ClientEnded &ended) {
				gone = ended.what();
			}
			if (!gone.empty()) {
				once.outcome = Outcome::failed;
				once.came = gone;
				once.in_order = false;
			}
			begin = Clock::now() + 6 * settings.patience.answer;
			const bool in_order = result.in_order && once.in_order;
			if (result.outcome == Outcome::passed)
				result = once;
			result.in_order = in_order;
		}
		result.seconds = std::chrono::duration<double>(Clock::now() - started).count();
		hooks.told(result);
		if (settings.stop_when_ill && !result.in_order)
			return;
	}
	// It has to take its leave, which takes somebody who answers.
	const Deadline end = Clock::now() + 6 * settings.patience.answer;
	while (hooks.wait_for_end && !hooks.ended() && Clock::now() < end)
		suite.responder().serve_until([] { return false; }, Clock::now() + LOOK_AROUND);
}

void serve(const ListenSettings &settings, const Versions &versions,
	   const std::function<void(const std::string &)> &trace)
{
	const std::vector<Case> none;
	Suite suite(none, settings, {});
	suite.responder().versions = versions;
	suite.responder().trace = [&](std::uint64_t connection, const std::string &line) {
		trace(std::to_string(connection) + ": " + line);
	};
	for (;;)
		suite.responder().serve_until([] { return false; }, Deadline::max());
}

} // namespace peer
