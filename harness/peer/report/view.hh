// SPDX-License-Identifier: GPL-2.0-only
//
// What the templates in templates/ make documents of. All that is decided is decided here: they have the markup alone.

#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "language/comparison.hh"

namespace peer {

struct CaseResult;
struct Fact;
struct Matrix;
struct Report;

/// An object of JSON, whose texts are printable and not escaped.
using View = nlohmann::ordered_json;

/// For report.html.
[[nodiscard]] View page_view(const Report &report);
/// For junit.xml.
[[nodiscard]] View junit_view(const Report &report);
/// For matrix.html. @only_differences is what is shown at first.
[[nodiscard]] View matrix_view(const Matrix &matrix, bool only_differences);

/// What documents of a run have in common of a case. Part of a view.
[[nodiscard]] View case_view(const CaseResult &result);
/// Its rows, of words that may differ. Part of a view.
[[nodiscard]] View comparison_view(const Comparison &comparison);
[[nodiscard]] View facts_view(const std::vector<Fact> &facts);
/// A verdict in these words, which has the colour of an outcome. Part of a view.
[[nodiscard]] View verdict_view(const Report &report, const std::string &text);
/// The view with all of its texts made printable.
[[nodiscard]] View made_printable(View view);

} // namespace peer
