// SPDX-License-Identifier: GPL-2.0-only

#include "command/usage.hh"

#include <algorithm>

#include "command/nearest.hh"

namespace peer {

namespace {

std::vector<std::string> commands_of(const CLI::App &app)
{
	std::vector<std::string> names;
	for (const CLI::App *const command : app.get_subcommands({}))
		names.push_back(command->get_name());
	return names;
}

void append_options(std::vector<std::string> &names, const CLI::App &app)
{
	for (const CLI::Option *const option : app.get_options({}))
		for (const std::string &name : option->get_lnames())
			names.push_back("--" + name);
}

std::string unknown_option(const std::string &word, const CLI::App &app)
{
	std::vector<std::string> known;
	append_options(known, app);
	for (const CLI::App *const command : app.get_subcommands())
		append_options(known, *command);
	const std::string name = word.substr(0, word.find('='));
	return "no such option: " + name + suggestion(name, known);
}

std::string unknown_command(const std::string &word, const CLI::App &app)
{
	const std::vector<std::string> known = commands_of(app);
	const std::string meant = suggestion(word, known);
	return "no such command: " + word + (meant.empty() ? "; there are " + CLI::detail::join(known, ", ") : meant);
}

// A wrong command explains wrong options, and a wrong option a word that is superfluous then.
std::string complaint_about(const std::vector<std::string> &words, const CLI::App &app)
{
	const auto is_option = [](const std::string &word) { return word.starts_with('-'); };
	const auto command = std::find_if_not(words.begin(), words.end(), is_option);
	if (app.get_subcommands().empty() && command != words.end())
		return unknown_command(*command, app);
	const auto option = std::find_if(words.begin(), words.end(), is_option);
	return option == words.end() ? "unexpected argument: " + words.front() : unknown_option(*option, app);
}

// The words that nothing was made of; they explain what is missing, too.
std::vector<std::string> words_behind(const CLI::App &app, const CLI::Error &error)
{
	if (dynamic_cast<const CLI::ExtrasError *>(&error) || dynamic_cast<const CLI::RequiredError *>(&error))
		return app.remaining(true);
	return {};
}

} // namespace

std::string explain(const CLI::App *app, const CLI::Error &error)
{
	const std::vector<std::string> words = words_behind(*app, error);
	return (words.empty() ? error.what() : complaint_about(words, *app)) + "\nRun with --help for more "
									       "information.\n";
}

} // namespace peer
