// SPDX-License-Identifier: GPL-2.0-only

#include "report/view.hh"

#include "report/report.hh"
#include "report/setup.hh"
#include "report/text.hh"

namespace peer {

namespace {

View word_view(const std::string &text, bool differs)
{
	return {{"text", text}, {"differs", differs}};
}

// Of a row that does not differ, the blanks between words are kept.
View words_view(const std::string &text, const std::string &other, bool differs)
{
	View words = View::array();
	if (!differs)
		words.push_back(word_view(text, false));
	else
		for (const MarkedWord &word : words_marked(text, other))
			words.push_back(word_view(word.text, word.differs));
	return words;
}

} // namespace

View case_view(const CaseResult &result)
{
	return {{"name", result.name},	     {"outcome", name_of(result.outcome)}, {"level", result.level},
		{"title", result.title},     {"expected", result.expected},	   {"came", result.came},
		{"command", result.command}, {"seconds", result.seconds}};
}

View comparison_view(const Comparison &comparison)
{
	View rows = View::array();
	for (const Compared &row : comparison)
		rows.push_back({{"what", row.what},
				{"differs", row.differs},
				{"expected", words_view(row.expected, row.came, row.differs)},
				{"came", words_view(row.came, row.expected, row.differs)}});
	return rows;
}

View facts_view(const std::vector<Fact> &facts)
{
	View view = View::array();
	for (const Fact &fact : facts)
		view.push_back({{"name", fact.name}, {"value", fact.value}});
	return view;
}

View verdict_view(const Report &report, const std::string &text)
{
	const std::optional<bool> conforms = report.conforms();
	const Outcome outcome = !conforms ? Outcome::skipped : *conforms ? Outcome::passed : Outcome::failed;
	return {{"text", text}, {"outcome", name_of(outcome)}};
}

View made_printable(View view)
{
	if (view.is_string())
		return printable(view.get_ref<const std::string &>());
	if (view.is_structured())
		for (View &part : view)
			part = made_printable(std::move(part));
	return view;
}

} // namespace peer
