# SPDX-License-Identifier: GPL-2.0-only
"""Breaks the connections to an NFS server while RPCs wait for replies.

    disconnect.py COUNT

Each time: waits for an RPC in flight, writes the server's address to sunrpc's sysfs, which makes
the transport drop its connection, and waits until mountstats counts a new one.
"""

import os
import re
import select
import signal
import sys
import time
from pathlib import Path

PORT = 20049
SECONDS_EACH = 120
# Neither file can be waited for: this is how often they are looked at.
LOOK_EVERY = 0.005
# Long enough to write something, in a guest that has little of its processor.
WRITER_SECONDS = 0.5


def connects() -> int:
    """How many connections were made to RDMA servers."""
    stats = Path("/proc/self/mountstats").read_text()
    return sum(int(count) for count in re.findall(r"\txprt:\trdma \d+ \d+ (\d+) ", stats))


def transport() -> Path:
    """The sysfs directory of the one transport over RDMA to a server, once it is connected."""
    found = wait_for("connection to a server", connected)
    if len(found) != 1:
        sys.exit(f"there should be one transport: {found}")
    return found[0]


def connected() -> list[Path]:
    """The sysfs directories of the transports that are connected to servers over RDMA.

    A machine that is server too has others: what its Calls to clients go by.
    """
    return [directory for directory in
            Path("/sys/kernel/sunrpc/xprt-switches").glob("switch-*/xprt-*-rdma")
            if f"dst_port={PORT}\n" in (directory / "xprt_info").read_text()]


def in_flight(directory: Path) -> bool:
    """Whether an RPC waits for its reply."""
    try:
        waiting = re.search(r"pending_q_len=(\d+)", (directory / "xprt_info").read_text())
    except OSError:
        return False
    # While there is no connection, the file says only that.
    return waiting is not None and int(waiting[1]) > 0


def wait_for(what: str, condition):
    """Waits until a condition holds; returns what it says then."""
    deadline = time.monotonic() + SECONDS_EACH
    while not (said := condition()):
        if time.monotonic() > deadline:
            sys.exit(f"in {SECONDS_EACH} s there was no {what}")
        time.sleep(LOOK_EVERY)
    return said


def force_disconnect(directory: Path, address: str) -> None:
    """Writes the server's address.

    The kernel waits for the transport's lock there, and nobody tells it when a sender has let go
    of it (sunrpc's xprt_clear_locked() wakes no one): so a writer that found it taken is replaced.
    """
    for _ in range(int(SECONDS_EACH / WRITER_SECONDS)):
        if write(directory / "dstaddr", address):
            return
    sys.exit(f"in {SECONDS_EACH} s the transport's lock was never free")


def write(path: Path, text: str) -> bool:
    """Writes the file in a process of its own, which is ended where that takes too long. A shell takes
    longer to start than the write takes, on a kernel with sanitizers.

    The time begins when the process is about to write. One that is ended after it has written would
    be replaced, and the connection broken twice.
    """
    begun, begins = os.pipe()
    writer = os.fork()
    if writer == 0:
        file = os.open(path, os.O_WRONLY)
        os.write(begins, b"x")
        os.write(file, text.encode())
        os._exit(0)
    os.close(begins)
    os.read(begun, 1)
    os.close(begun)
    descriptor = os.pidfd_open(writer)
    ended, _, _ = select.select([descriptor], [], [], WRITER_SECONDS)
    os.close(descriptor)
    if not ended:
        os.kill(writer, signal.SIGKILL)
    _, status = os.waitpid(writer, 0)
    if ended and status != 0:
        sys.exit(f"{path} could not be written")
    return bool(ended)


def main() -> None:
    """Does it as often as the command line says."""
    directory = transport()
    address = (directory / "dstaddr").read_text()
    for number in range(1, int(sys.argv[1]) + 1):
        wait_for("RPC in flight", lambda: in_flight(directory))
        before = connects()
        force_disconnect(directory, address)
        wait_for("new connection", lambda: connects() > before)  # noqa: B023
        print(f"disconnect {number}", flush=True)


if __name__ == "__main__":
    main()
