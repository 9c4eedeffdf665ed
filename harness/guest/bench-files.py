# SPDX-License-Identifier: GPL-2.0-only
"""Creates or removes files, one after the other, and prints how many nanoseconds all of them took.

    bench-files.py create|remove DIRECTORY COUNT

Creating a file is an open and a close of an empty one.
"""

import gc
import os
import sys
import time

FLAGS = os.O_CREAT | os.O_EXCL | os.O_WRONLY


def main() -> None:
    """Does what the command line says; nothing but system calls is within the time."""
    action, directory, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    os.chdir(directory)
    names = [f"file-{number}" for number in range(count)]
    gc.disable()
    began = time.monotonic_ns()
    if action == "create":
        for name in names:
            os.close(os.open(name, FLAGS, 0o644))
    else:
        for name in names:
            os.unlink(name)
    print(time.monotonic_ns() - began)


main()
