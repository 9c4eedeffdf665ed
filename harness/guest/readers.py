# SPDX-License-Identifier: GPL-2.0-only
"""Readers of one file that never stop, and what becomes of them when the server's storage stands still.

    readers.py FILE READERS

Each reads 4 KiB at a time, somewhere in the file and past all caches. All begin at once, because a thread is slow to
start beside those that read. Prints "all read" when each has read something.

SIGUSR1 says that the storage stands still. Before it, readers that wait do so for a slow machine. Behind it, prints
"all wait" when none has read for two seconds, and "all go on" when each has again: none is forgotten for the others.
"""

import mmap
import os
import random
import signal
import sys
import threading
import time

SIZE = 4096
SILENCE = 2
LOOKS_PER_SECOND = 10


def read(path: str, last: list[float], number: int, start: threading.Barrier) -> None:
    """One reader: says when it has read last."""
    buffer = mmap.mmap(-1, SIZE)
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    pages = os.fstat(file).st_size // SIZE
    start.wait()
    while True:
        if os.preadv(file, [buffer], random.randrange(pages) * SIZE) != SIZE:
            print(f"reader {number}: less than {SIZE} bytes", flush=True)
            os._exit(1)
        last[number] = time.monotonic()


def wait_until(holds) -> None:
    """Waits for what the readers do, which can only be looked at."""
    while not holds():
        time.sleep(1 / LOOKS_PER_SECOND)


def main() -> None:
    """Does it until it is killed."""
    path, count = sys.argv[1], int(sys.argv[2])
    # Also in the threads that are started from here on.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    last = [0.0] * count
    start = threading.Barrier(count)
    for number in range(count):
        threading.Thread(target=read, args=(path, last, number, start), daemon=True).start()
    wait_until(lambda: all(last))
    print("all read", flush=True)
    while True:
        signal.sigwait({signal.SIGUSR1})
        wait_until(lambda: max(last) < time.monotonic() - SILENCE)
        print("all wait", flush=True)
        silent = time.monotonic()
        wait_until(lambda: min(last) > silent)
        print("all go on", flush=True)


main()
