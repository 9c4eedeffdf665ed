# SPDX-License-Identifier: GPL-2.0-only
"""Does something with files, one after the other, and prints how many nanoseconds all of them took.

    bench-files.py create|remove|attributes|look-up|fill|list DIRECTORY COUNT

Creating a file is an open and a close of an empty one. Attributes are asked for of the server each time, whatever the
client has cached. What is looked up are names that there are not. Filled and listed are directories of 2000 names.
"""

import ctypes
import gc
import os
import sys
import time

FLAGS = os.O_CREAT | os.O_EXCL | os.O_WRONLY
# Of statx(2).
AT_FDCWD, AT_STATX_FORCE_SYNC, STATX_BASIC_STATS = -100, 0x2000, 0x7FF
STATX_SIZE = 256
# In a directory that is filled and listed.
ENTRIES = 2000


def create(names: list[str]) -> None:
    """They must not be there."""
    for name in names:
        os.close(os.open(name, FLAGS, 0o644))


def remove(names: list[str]) -> None:
    """They must be there."""
    for name in names:
        os.unlink(name)


def attributes(names: list[str]) -> None:
    """Those of the directory, as often as there are names."""
    statx = ctypes.CDLL(None, use_errno=True).statx
    result = ctypes.create_string_buffer(STATX_SIZE)
    for _ in names:
        if statx(AT_FDCWD, b".", AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, result) != 0:
            raise OSError(ctypes.get_errno(), "statx")


def look_up(names: list[str]) -> None:
    """Each of them once."""
    for name in names:
        try:
            os.stat(f"missing-{name}")
        except FileNotFoundError:
            continue
        raise FileExistsError(name)


def fill(names: list[str]) -> None:
    """Makes directories with empty files in them."""
    for name in names:
        os.mkdir(name)
        create([f"{name}/entry-{number}" for number in range(ENTRIES)])


def list_all(names: list[str]) -> None:
    """Each directory once, which has what fill() put there."""
    for name in names:
        found = len(os.listdir(name))
        if found != ENTRIES:
            raise ValueError(f"{name} has {found} names")


ACTIONS = {"create": create, "remove": remove, "attributes": attributes, "look-up": look_up, "fill": fill,
           "list": list_all}


def main() -> None:
    """Does what the command line says; little but system calls is within the time."""
    action, directory, count = ACTIONS[sys.argv[1]], sys.argv[2], int(sys.argv[3])
    os.chdir(directory)
    names = [f"file-{number}" for number in range(count)]
    gc.disable()
    began = time.monotonic_ns()
    action(names)
    print(time.monotonic_ns() - began)


main()
