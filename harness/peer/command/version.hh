// SPDX-License-Identifier: GPL-2.0-only
//
// Which peer this is.

#pragma once

namespace peer {

/// The commit that it was built from, with a + where the sources had been changed since.
[[nodiscard]] const char *version() noexcept;

} // namespace peer
