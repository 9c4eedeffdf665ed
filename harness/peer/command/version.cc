// SPDX-License-Identifier: GPL-2.0-only

#include "command/version.hh"

namespace peer {

const char *version() noexcept
{
	return PEER_VERSION;
}

} // namespace peer
