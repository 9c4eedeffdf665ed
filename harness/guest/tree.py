# SPDX-License-Identifier: GPL-2.0-only
"""A tree of small files: hundreds in each directory, every one with other contents.

    tree.py write|check|remove DIRECTORY COUNT

Several processes do it, each directory by directory.
"""

import multiprocessing
import shutil
import sys
from pathlib import Path

FILES_PER_DIRECTORY = 250
LONGEST = 6000
PROCESSES = 4


def contents(number: int) -> bytes:
    """What stands in a file; the first is empty, others are up to a few thousand bytes long."""
    length = number * 37 % LONGEST
    return (b"file %d " % number * (length // 6 + 1))[:length]


def files_of(directory: Path, count: int) -> dict[Path, int]:
    """The files of a directory, and the number of each."""
    first = int(directory.name.removeprefix("d")) * FILES_PER_DIRECTORY
    last = min(first + FILES_PER_DIRECTORY, count)
    return {directory / f"file-{number}": number for number in range(first, last)}


def write(directory: Path, count: int) -> None:
    """Makes a directory and all that is in it."""
    directory.mkdir()
    for path, number in files_of(directory, count).items():
        path.write_bytes(contents(number))


def check(directory: Path, count: int) -> None:
    """Lists and reads a directory."""
    expected = files_of(directory, count)
    compare(directory, expected.keys())
    for path, number in expected.items():
        if path.read_bytes() != contents(number):
            raise ValueError(f"{path} has other contents than it was given")


def compare(directory: Path, expected) -> None:
    """Lists a directory, which must have these names and no other."""
    different = set(directory.iterdir()) ^ set(expected)
    if different:
        raise ValueError(f"{directory} should not differ in {sorted(different)[:10]}")


def remove(directory: Path, _count: int) -> None:
    """Removes a directory and all that is in it."""
    shutil.rmtree(directory)


def main() -> None:
    """Does what the command line says."""
    action, top, count = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    directories = [top / f"d{number}" for number in range(-(-count // FILES_PER_DIRECTORY))]
    if action == "write":
        top.mkdir()
    if action == "check":
        compare(top, directories)
    with multiprocessing.Pool(PROCESSES) as pool:
        pool.starmap({"write": write, "check": check, "remove": remove}[action],
                     [(directory, count) for directory in directories], chunksize=1)
    if action == "remove":
        top.rmdir()


main()
