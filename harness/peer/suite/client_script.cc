// SPDX-License-Identifier: GPL-2.0-only

#include "suite/client_script.hh"

// The text is a file of its own, so that it can be read, and checked, as a shell script.
asm(".pushsection .rodata\n"
    "client_script_begin:\n"
    ".incbin \"" PEER_SOURCE "/suite/client_script.sh\"\n"
    "client_script_end:\n"
    ".popsection\n");

extern "C" {
extern const std::uint8_t client_script_begin[];
extern const std::uint8_t client_script_end[];
}

namespace peer {

ByteView client_script() noexcept
{
	return {client_script_begin, client_script_end};
}

} // namespace peer
