// SPDX-License-Identifier: GPL-2.0-only

#include "report/report.hh"

#include <algorithm>
#include <set>

namespace peer {

std::string name_of(Outcome outcome)
{
	switch (outcome) {
	case Outcome::passed:
		return "passed";
	case Outcome::failed:
		return "failed";
	case Outcome::skipped:
		return "skipped";
	}
	return {};
}

std::string Report::called() const
{
	return !name.empty() ? name : device.empty() ? role : role + " " + device;
}

std::size_t Report::count(Outcome outcome) const noexcept
{
	return static_cast<std::size_t>(
		std::count_if(results.begin(), results.end(),
			      [outcome](const CaseResult &result) { return result.outcome == outcome; }));
}

std::size_t Report::count(Outcome outcome, const Weight &weight) const noexcept
{
	return static_cast<std::size_t>(std::count_if(results.begin(), results.end(), [&](const CaseResult &result) {
		return result.outcome == outcome && weight.has(result.level);
	}));
}

std::optional<bool> Report::conforms() const
{
	const Weight &must = weights().front();
	if (count(Outcome::failed, must) > 0)
		return false;
	if (count(Outcome::passed, must) > 0)
		return true;
	return std::nullopt;
}

std::string Report::verdict() const
{
	const Weight &must = weights().front();
	const std::size_t passed = count(Outcome::passed, must);
	const std::size_t failed = count(Outcome::failed, must);
	const std::string all = " of " + std::to_string(passed + failed) + " cases about a MUST ";
	const std::optional<bool> conforming = conforms();
	if (!conforming)
		return "no verdict: no case about a MUST came to an end";
	return *conforming ? "conforms: " + std::to_string(passed) + all + "passed" :
			     "does not conform: " + std::to_string(failed) + all + "failed";
}

std::vector<Weight> Report::tested_weights() const
{
	std::vector<Weight> tested;
	for (const Weight &weight : weights())
		if (std::any_of(results.begin(), results.end(),
				[&](const CaseResult &result) { return weight.has(result.level); }))
			tested.push_back(weight);
	return tested;
}

std::string Report::interruption() const
{
	if (interrupted.empty())
		return {};
	return "interrupted by " + interrupted + " after " + std::to_string(results.size()) + " of " +
	       std::to_string(planned) + " cases";
}

std::vector<const CaseResult *> Report::results_for(const Requirement &requirement) const
{
	std::set<std::string> wanted;
	for (const Requirement &other : requirements)
		if (other.shared_identifier() == requirement.shared_identifier())
			wanted.insert(other.identifier);

	std::vector<const CaseResult *> found;
	for (const CaseResult &result : results)
		if (std::any_of(result.requirements.begin(), result.requirements.end(),
				[&](const std::string &identifier) { return wanted.contains(identifier); }))
			found.push_back(&result);
	return found;
}

} // namespace peer
