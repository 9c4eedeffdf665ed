// SPDX-License-Identifier: GPL-2.0-only

#pragma once

#include "codec/xdr.hh"

namespace peer {

/// The shell script that a client under test runs, as it stands in client_script.sh.
[[nodiscard]] ByteView client_script() noexcept;

} // namespace peer
