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

std::size_t Report::count(Outcome outcome) const noexcept
{
	return static_cast<std::size_t>(
		std::count_if(results.begin(), results.end(),
			      [outcome](const CaseResult &result) { return result.outcome == outcome; }));
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
