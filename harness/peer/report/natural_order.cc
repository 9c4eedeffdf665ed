// SPDX-License-Identifier: GPL-2.0-only

#include "report/natural_order.hh"

#include <algorithm>
#include <cctype>

namespace peer {

namespace {

bool is_digit(char character)
{
	return std::isdigit(static_cast<unsigned char>(character)) != 0;
}

// The digits at its beginning, or the one character that is none.
std::string_view take_part(std::string_view &text)
{
	const auto digits =
		static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
	const std::string_view part = text.substr(0, digits ? digits : 1);
	text.remove_prefix(part.size());
	return part;
}

} // namespace

bool InNaturalOrder::operator()(std::string_view a, std::string_view b) const
{
	while (!a.empty() && !b.empty()) {
		const std::string_view left = take_part(a);
		const std::string_view right = take_part(b);
		const bool numbers = is_digit(left[0]) && is_digit(right[0]);
		if (numbers && left.size() != right.size())
			return left.size() < right.size();
		if (left != right)
			return left < right;
	}
	return a.empty() && !b.empty();
}

} // namespace peer
