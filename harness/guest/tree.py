# SPDX-License-Identifier: GPL-2.0-only
"""A tree of small files: hundreds in each directory, every one with other contents.

    tree.py write|check|remove DIRECTORY COUNT
"""

import shutil
import sys
from pathlib import Path

FILES_PER_DIRECTORY = 250
LONGEST = 6000


def contents(number: int) -> bytes:
    """What stands in a file; the first is empty, others are up to a few thousand bytes long."""
    length = number * 37 % LONGEST
    return (b"file %d " % number * (length // 6 + 1))[:length]


def place(top: Path, number: int) -> Path:
    """Where a file is."""
    return top / f"d{number // FILES_PER_DIRECTORY}" / f"file-{number}"


def write(top: Path, count: int) -> None:
    """Makes all of them."""
    for number in range(count):
        path = place(top, number)
        if number % FILES_PER_DIRECTORY == 0:
            path.parent.mkdir(parents=True)
        path.write_bytes(contents(number))


def check(top: Path, count: int) -> None:
    """Lists and reads all of them."""
    listed = sorted(path for path in top.glob("*/*"))
    expected = sorted(place(top, number) for number in range(count))
    if listed != expected:
        sys.exit(f"{len(listed)} files are listed, not {count}: the difference begins with "
                 f"{sorted(set(listed) ^ set(expected))[:10]}")
    for number in range(count):
        if place(top, number).read_bytes() != contents(number):
            sys.exit(f"{place(top, number)} has other contents than it was given")


def main() -> None:
    """Does what the command line says."""
    action, top, count = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    if action == "write":
        write(top, count)
    elif action == "check":
        check(top, count)
    else:
        shutil.rmtree(top)


main()
