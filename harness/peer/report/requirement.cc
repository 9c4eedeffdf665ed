// SPDX-License-Identifier: GPL-2.0-only

#include "report/requirement.hh"

#include <fstream>
#include <map>
#include <string_view>

#include "language/case.hh"

namespace peer {

namespace {

constexpr std::string_view SEPARATOR = " | ";
constexpr std::string_view SAME = "= ";
constexpr std::size_t FIELDS = 5;

[[noreturn]] void fail(unsigned line, const std::string &why)
{
	throw ScriptError("requirements, line " + std::to_string(line) + ": " + why);
}

std::vector<std::string> fields_of(const std::string &line)
{
	std::vector<std::string> fields;
	std::size_t from = 0;
	for (std::size_t at; (at = line.find(SEPARATOR, from)) != std::string::npos; from = at + SEPARATOR.size())
		fields.push_back(line.substr(from, at - from));
	fields.push_back(line.substr(from));
	return fields;
}

Requirement parse_line(unsigned number, const std::string &line)
{
	const std::vector<std::string> fields = fields_of(line);
	if (fields.size() != FIELDS)
		fail(number, "a requirement is \"identifier | level | who | where it is seen | what\"");
	Requirement result = {.identifier = fields[0],
			      .level = fields[1],
			      .who = fields[2],
			      .seen = fields[3],
			      .what = fields[4],
			      .same_as = {}};
	if (!result.visible() && !result.seen.starts_with("no: "))
		fail(number, "'" + result.seen + "' is neither \"wire\" nor \"no: \" and a reason");
	if (result.what.starts_with(SAME))
		result.same_as = result.what.substr(SAME.size());
	return result;
}

// One that says the same as another has that one's words.
void resolve(std::vector<Requirement> &requirements, const std::map<std::string, std::string> &what_of)
{
	for (Requirement &requirement : requirements) {
		if (requirement.same_as.empty())
			continue;
		const auto other = what_of.find(requirement.same_as);
		if (other == what_of.end() || other->second.starts_with(SAME))
			throw ScriptError("requirements: " + requirement.identifier + " refers to " +
					  requirement.same_as + ", which is not there or refers to another");
		requirement.what = other->second;
	}
}

} // namespace

std::vector<Requirement> parse_requirements(std::istream &in)
{
	std::vector<Requirement> requirements;
	std::map<std::string, std::string> what_of;
	std::string line;
	for (unsigned number = 1; std::getline(in, line); number++) {
		if (line.empty() || line.starts_with('#'))
			continue;
		Requirement requirement = parse_line(number, line);
		if (!what_of.emplace(requirement.identifier, requirement.what).second)
			fail(number, requirement.identifier + " stands there twice");
		requirements.push_back(std::move(requirement));
	}
	resolve(requirements, what_of);
	return requirements;
}

std::vector<Requirement> load_requirements(const std::filesystem::path &file)
{
	std::ifstream in(file);
	if (!in)
		throw ScriptError(file.string() + " cannot be read");
	return parse_requirements(in);
}

} // namespace peer
