# SPDX-License-Identifier: GPL-2.0-only
"""Opens of files that a delegation is about.

    delegation.py hold FILE r|rw [TEXT]      opens it, writes the text, says "open", and keeps it so
    delegation.py conflict FILE r|w [TEXT]   opens it, writes the text, and says how many seconds
                                             opening it took
    delegation.py recall FILE                has a delegation recalled, and does not wait for that
"""

import os
import signal
import sys
import time

FLAGS = {"r": os.O_RDONLY, "w": os.O_WRONLY, "rw": os.O_RDWR | os.O_CREAT}


def open_file(path: str, access: str, *text: str) -> float:
    """Opens it, and writes the text if there is one; the seconds that opening took."""
    started = time.monotonic()
    file = os.open(path, FLAGS[access])
    took = time.monotonic() - started
    for words in text:
        os.write(file, words.encode())
    return took


def main() -> None:
    """Does what the command line says."""
    role, path, *words = sys.argv[1:]
    if role == "recall":
        try:
            os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            sys.exit("nobody had a delegation")
        except BlockingIOError:
            return
    took = open_file(path, *words)
    if role == "conflict":
        print(f"{took:.3f}")
    else:
        print("open", flush=True)
        signal.pause()


main()
