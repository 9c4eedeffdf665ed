// SPDX-License-Identifier: GPL-2.0-only
//
// Paths in a file tree.

#pragma once

#include <string>
#include <vector>

namespace peer {

/// "/a/b" as "a" and "b".
[[nodiscard]] std::vector<std::string> parts_of(const std::string &path);

} // namespace peer
