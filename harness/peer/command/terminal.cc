// SPDX-License-Identifier: GPL-2.0-only

#include "command/terminal.hh"

#include <cstdlib>

#include <unistd.h>

namespace peer {

bool colours()
{
	return ::isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR");
}

} // namespace peer
