// SPDX-License-Identifier: GPL-2.0-only

#include "command/command.hh"

#include <charconv>
#include <string_view>

#include <CLI/CLI.hpp>

namespace peer {

namespace {

std::uint16_t parse_port(std::string_view digits, const std::string &text)
{
	std::uint16_t port = 0;
	const auto [end, error] = std::from_chars(digits.begin(), digits.end(), port);
	if (error != std::errc() || end != digits.end() || port == 0)
		throw CLI::ValidationError("'" + text + "' has no port from 1 to 65535 behind its colon");
	return port;
}

} // namespace

Address parse_address(const std::string &text, std::uint16_t default_port)
{
	const std::string_view all = text;
	if (all.starts_with('[')) {
		const std::size_t end = all.find(']');
		const std::string_view behind = end == all.npos ? "" : all.substr(end + 1);
		if (end == all.npos || (!behind.empty() && !behind.starts_with(':')))
			throw CLI::ValidationError("'" + text + "' is not of the form [ADDRESS]:PORT");
		return {std::string(all.substr(1, end - 1)),
			behind.empty() ? default_port : parse_port(behind.substr(1), text)};
	}
	const std::size_t colon = all.find(':');
	// More than one colon: an IPv6 address and no port.
	if (colon == all.npos || all.find(':', colon + 1) != all.npos)
		return {text, default_port};
	return {std::string(all.substr(0, colon)), parse_port(all.substr(colon + 1), text)};
}

std::string describe(const Address &address)
{
	const bool brackets = address.host.find(':') != std::string::npos;
	const std::string host = brackets ? "[" + address.host + "]" : address.host.empty() ? "*" : address.host;
	return host + ":" + std::to_string(address.port);
}

} // namespace peer
