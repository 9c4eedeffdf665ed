// SPDX-License-Identifier: GPL-2.0-only

#include "command/selection.hh"

#include <algorithm>
#include <istream>
#include <map>

#include <fnmatch.h>
#include <nlohmann/json.hpp>

#include "command/nearest.hh"
#include "report/level.hh"
#include "report/specification.hh"

namespace peer {

namespace {

std::string stem_of(const std::string &name)
{
	return name.substr(name.find('/') + 1);
}

// A weight's word, or the level as the case and the report have it.
bool has_level(const Case &test, const std::string &word)
{
	return test.level == word || std::any_of(weights().begin(), weights().end(), [&](const Weight &weight) {
		       return (weight.word == word || weight.title == word) && weight.has(test.level);
	       });
}

// Whether that is the identifier, or the document or section that it is in: "8166-4.5" has "8166-4.5-1" and "8166-4.5.2-1".
bool is_within(const std::string &identifier, const std::string &whole)
{
	return !whole.empty() && identifier.starts_with(whole) &&
	       (identifier.size() == whole.size() || identifier[whole.size()] == '-' ||
		identifier[whole.size()] == '.');
}

// The identifier that each requirement shares with those that say the same: a case for one is a case for all of them.
using Shared = std::map<std::string, std::string>;

Shared shared_identifiers(const std::vector<Requirement> &requirements)
{
	Shared shared;
	for (const Requirement &requirement : requirements)
		shared[requirement.identifier] = requirement.shared_identifier();
	return shared;
}

// A word of "--only".
class Word {
    public:
	Word(const std::string &text, const Shared &shared)
		: text_(text)
		, section_(section_identifier(text))
		, shared_(shared)
	{
		for (const auto &[identifier, common] : shared)
			if (is_within(identifier, section_))
				covered_.insert(common);
	}

	[[nodiscard]] const std::string &text() const noexcept { return text_; }

	[[nodiscard]] bool names(const Case &test) const
	{
		return ::fnmatch(text_.c_str(), test.name.c_str(), 0) == 0 ||
		       ::fnmatch(text_.c_str(), stem_of(test.name).c_str(), 0) == 0;
	}

	// By its level, or by what it is about.
	[[nodiscard]] bool describes(const Case &test) const
	{
		return has_level(test, text_) || is_within(section_identifier(test.section), section_) ||
		       is_covered_by(test);
	}

    private:
	[[nodiscard]] bool is_covered_by(const Case &test) const
	{
		const auto is_of_these = [&](const std::string &identifier) {
			const auto common = shared_.find(identifier);
			return common != shared_.end() && covered_.contains(common->second);
		};
		return !covered_.empty() &&
		       std::any_of(test.requirements.begin(), test.requirements.end(), is_of_these);
	}

	std::string text_;
	std::string section_; // "8166-4.5", also where the text is "RFC 8166, 4.5"
	const Shared &shared_;
	std::set<std::string> covered_;
};

bool is_wanted(const Case &test, const Selection &selection, const std::vector<Word> &words)
{
	if (test.protocol > selection.protocol || (selection.names && !selection.names->contains(test.name)))
		return false;
	// Who names a case, or ran it before, asks for it.
	const bool usual = selection.apart || test.apart.empty();
	if (words.empty())
		return usual || selection.names;
	return std::any_of(words.begin(), words.end(),
			   [&](const Word &word) { return word.names(test) || (usual && word.describes(test)); });
}

std::string suggestion_for(const std::string &word, const std::vector<Case> &all, const Shared &shared)
{
	std::vector<std::string> known;
	for (const Weight &weight : weights())
		known.push_back(weight.word);
	for (const Case &test : all)
		known.push_back(word.find('/') == std::string::npos ? stem_of(test.name) : test.name);
	for (const auto &[identifier, common] : shared)
		known.push_back(identifier);
	return suggestion(word, known);
}

// Throws ScriptError where the word stands for no case.
void check_word(const Word &word, const std::vector<Case> &all, const Selection &selection, const Shared &shared)
{
	const Case *found = nullptr;
	for (const Case &test : all) {
		if (!word.names(test) && !word.describes(test))
			continue;
		found = &test;
		if (test.protocol <= selection.protocol)
			return;
	}
	if (found)
		throw ScriptError("--only " + word.text() + ": these cases, such as " + found->name +
				  ", need a higher --protocol");
	throw ScriptError("--only " + word.text() + ": no case has this name, level or requirement" +
			  suggestion_for(word.text(), all, shared));
}

void check_names(const std::set<std::string> &names, const std::vector<Case> &all)
{
	std::vector<std::string> known;
	for (const Case &test : all)
		known.push_back(test.name);
	for (const std::string &name : names)
		if (std::find(known.begin(), known.end(), name) == known.end())
			throw ScriptError("--failed-from: there is no case " + name + " here" +
					  suggestion(name, known));
}

} // namespace

std::vector<Case> select(const std::vector<Case> &all, const Selection &selection,
			 const std::vector<Requirement> &requirements)
{
	const Shared shared = shared_identifiers(requirements);
	std::vector<Word> words;
	for (const std::string &text : selection.only)
		check_word(words.emplace_back(text, shared), all, selection, shared);
	if (selection.names)
		check_names(*selection.names, all);
	std::vector<Case> wanted;
	for (const Case &test : all)
		if (is_wanted(test, selection, words))
			wanted.push_back(test);
	return wanted;
}

std::set<std::string> failed_cases(std::istream &report, const std::string &name)
{
	try {
		const nlohmann::json json = nlohmann::json::parse(report);
		std::set<std::string> failed;
		for (const auto &result : json.at("results"))
			if (result.at("outcome") == "failed")
				failed.insert(result.at("name").get<std::string>());
		return failed;
	} catch (const nlohmann::json::exception &error) {
		throw ScriptError(name + " is no report of rpcordma-peer as JSON: " + error.what());
	}
}

} // namespace peer
