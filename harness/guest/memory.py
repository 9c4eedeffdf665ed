# SPDX-License-Identifier: GPL-2.0-only
"""Fills memory with what it can tell again later, in a control group that has less of it.

    memory.py MEBIBYTES      says how much of it was in swap, in KiB
"""

import re
import sys
from pathlib import Path

PAGE = 4096
PAGES = (1 << 20) // PAGE


def pattern(number: int) -> bytes:
    """The contents of one mebibyte: each page is full of its own number."""
    pages = range(number * PAGES, (number + 1) * PAGES)
    return b"".join(page.to_bytes(8, "little") * (PAGE // 8) for page in pages)


def main() -> None:
    """Fills, then looks at everything again."""
    count = int(sys.argv[1])
    memory = [bytearray(pattern(number)) for number in range(count)]
    status = Path("/proc/self/status").read_text()
    print(re.search(r"VmSwap:\s+(\d+)", status)[1], flush=True)
    for number in range(count):
        if memory[number] != pattern(number):
            sys.exit(f"mebibyte {number} has changed")


main()
