# SPDX-License-Identifier: GPL-2.0-only
"""What a user does with small files: writes one, reads it, removes it.

    files.py DIRECTORY COUNT

Does that COUNT times, and prints how many milliseconds each took: "median N ms, longest N ms".
"""

import os
import statistics
import sys
import time
from pathlib import Path

CONTENT = os.urandom(64 << 10)


def use(path: Path) -> None:
    """One file's life; what is read comes from the server."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR)
    os.write(descriptor, CONTENT)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.lseek(descriptor, 0, os.SEEK_SET)
    if os.read(descriptor, len(CONTENT)) != CONTENT:
        sys.exit("other data came back")
    os.close(descriptor)
    path.unlink()


def main() -> None:
    """Measures."""
    directory, count = Path(sys.argv[1]), int(sys.argv[2])
    times = []
    for number in range(count):
        begin = time.monotonic()
        use(directory / f"file{number}")
        times.append(time.monotonic() - begin)
    print(f"median {statistics.median(times) * 1000:.1f} ms, longest {max(times) * 1000:.1f} ms", flush=True)


main()
