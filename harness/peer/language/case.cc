// SPDX-License-Identifier: GPL-2.0-only

#include "language/case.hh"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <sstream>

namespace peer {

namespace {

constexpr std::array LEVELS = {"MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "says", "hostile"};

[[noreturn]] void fail(const std::string &name, unsigned line, const std::string &why)
{
	throw ScriptError(name + ":" + std::to_string(line) + ": " + why);
}

Words words_of(const std::string &line)
{
	std::istringstream in(line.substr(0, line.find('#')));
	Words words;
	for (std::string word; in >> word;)
		words.push_back(word);
	return words;
}

// "# RFC 8166, 3.4.5, MUST: what is required"
void parse_title(Case &parsed, const std::string &line)
{
	const std::size_t colon = line.find(": ");
	const std::size_t comma = line.rfind(", ", colon);
	if (!line.starts_with("# ") || colon == std::string::npos || comma == std::string::npos)
		fail(parsed.name, 1, "the first line must be \"# SECTION, LEVEL: what is required\"");
	parsed.section = line.substr(2, comma - 2);
	parsed.level = line.substr(comma + 2, colon - comma - 2);
	parsed.title = line.substr(colon + 2);
	if (std::find(LEVELS.begin(), LEVELS.end(), parsed.level) == LEVELS.end())
		fail(parsed.name, 1,
		     "'" + parsed.level + "' is no level: MUST, MUST NOT, SHOULD, SHOULD NOT, MAY, says, hostile");
}

std::uint64_t number(const Case &parsed, const Line &line, const std::string &word)
{
	try {
		std::size_t used = 0;
		const std::uint64_t value = std::stoull(word, &used, 0);
		if (used == word.size())
			return value;
	} catch (const std::logic_error &) {
	}
	fail(parsed.name, line.number, "'" + word + "' is no number");
}

// "for n in 0..47" or "for n in 0 1 0xffffffff", or both
void parse_sweep(Case &parsed, const Line &line)
{
	if (line.words.size() < 4 || line.words[2] != "in")
		fail(parsed.name, line.number, "a sweep is \"for NAME in VALUE...\" or \"for NAME in FIRST..LAST\"");
	parsed.variable = "$" + line.words[1];
	for (std::size_t i = 3; i < line.words.size(); i++) {
		const std::string &word = line.words[i];
		const std::size_t dots = word.find("..");
		const std::uint64_t first = number(parsed, line, word.substr(0, dots));
		const std::uint64_t last = dots == std::string::npos ? first :
								       number(parsed, line, word.substr(dots + 2));
		// A loop that compares after counting would not end at the largest number.
		for (std::uint64_t value = first; first <= last; value++) {
			parsed.values.push_back(value);
			if (value == last)
				break;
		}
	}
}

// "protocol 1" or "protocol 2"
void parse_protocol(Case &parsed, const Line &line)
{
	const std::uint64_t version = line.words.size() == 2 ? number(parsed, line, line.words[1]) : 0;
	if (version != 1 && version != 2)
		fail(parsed.name, line.number, "a case's messages are of \"protocol 1\" or of \"protocol 2\"");
	parsed.protocol = static_cast<std::uint32_t>(version);
}

bool parse_property(Case &parsed, const Line &line)
{
	const std::string &word = line.words[0];
	const Words rest(line.words.begin() + 1, line.words.end());
	if (word == "covers")
		parsed.requirements.insert(parsed.requirements.end(), rest.begin(), rest.end());
	else if (word == "for")
		parse_sweep(parsed, line);
	else if (word == "client")
		parsed.operation = rest;
	else if (word == "apart" && !rest.empty())
		parsed.apart = text_of(rest);
	else if (word == "nfs" && rest.size() == 1)
		parsed.version = rest[0];
	else if (word == "feature" && rest.size() == 1)
		parsed.features.push_back(rest[0]);
	else if (word == "protocol")
		parse_protocol(parsed, line);
	else
		return false;
	return true;
}

} // namespace

std::string text_of(const Words &words)
{
	std::string text;
	for (const std::string &word : words)
		text += (text.empty() ? "" : " ") + word;
	return text;
}

std::vector<Step> Case::steps_for(std::uint64_t value) const
{
	std::vector<Step> result = steps;
	if (variable.empty())
		return result;
	const auto substitute = [&](Line &line) {
		for (std::string &word : line.words)
			for (std::size_t at; (at = word.find(variable)) != std::string::npos;)
				word.replace(at, variable.size(), std::to_string(value));
	};
	for (Step &step : result) {
		substitute(step.line);
		for (Line &line : step.block)
			substitute(line);
	}
	return result;
}

void Case::settle(bool strict)
{
	const auto settle_lines = [strict](auto &lines, auto words_in) {
		if (!strict)
			std::erase_if(lines, [&](auto &line) { return words_in(line).front() == "usually"; });
		for (auto &line : lines) {
			Words &words = words_in(line);
			if (words.front() == "usually")
				words.erase(words.begin());
			if (strict)
				words.erase(std::find(words.begin(), words.end(), "or"), words.end());
		}
	};
	settle_lines(steps, [](Step &step) -> Words & { return step.line.words; });
	for (Step &step : steps)
		settle_lines(step.block, [](Line &line) -> Words & { return line.words; });
}

Case parse_case(const std::string &name, const std::string &text)
{
	Case parsed;
	parsed.name = name;
	parsed.tested = name.starts_with("client/") ? Tested::client : Tested::server;

	std::istringstream in(text);
	std::string raw;
	for (unsigned number = 1; std::getline(in, raw); number++) {
		if (number == 1) {
			parse_title(parsed, raw);
			continue;
		}
		const Line line = {number, words_of(raw)};
		if (line.words.empty())
			continue;
		const bool indented = raw[0] == ' ' || raw[0] == '\t';
		if (indented && parsed.steps.empty())
			fail(name, number, "an indented line belongs to a step, and there is none above it");
		if (indented)
			parsed.steps.back().block.push_back(line);
		else if (!parse_property(parsed, line))
			parsed.steps.push_back({line, {}});
	}
	if (parsed.steps.empty())
		fail(name, 1, "there are no steps");
	if (parsed.values.empty())
		parsed.values.push_back(0);
	return parsed;
}

namespace {

/// The side that is tested, and the file's name. The side is the nearest folder above the file that has its name.
std::filesystem::path name_of(const std::filesystem::path &file)
{
	for (auto folder = file.parent_path(); folder.has_relative_path(); folder = folder.parent_path())
		if (folder.filename() == "server" || folder.filename() == "client")
			return folder.filename() / file.stem();
	return file.parent_path().filename() / file.stem();
}

using FilesByName = std::map<std::string, std::filesystem::path>;

/// Adds the files with cases in a folder and those below it, if it is there.
void add_files_below(const std::filesystem::path &folder, FilesByName &files)
{
	if (!std::filesystem::is_directory(folder))
		return;
	for (const auto &entry : std::filesystem::recursive_directory_iterator(folder)) {
		if (entry.path().extension() != ".case")
			continue;
		const auto [same, is_new] = files.emplace(entry.path().stem(), entry.path());
		if (!is_new)
			throw ScriptError(entry.path().string() + ": " + same->second.string() + " has its name");
	}
}

} // namespace

Case load_case(const std::filesystem::path &file)
{
	std::ifstream in(file);
	if (!in)
		throw ScriptError(file.string() + ": cannot be read");
	std::ostringstream text;
	text << in.rdbuf();
	return parse_case(name_of(file), text.str());
}

std::vector<Case> load_cases(const std::filesystem::path &directory)
{
	std::vector<Case> cases;
	for (const char *tested : {"server", "client"}) {
		FilesByName files;
		add_files_below(directory / tested, files);
		add_files_below(directory / "version-2" / tested, files);
		for (const auto &[name, file] : files)
			cases.push_back(load_case(file));
	}
	if (cases.empty())
		throw ScriptError(directory.string() + ": there are no cases; --cases names their directory");
	return cases;
}

} // namespace peer
