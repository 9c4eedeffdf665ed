# SPDX-License-Identifier: GPL-2.0-only
"""Reads and writes of odd lengths at odd places.

    sizes.py write|read FILE STEP [direct]

Writes pieces of every STEPth length from 1 to 4097 bytes, and of lengths around whole pages, one
after the other into a file, or reads such pieces again and compares. Each is one system call.
"""

import os
import random
import sys

# The smallest that a machine may have: what one writes another checks.
PAGE = 4096
AROUND = (-3, -1, 0, 1, 3)
PAGES = (1, 2, 3, 4, 16, 63, 64, 255, 256)


def lengths(step: int) -> list[int]:
    """The length of each piece."""
    return [*range(1, PAGE + 2, step),
            *(pages * PAGE + more for pages in PAGES for more in AROUND)]


def main() -> None:
    """Does what the command line says."""
    action, path, step = sys.argv[1], sys.argv[2], int(sys.argv[3])
    wanted = lengths(step)
    contents = random.Random(step).randbytes(sum(wanted))
    flags = os.O_RDWR | os.O_CREAT | (os.O_DIRECT if "direct" in sys.argv[4:] else 0)
    file = os.open(path, flags)
    place = 0
    for length in wanted:
        piece = contents[place:place + length]
        if action == "write":
            done = os.pwrite(file, piece, place)
            if done != length:
                sys.exit(f"{done} bytes of {length} were written at {place}")
        elif os.pread(file, length, place) != piece:
            sys.exit(f"{length} bytes at {place} are not what was written")
        place += length
    os.fsync(file)
    os.close(file)


main()
