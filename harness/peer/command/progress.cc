// SPDX-License-Identifier: GPL-2.0-only

#include "command/progress.hh"

#include <cmath>

#include "report/text.hh"

namespace peer {

namespace {

// Cases take from a millisecond to a minute: before that many, their mean says nothing.
constexpr std::size_t ENOUGH = 5;
constexpr std::string_view TO_LINE_BEGIN_AND_CLEAR = "\r\033[K";

std::string duration_text(double seconds)
{
	constexpr double MINUTE = 60;
	if (seconds < MINUTE)
		return std::to_string(std::lround(std::ceil(seconds))) + " s";
	return std::to_string(std::lround(std::ceil(seconds / MINUTE))) + " min";
}

} // namespace

std::string progress_text(std::size_t number, std::size_t all, const std::string &name,
			  std::chrono::duration<double> elapsed)
{
	const std::string text = std::to_string(number) + " of " + std::to_string(all) + ": " + name;
	const std::size_t done = number - 1;
	if (done < ENOUGH)
		return text;
	const double left = elapsed.count() / static_cast<double>(done) * static_cast<double>(all - done);
	return text + ", about " + duration_text(left) + " left";
}

Progress::Progress(std::ostream &out, std::size_t all, std::size_t width)
	: out_(out)
	, all_(all)
	, width_(width)
{
}

Progress::~Progress()
{
	clear();
}

void Progress::begin(const std::string &name)
{
	at(begun_ + 1, name);
}

// In the last column, some terminals begin a line.
void Progress::at(std::size_t number, const std::string &name)
{
	begun_ = number;
	if (width_ > 1)
		out_ << TO_LINE_BEGIN_AND_CLEAR
		     << cut_to(progress_text(begun_, all_, printable(name),
					     std::chrono::steady_clock::now() - started_),
			       width_ - 1)
		     << std::flush;
}

void Progress::clear()
{
	if (width_ > 1)
		out_ << TO_LINE_BEGIN_AND_CLEAR << std::flush;
}

} // namespace peer
