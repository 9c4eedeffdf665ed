# SPDX-License-Identifier: GPL-2.0-only
"""The load of a run, all of it verified, and when each part of it got on."""

import random
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from lab.errors import LabError, LabTimeout
from lab.guest import Guest, Process
from lab.nfs import script
from workloads import guest_python

STOP = "/run/ordeal.stop"
# A line of a worker's: what it has done, and when, in seconds since its machine's boot.
PROGRESS = re.compile(r"^(?:step|round) \d+ at ([\d.]+)$", re.MULTILINE)
REPLAYED = re.compile(r"^replayed at ([\d.]+)$", re.MULTILINE)
DONE = re.compile(r"^done: (\d+) steps, (\d+) replayed$", re.MULTILINE)
# A worker gets on if it has said so often after a fault that it got on: what it said first may have been done before.
ENOUGH = 2
# What fio does, one of them with the client's cache and one without.
DIRECT = ("--direct=1 --bsrange=4k-128k", "--direct=1 --bsrange=512-1m --bs_unaligned=1",
          "--direct=1 --bs=1m --iodepth=4", "--direct=1 --bs=4k --iodepth=32")
# What is verified while it is still being written would come out of that cache. At the end of a round fio empties it.
BUFFERED = ("--direct=0 --bsrange=4k-256k --fsync_on_close=1 --verify_backlog=0",
            "--direct=0 --bs=4k --fsync=64 --verify_backlog=0",
            "--direct=0 --bs=1m --fsync_on_close=1 --verify_backlog=0")
FIO_SIZE = "2M"
# Long enough for the last round of fio, or for the model's last look at each file.
END_SECONDS = 300
LAST_LINES = 60
# Begin and end, in seconds since the client's boot.
Span = tuple[float, float]


@dataclass
class Worker:
    """A process of the load."""

    name: str
    process: Process
    # How many bytes of its output have been looked at, and the times in them.
    seen: int = 0
    times: list[float] = field(default_factory=list)

    @property
    def is_fine(self) -> bool:
        """Whether it says each fraction of a second that it gets on."""
        return self.name.startswith("model")

    def progress(self) -> list[float]:
        """When it got on."""
        end = self.process.output.rfind("\n") + 1
        self.times += [float(at) for at in PROGRESS.findall(self.process.output, self.seen, end)]
        self.seen = max(self.seen, end)
        return self.times

    def since(self, begin: float) -> list[float]:
        """When it got on from that time on."""
        return [at for at in self.progress() if at > begin]


class Load:
    """All workers of a run."""

    def __init__(self, client: Guest, directory: str, seed: int, nfs: str):
        self.client = client
        self.directory = directory
        draw = random.Random(f"load {seed}")
        client.run(f"rm -f {STOP}")
        options = {"fio-direct": draw.choice(DIRECT), "fio-buffered": draw.choice(BUFFERED)}
        # With NFS 3 nothing is locked. With NFS 4.0 Linux's client takes the rest of a page for zeros that is written
        # to with a lock which it has reclaimed, over TCP too.
        locks = ["locks"] if nfs not in ("3", "4.0") else []
        self.workers = [self._model("model-cached", seed, *locks),
                        self._model("model-direct", seed, "direct"),
                        *(self._fio(name, words) for name, words in options.items())]
        self.held = client.spawn("exec " + guest_python("lock.py", "hold", self._lock_file())) if nfs != "3" else None

    def _model(self, name: str, seed: int, *words: str) -> Worker:
        command = guest_python("model.py", f"{self.directory}/{name}", f"{name} {seed}", STOP, *words)
        return Worker(name, self.client.spawn(f"exec {command}"))

    def _fio(self, name: str, options: str) -> Worker:
        command = script("verified-io", f"{self.directory}/{name}", FIO_SIZE, STOP, *shlex.split(options))
        return Worker(name, self.client.spawn(f"exec {command}"))

    def _lock_file(self) -> str:
        path = f"{self.directory}/lock"
        self.client.run(f"touch {path}")
        return path

    def wait_until_on(self, since: float, timeout: float) -> None:
        """Waits until all workers have got on since that time."""
        try:
            self.client.wait_for(lambda: self.stuck(since) == [] or self.dead() != [], timeout, "the load to go on")
        except LabTimeout as late:
            raise LabTimeout(f"{late}; these do not: {', '.join(self.stuck(since))}") from None
        if self.dead():
            raise LabError("the load has ended: " + "\n".join(f"{worker.name}: {last_lines(worker.process.output)}"
                                                              for worker in self.dead()))

    def stuck(self, since: float) -> list[str]:
        """The workers that have not got on since that time."""
        return [worker.name for worker in self.workers if len(worker.since(since)) < ENOUGH]

    def dead(self) -> list[Worker]:
        """The workers that have ended."""
        return [worker for worker in self.workers if worker.process.status is not None]

    def pace(self, disturbed: Sequence[Span]) -> float:
        """The longest that a worker with rounds has taken to say ENOUGH, outside the spans in which it was disturbed.

        Others are never quiet for long: see stall().
        """
        return ENOUGH * max(longest_quiet_gap(worker.progress(), disturbed)
                            for worker in self.workers if not worker.is_fine)

    def recovery(self, since: float) -> float:
        """How long it took from that time until all of the fine workers had got on."""
        return max(worker.since(since)[ENOUGH - 1] - since for worker in self.workers if worker.is_fine)

    def stall(self, begin: float, end: float) -> float:
        """The longest time between these two in which a fine worker did not get on."""
        return max(longest_gap(worker.progress(), begin, end) for worker in self.workers if worker.is_fine)

    def replayed(self) -> list[float]:
        """When an operation was found to have been carried out before."""
        return [float(at) for worker in self.workers for at in REPLAYED.findall(worker.process.output)]

    def finish(self) -> dict[str, int]:
        """Ends it, and says what was done; all of it has to have been right."""
        self.client.run(f"touch {STOP}")
        for worker in self.workers:
            result = worker.process.wait(END_SECONDS)
            if result.status != 0:
                raise LabError(f"{worker.name} found an error:\n{last_lines(result.stdout)}")
        if self.held:
            self.held.kill()
            self.held.wait(END_SECONDS)
        modelled = [found.groups() for worker in self.workers if (found := DONE.search(worker.process.output))]
        return {"steps": sum(int(steps) for steps, _ in modelled),
                "replayed": sum(int(replayed) for _, replayed in modelled),
                "rounds": sum(len(worker.progress()) for worker in self.workers if not worker.is_fine)}


def longest_gap(times: list[float], begin: float, end: float) -> float:
    """The longest time from one of the times to the next, of those that are in the span at least in part."""
    return max((after - before for before, after in zip(times, times[1:]) if after > begin and before < end),
               default=0.0)


def longest_quiet_gap(times: list[float], disturbed: Sequence[Span]) -> float:
    """The longest time from one of the times to the next, of those that no span reaches into."""
    return max((after - before for before, after in zip(times, times[1:])
                if not any(before < end and after > begin for begin, end in disturbed)), default=0.0)


def last_lines(text: str) -> str:
    """How a text ends: with all that a worker says of what it found."""
    return "\n".join(text.splitlines()[-LAST_LINES:])
