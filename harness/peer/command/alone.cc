// SPDX-License-Identifier: GPL-2.0-only

#include "command/alone.hh"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "report/setup.hh"

namespace peer {

namespace {

// What chooses cases, or where results go. The former have a value.
constexpr std::array<std::string_view, 8> WITH_A_VALUE = {"--only",  "--failed-from", "--repeat", "--results",
							  "--junit", "--html",	      "--mark",	  "--name"};
constexpr std::array<std::string_view, 5> WITHOUT = {"--json", "--json-lines", "--apart", "--stop-when-ill", "--trace"};

bool is_one_of(const auto &words, std::string_view word)
{
	return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_another_case(const std::string &word, const std::string &name)
{
	const std::filesystem::path path(word);
	return path.extension() == ".case" && path.stem() != std::filesystem::path(name).filename();
}

} // namespace

std::string command_alone(const std::vector<std::string> &arguments, const std::string &name)
{
	std::vector<std::string> words;
	for (std::size_t i = 0; i < arguments.size(); i++) {
		const std::string &word = arguments[i];
		if (is_one_of(WITH_A_VALUE, word))
			i++;
		else if (!is_one_of(WITH_A_VALUE, word.substr(0, word.find('='))) && !is_one_of(WITHOUT, word) &&
			 !is_another_case(word, name))
			words.push_back(word);
	}
	if (is_one_of(arguments, "conform"))
		words.insert(words.end(), {"--only", name, "--trace"});
	return shell_words(words);
}

} // namespace peer
