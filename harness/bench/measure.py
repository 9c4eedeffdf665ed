# SPDX-License-Identifier: GPL-2.0-only
"""One module after the other, every row, and what must be so for the figures to mean anything."""

import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench.machine import TCP, Identity, Machine
from bench.profile import Profile
from bench.workloads import SCRATCH, Lists, Sample, Unfit, Workload
from lab.mountstats import MountStats
from lab.pair import Mount

ROW_SECONDS = 600
# mountstats, as the timed command begins and as it has ended. The guest's clock runs ahead while it waits for the
# host, so the connection may have been closed as idle: the first RPC, before the first of the two, makes it again.
AROUND = ("stat -f {mounts} >/dev/null && cat /proc/self/mountstats >{scratch}/before && "
          "{{ {timed}; }} >{scratch}/output && cat /proc/self/mountstats >{scratch}/after")


@dataclass(frozen=True)
class Side:
    """One of those that are compared."""

    name: str
    # As in harness/guest/transport.
    transport: str
    # The module, where it is not the one that belongs to the transport.
    file: Path | None = None
    # The highest version of RPC-over-RDMA, for a module that has the choice.
    protocol: int | None = None

    @property
    def netid(self) -> str:
        """What the server is told to listen on, and the mount to take."""
        return "tcp" if self.transport == TCP else "rdma"


@dataclass(frozen=True)
class Comparison:
    """A column of ratios: one side to another, each by its place among the sides."""

    side: int
    to: int
    limit: float
    # The same for rows whose operations move much data, which differ from mount to mount.
    limit_of_large: float


@dataclass
class Figure:
    """One side's samples of a row, one of each round."""

    samples: list[Sample] = field(default_factory=list)
    # For each round: how many RPCs of each procedure there were, and how the counters of "xprt: rdma" changed.
    rpcs: list[dict[str, int]] = field(default_factory=list)
    transport: list[dict[str, int]] = field(default_factory=list)
    # The last round's, where there is a profiler.
    profile: Profile | None = None

    @property
    def instructions(self) -> list[float]:
        """Guest instructions per operation, of each round."""
        return [sample.nanoseconds / sample.operations for sample in self.samples]

    @property
    def median(self) -> float:
        """The median of the rounds: one that fell into another rhythm does not count, where there are three."""
        return median(self.instructions)

    @property
    def spread(self) -> float:
        """How far the rounds are from each other, as a share of the median."""
        return (max(self.instructions) - min(self.instructions)) / self.median


@dataclass
class Row:
    """A line of the table."""

    workload: Workload
    version: str
    # One for each side.
    figures: tuple[Figure, ...]

    @property
    def name(self) -> str:
        """What --only looks at, and what a complaint names."""
        return f"{self.workload.name}, NFS {self.version}"

    @property
    def counted(self) -> int:
        """How many operations are in the profiles of the figures."""
        return self.workload.operations - self.workload.few

    def ratio(self, comparison: Comparison) -> float:
        """The one side's instructions to the other's."""
        return self.figures[comparison.side].median / self.figures[comparison.to].median

    def limit(self, comparison: Comparison) -> float:
        """The highest ratio that passes."""
        return comparison.limit_of_large if self.workload.is_large else comparison.limit

    def is_above(self, comparison: Comparison) -> bool:
        """Whether the ratio is too high."""
        return self.ratio(comparison) > self.limit(comparison)


def rows_of(workloads: tuple[Workload, ...], versions: list[str], only: str, sides: int) -> list[Row]:
    """The rows that are asked for, without figures yet."""
    rows = [Row(workload, version, tuple(Figure() for _ in range(sides)))
            for version in versions for workload in workloads]
    return [row for row in rows if re.search(only, row.name)]


class Benchmark:
    """Fills the rows."""

    def __init__(self, machine: Machine, sides: tuple[Side, ...], settings: dict[str, int],
                 say: Callable[[str], None]):
        self.machine = machine
        self.sides = sides
        self.settings = settings
        self.identities: dict[str, Identity] = {}
        self.say = say

    def round(self, number: int, rows: list[Row]) -> None:
        """Each version and side once; the last side goes first every other time."""
        order = list(range(len(self.sides)))
        if number % 2 == 1:
            order.reverse()
        for version, group in alike(rows).items():
            for index in order:
                began = time.monotonic()
                self._run(self.sides[index], group, index)
                self.say(f"round {number + 1}: {version}, {self.sides[index].name}: "
                         f"{time.monotonic() - began:.0f} s")

    def _run(self, side: Side, rows: list[Row], index: int) -> None:
        """All rows that one mount is for, with the module loaded and the export made for them."""
        guest = self.machine.guest
        version, connections = rows[0].version, rows[0].workload.connections
        with self.machine.transport(side.transport, self.settings, side.file, side.protocol) as identity:
            self.identities[side.name] = identity
            with self.machine.export(side.netid, [row.workload.prepare for row in rows]):
                with self.machine.mounted(version, side.netid, connections, side.transport) as mounts:
                    for row in rows:
                        self._measure(row, row.figures[index], mounts)
                for row in rows:
                    guest.run(row.workload.verify_unmounted, ROW_SECONDS)
        complaints = guest.complaints()
        if complaints:
            raise Unfit(f"{identity.module}: the kernel complained:\n" + "\n".join(complaints))

    def _measure(self, row: Row, figure: Figure, mounts: list[Mount]) -> None:
        """One row: warm up and verify, take the time, verify again."""
        guest = self.machine.guest
        workload = row.workload
        guest.run(workload.warm_up, ROW_SECONDS)
        short, timed = (AROUND.format(mounts=" ".join(mount.path for mount in mounts), scratch=SCRATCH, timed=command)
                        for command in (workload.short, workload.timed))
        if self.machine.profiler:
            with self.machine.profiler.counting(guest) as around:
                guest.run(short, ROW_SECONDS)
            guest.run(workload.rest, ROW_SECONDS)
            with self.machine.profiler.counting(guest) as figure.profile:
                guest.run(timed, ROW_SECONDS)
            figure.profile.subtract(around)
        else:
            guest.run(workload.rest, ROW_SECONDS)
            guest.run(timed, ROW_SECONDS)
        guest.run(workload.verify, ROW_SECONDS)
        sample = workload.sample(guest.read(f"{SCRATCH}/output"))
        texts = [guest.read(f"{SCRATCH}/{name}") for name in ("before", "after")]
        rpcs: Counter[str] = Counter()
        counters: Counter[str] = Counter()
        retransmissions = 0
        for mount in mounts:
            before, after = (MountStats.parse(text, mount.path) for text in texts)
            for total, change in zip((rpcs, counters), changes(before, after)):
                total.update(change)
            retransmissions += after.retransmissions() - before.retransmissions()
        self._require(row, rpcs, counters, retransmissions)
        figure.samples.append(sample)
        figure.rpcs.append(rpcs)
        figure.transport.append(counters)

    @staticmethod
    def _require(row: Row, rpcs: dict[str, int], counters: dict[str, int], retransmissions: int) -> None:
        """Every operation was one RPC over one RDMA connection that lasted, and nothing went wrong on the way."""
        operations = row.workload.operations
        procedures = row.workload.procedures(row.version)
        made = sum(rpcs.get(procedure, 0) for procedure in procedures)
        if procedures and (made < operations or (made > operations and not isinstance(row.workload, Lists))):
            raise Unfit(f"{row.name}: there were {operations} operations, and RPCs: {rpcs}")
        # There are columns for RDMA alone.
        if procedures and counters and min(counters["sends"], counters["receives"]) < operations:
            raise Unfit(f"{row.name}: not all of {operations} operations went over RDMA: {counters}")
        wrong = {name: counters[name] for name in ("connect_count", "bad_xids", "bad_replies")
                 if counters.get(name)}
        if wrong or retransmissions:
            raise Unfit(f"{row.name}: {wrong}, {retransmissions} retransmissions")


def alike(rows: list[Row]) -> dict[str, list[Row]]:
    """The rows that one mount is for, by what people are told of it."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        count = row.workload.connections
        groups.setdefault(f"NFS {row.version}" + (f", {count} connections" if count > 1 else ""), []).append(row)
    return groups


def changes(before: MountStats, after: MountStats) -> tuple[dict[str, int], dict[str, int]]:
    """How many RPCs of each procedure there were between the two, and what the transport counted."""
    rpcs = {name: numbers[0] - before.operations.get(name, [0])[0] for name, numbers in after.operations.items()}
    columns = after.transports[0] if after.transports else {}
    counters = {name: after.total(name) - before.total(name) for name in columns}
    return {name: count for name, count in rpcs.items() if count}, counters
