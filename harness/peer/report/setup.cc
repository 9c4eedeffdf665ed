// SPDX-License-Identifier: GPL-2.0-only

#include "report/setup.hh"

namespace peer {

namespace {

// What is there, with commas between.
std::string listed(const std::vector<std::string> &parts)
{
	std::string text;
	for (const std::string &part : parts)
		if (!part.empty())
			text += (text.empty() ? "" : ", ") + part;
	return text;
}

std::string device_of(const Tester &tester)
{
	return listed({tester.device, tester.driver.empty() ? "" : "driver " + tester.driver,
		       tester.firmware.empty() ? "" : "firmware " + tester.firmware, tester.transport});
}

std::string bytes(std::uint32_t count)
{
	return std::to_string(count) + " bytes";
}

std::string announcement_of(const Terms &terms)
{
	if (!terms.announced)
		return "none of RFC 8797";
	return "sends up to " + bytes(terms.announced->send_size) + ", receives up to " +
	       bytes(terms.announced->receive_size) + ", " +
	       (terms.announced->remote_invalidation ? "remote invalidation" : "no remote invalidation");
}

std::string options_of(const RunSettings &settings)
{
	return listed({settings.strict ? "strict" : "not strict", "versions up to " + std::to_string(settings.protocol),
		       settings.repeat > 1 ? "each case " + std::to_string(settings.repeat) + " times" : "",
		       settings.seed > 0 ? "seed " + std::to_string(settings.seed) : "",
		       settings.patience > 0 ? "patience of " + std::to_string(settings.patience) + " s" : ""});
}

} // namespace

std::vector<Fact> facts_of(const Report &report)
{
	std::vector<Fact> facts = {{"tester", listed({"rpcordma-peer " + report.peer_version, report.tester.kernel})},
				   {"tester's device", device_of(report.tester)}};
	if (const auto &terms = report.terms) {
		facts.push_back({"private data of the " + report.role, announcement_of(*terms)});
		facts.push_back({"inline thresholds", "Calls " + bytes(terms->call_threshold) + ", Replies " +
							      bytes(terms->reply_threshold)});
		facts.push_back({report.role == "server" ? "credits granted" : "credits asked for",
				 std::to_string(terms->credits)});
	}
	facts.push_back({"options", options_of(report.settings)});
	facts.push_back({"command", shell_words(report.settings.arguments)});
	std::erase_if(facts, [](const Fact &fact) { return fact.value.empty(); });
	return facts;
}

std::string shell_words(const std::vector<std::string> &words)
{
	constexpr std::string_view PLAIN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+:,./@%";
	std::string text;
	for (const std::string &word : words) {
		text += text.empty() ? "" : " ";
		if (!word.empty() && word.find_first_not_of(PLAIN) == std::string::npos) {
			text += word;
			continue;
		}
		text += '\'';
		for (const char character : word)
			text += character == '\'' ? std::string("'\\''") : std::string(1, character);
		text += '\'';
	}
	return text;
}

} // namespace peer
