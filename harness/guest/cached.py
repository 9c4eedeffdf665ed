# SPDX-License-Identifier: GPL-2.0-only
"""Prints how many bytes of a file can be read without its disk.

    cached.py FILE

fincore of later util-linux counts pages that are being read, too.
"""

import ctypes
import mmap
import os
import sys


def main() -> None:
    """Asks mincore(), which counts what is up to date."""
    file = os.open(sys.argv[1], os.O_RDONLY)
    size = os.fstat(file).st_size
    mapping = mmap.mmap(file, size, flags=mmap.MAP_PRIVATE)
    resident = (ctypes.c_ubyte * (-(-size // mmap.PAGESIZE)))()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mincore(ctypes.byref(ctypes.c_char.from_buffer(mapping)), ctypes.c_size_t(size), resident) != 0:
        sys.exit(os.strerror(ctypes.get_errno()))
    print(sum(page & 1 for page in resident) * mmap.PAGESIZE)


main()
