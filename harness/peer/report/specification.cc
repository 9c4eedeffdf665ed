// SPDX-License-Identifier: GPL-2.0-only

#include "report/specification.hh"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace peer {

namespace {

struct Draft {
	std::string_view in_cases; // "bis-04", in the first line of a case
	std::string_view in_requirements; // "bis"
	std::string_view name;
};

constexpr std::array DRAFTS = {
	Draft{"bis-04", "bis", "draft-ietf-nfsv4-rfc5666bis-04"},
	Draft{"version-two-01", "v2", "draft-cel-nfsv4-rpcrdma-version-two-01"},
};

bool is_number(std::string_view text)
{
	return !text.empty() && std::all_of(text.begin(), text.end(), [](char character) {
		return std::isdigit(static_cast<unsigned char>(character)) != 0;
	});
}

std::string url_of_document(const std::string &document)
{
	if (is_number(document))
		return "https://www.rfc-editor.org/rfc/rfc" + document + ".html";
	for (const Draft &draft : DRAFTS)
		if (draft.in_requirements == document)
			return "https://datatracker.ietf.org/doc/html/" + std::string(draft.name);
	return {};
}

} // namespace

std::string section_identifier(const std::string &section)
{
	constexpr std::string_view RFC = "RFC ";
	const std::size_t comma = section.find(", ");
	if (comma == std::string::npos)
		return section;
	std::string document = section.substr(0, comma);
	if (document.starts_with(RFC))
		document.erase(0, RFC.size());
	for (const Draft &draft : DRAFTS)
		if (draft.in_cases == document)
			document = draft.in_requirements;
	return document + "-" + section.substr(comma + 2);
}

std::string url_of(const std::string &identifier)
{
	const std::size_t first = identifier.find('-');
	if (first == std::string::npos)
		return {};
	const std::string section = identifier.substr(first + 1, identifier.find('-', first + 1) - first - 1);
	const std::string document = url_of_document(identifier.substr(0, first));
	return document.empty() ? document : document + "#section-" + section;
}

} // namespace peer
