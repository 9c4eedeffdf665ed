# SPDX-License-Identifier: GPL-2.0-only
"""What memory a connection takes at a client and at a server, by what the kernel has left."""

import re
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.machine import NAMES
from lab.errors import LabError
from lab.guest import Guest, Process
from lab.kernel import Kernel
from lab.nfs import OURS, STOCK, Mount
from lab.pair import Pair

# The NFS client makes so many connections for a mount, at most. One is there in both measurements.
MOST = 16
FILE = "/mnt/memory"
FILE_SIZE = 64
# Outstanding together: more than the connections have credits for.
JOBS, DEPTH = 4, 512
LOAD_SECONDS = 20
# Longer than what a connection does not need is kept, and shorter than idle connections are closed after.
IDLE_SECONDS = 60
STAGES = ("just made", "busy", "idle after load")


@dataclass(frozen=True)
class Figure:
    """Bytes for each connection."""

    transport: str
    end: str
    stage: str
    rounds: list[int]

    @property
    def median(self) -> float:
        """That of the rounds."""
        return statistics.median(self.rounds)


def used(guest: Guest) -> int:
    """Bytes of memory that are in use, without what the kernel could free at once."""
    guest.run("sync; echo 3 >/proc/sys/vm/drop_caches; for cache in /sys/kernel/slab/*/shrink; do echo 1 >$cache; done")
    numbers = {line.split(":")[0]: int(line.split()[1]) for line in guest.read("/proc/meminfo").splitlines()}
    # The processors' lists of free pages count as used there.
    listed = sum(map(int, re.findall(r"^ +count: +(\d+)$", guest.read("/proc/zoneinfo"), re.MULTILINE)))
    return 1024 * (numbers["MemTotal"] - numbers["MemFree"]) - listed * guest.page_size


@contextmanager
def connections(pair: Pair, count: int) -> Iterator[Mount]:
    """A mount with so many connections, each of which has carried some RPCs."""
    mount = pair.mount("3", options=f"nconnect={count}")
    pair.client.run(f"dd if={FILE} of=/dev/null bs=4096 count={8 * MOST} iflag=direct")
    try:
        yield mount
    finally:
        mount.unmount()


def load(client: Guest) -> Process:
    """Reads and writes with as many RPCs outstanding as the connections carry."""
    return client.spawn(f"fio --name=load --filename={FILE} --size={FILE_SIZE}M --rw=randrw --bs=4k --direct=1 "
                        f"--ioengine=libaio --numjobs={JOBS} --iodepth={DEPTH} --time_based --runtime={LOAD_SECONDS}")


def measure(kernel: Kernel, logs: Path, rounds: int, say: Callable[[str], None]) -> list[Figure]:
    """With the in-tree module at both ends, and with ours."""
    figures = []
    with Pair(kernel, kernel, logs, STOCK, STOCK) as pair:
        pair.server.run(f"head -c {FILE_SIZE}M /dev/zero >/srv/nfs/tmpfs/{Path(FILE).name}")
        ends = {"client": pair.client, "server": pair.server}
        for transport in (STOCK, OURS):
            pair.use(transport, transport)
            taken: dict[tuple[str, str], list[int]] = {(end, stage): [] for stage in STAGES for end in ends}
            for number in range(rounds):
                before = _stages(pair, ends, 1)
                after = _stages(pair, ends, MOST)
                for where, bytes_used in after.items():
                    taken[where].append((bytes_used - before[where]) // (MOST - 1))
                say(f"round {number + 1}: {NAMES[transport]}")
            figures += [Figure(transport, end, stage, bytes_each) for (end, stage), bytes_each in taken.items()]
    return figures


def _stages(pair: Pair, ends: dict[str, Guest], count: int) -> dict[tuple[str, str], int]:
    def now(stage: str) -> dict[tuple[str, str], int]:
        return {(end, stage): used(guest) for end, guest in ends.items()}

    made, busy, idle = STAGES
    with connections(pair, count):
        taken = now(made)
        loading = load(pair.client)
        time.sleep(LOAD_SECONDS / 2)
        taken |= now(busy)
        ended = loading.wait(120 + 10 * LOAD_SECONDS)
        if ended.status != 0:
            raise LabError(f"the load failed:\n{ended.stdout}")
        # What is measured is what comes back by itself with time.
        time.sleep(IDLE_SECONDS)
        return taken | now(idle)


def table(figures: list[Figure]) -> str:
    """One line for each end and stage."""
    by_place = {(figure.transport, figure.end, figure.stage): figure.median for figure in figures}
    lines = [f"{'a connection':<26} {'in-tree':>10} {'ours':>10} {'ratio':>7}"]
    for end in ("client", "server"):
        for stage in STAGES:
            in_tree, ours = (by_place[transport, end, stage] for transport in (STOCK, OURS))
            lines.append(f"{end + ', ' + stage:<26} {in_tree / 1024:>6,.0f} KiB {ours / 1024:>6,.0f} KiB "
                         f"{ours / in_tree:>7.2f}")
    return "\n".join(lines)
