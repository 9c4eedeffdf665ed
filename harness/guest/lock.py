# SPDX-License-Identifier: GPL-2.0-only
"""POSIX locks on a file, for tests that look at them from two machines.

    lock.py hold FILE      waits for the lock, says "locked", and keeps it until killed
    lock.py try FILE       says "free" or "busy"
"""

import fcntl
import signal
import sys


def main() -> None:
    """Does what the command line says."""
    with open(sys.argv[2], "r+b") as file:
        if sys.argv[1] == "hold":
            fcntl.lockf(file, fcntl.LOCK_EX)
            print("locked", flush=True)
            signal.pause()
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            print("free")
        except BlockingIOError:
            print("busy")


main()
