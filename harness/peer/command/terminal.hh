// SPDX-License-Identifier: GPL-2.0-only
//
// What the terminal is like that the program writes to.

#pragma once

namespace peer {

/// Whether what is printed may have colours: on a terminal, unless the user wants none (NO_COLOR).
[[nodiscard]] bool colours();

} // namespace peer
