# SPDX-License-Identifier: GPL-2.0-only
"""Kills processes whose RPCs wait for replies, every other time while the connection breaks.

    kill.py ROUNDS

Each round: processes read and write below /mnt without a cache; as soon as an RPC is in flight
they are killed, and no more than their death is waited for.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

from disconnect import force_disconnect, in_flight, transport, wait_for

WORKERS = 4
WORK = "while :; do dd if={0} of={1} bs=1M count=4 {2}=direct 2>/dev/null || exit; done"


def start(number: int) -> subprocess.Popen:
    """A process that reads, or one that writes."""
    mine = f"/mnt/killed{number}"
    words = ("/mnt/source", "/dev/null", "iflag") if number % 2 else ("/dev/zero", mine, "oflag")
    return subprocess.Popen(["sh", "-c", WORK.format(*words)], start_new_session=True)


def main() -> None:
    """Does it as often as the command line says."""
    directory = transport()
    address = (directory / "dstaddr").read_text()
    subprocess.run(["dd", "if=/dev/urandom", "of=/mnt/source", "bs=1M", "count=4", "conv=fsync"],
                   check=True, stderr=subprocess.DEVNULL)
    for number in range(1, int(sys.argv[1]) + 1):
        workers = [start(worker) for worker in range(WORKERS)]
        wait_for("RPC in flight", lambda: in_flight(directory))
        if number % 2 == 0:
            force_disconnect(directory, address)
        for worker in workers:
            os.killpg(worker.pid, signal.SIGKILL)
        for worker in workers:
            worker.wait(timeout=120)
            assert worker.returncode == -signal.SIGKILL
        print(f"round {number}", flush=True)
    for file in Path("/mnt").glob("killed*"):
        file.unlink()
    Path("/mnt/source").unlink()


if __name__ == "__main__":
    main()
