// SPDX-License-Identifier: GPL-2.0-only
/* What kmod/main.cc defines for the module. */
#include "verbs/live.hh"

namespace rpcordma {

constinit LiveObjects live_objects{};

} // namespace rpcordma
