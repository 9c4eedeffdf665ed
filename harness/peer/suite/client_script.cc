// SPDX-License-Identifier: GPL-2.0-only

#include "suite/client_script.hh"

// The text is a file of its own, so that it can be read, and checked, as a shell script. The names are global,
// because references through arm64's global offset table to what is within a section would lead to its beginning. The end
// has no name, because on s390x code refers to even addresses only.
asm(".pushsection .rodata\n"
    ".globl client_script_size, client_script_begin\n"
    ".balign 8\n"
    "client_script_size:\n"
    ".8byte 1f - client_script_begin\n"
    "client_script_begin:\n"
    ".incbin \"" PEER_SOURCE "/suite/client_script.sh\"\n"
    "1:\n"
    ".popsection\n");

extern "C" {
extern const std::uint8_t client_script_begin[];
extern const std::uint64_t client_script_size;
}

namespace peer {

ByteView client_script() noexcept
{
	return {client_script_begin, client_script_size};
}

} // namespace peer
