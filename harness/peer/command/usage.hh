// SPDX-License-Identifier: GPL-2.0-only
//
// What is said of a command line that is wrong.

#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace peer {

/// For CLI::App::failure_message(): names a word that means nothing, and the one that may be meant.
[[nodiscard]] std::string explain(const CLI::App *app, const CLI::Error &error);

} // namespace peer
