// SPDX-License-Identifier: GPL-2.0-only

#include "report/colour.hh"

namespace peer {

namespace {

std::string_view colour_of(Outcome outcome)
{
	switch (outcome) {
	case Outcome::passed:
		return "\033[32m";
	case Outcome::failed:
		return "\033[1;31m";
	case Outcome::skipped:
		return "\033[33m";
	}
	return {};
}

} // namespace

std::string in_colour_of(Outcome outcome, std::string_view text)
{
	return std::string(colour_of(outcome)) + std::string(text) + "\033[0m";
}

} // namespace peer
