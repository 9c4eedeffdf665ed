# SPDX-License-Identifier: GPL-2.0-only
"""What a run came to, and the log of all runs."""

import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lab.paths import CHECKOUT
from ordeal.schedule import STOCK, Cell

# Everything of each run, and a line for each in the repository.
RECORDS = CHECKOUT / "build" / "ordeal"
LOG = CHECKOUT / "Documentation" / "ordeal" / "log.jsonl"
LICENCE = {"licence": "SPDX-License-Identifier: GPL-2.0-only"}
PASSED = "passed"
# How many events of a kind, and hours with Debian's kernels and with test kernels, are wanted on record.
FIGURES = {"client-disconnect": 1000, "server-disconnect": 1000, "server-crashed": 100, "nfsd-restarted": 100,
           "device-removed": 100, "address-removed": 100, "changed-messages": 1_000_000, "changed-replies": 1_000_000}
HOURS = 24
BARS = "▁▂▃▄▅▆▇█"
# What a worker or a kernel says of what it found.
TELLING = re.compile(r"^\s*wrong: |\b(BUG|WARNING|INFO|KASAN|KCSAN): |\berror\b")

Line = dict[str, Any]


@dataclass(frozen=True)
class Happened:
    """A fault that is over."""

    number: int
    kind: str
    what: str
    count: int
    # When it began, in seconds since the client's boot, and how long it was.
    at: float
    seconds: float
    # How long after its end the load had gone on, and the longest time from its begin to then without progress.
    recovery: float
    stall: float
    # Calls a second from the end of the one before to then, whatever happened.
    calls: float


@dataclass
class Record:
    """A run."""

    seed: int
    cell: Cell
    commit: str
    time: str
    minutes: float = 0
    outcome: str = "did not end"
    faults: list[Happened] = field(default_factory=list)
    # The kinds of faults that were asked for; none where it was all that there are.
    kinds: list[str] = field(default_factory=list)
    # How often soft-RoCE itself had died of a fault: see revive_device().
    revived: int = 0
    # What the kernels have reported of mistakes that are none of ours.
    excused: int = 0
    # Connections of the server whose other ends a fault has taken, which nobody told it: left when the load ended.
    orphans: int = 0
    # The longest time without progress while there was no fault.
    quiet_stall: float = 0
    # What the load did: steps of the model, those that were done twice, rounds of fio.
    work: dict[str, int] = field(default_factory=dict)
    # Calls and MiB a second, before the first fault and after the last.
    throughput: list[dict[str, float]] = field(default_factory=list)
    # Memory that is available, in MiB, at each look: when, in the client, in the server.
    memory: list[tuple[float, int, int]] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing was wrong."""
        return self.outcome == PASSED

    def line(self) -> Line:
        """What the log keeps of it."""
        kinds: dict[str, list[Happened]] = {}
        for fault in self.faults:
            kinds.setdefault(fault.kind, []).append(fault)
        return {"time": self.time, "commit": self.commit, "seed": self.seed, **asdict(self.cell), "kinds": self.kinds,
                "minutes": round(self.minutes, 1), "outcome": headline(self.outcome),
                "faults": {name: [len(ones), sum(one.count for one in ones), round(max(one.stall for one in ones), 1),
                                  round(max(one.recovery for one in ones), 1)] for name, ones in sorted(kinds.items())},
                "revived": self.revived, "excused": self.excused, "orphans": self.orphans,
                "quiet_stall": round(self.quiet_stall, 1), **self.work,
                "throughput": self.throughput,
                "calls": [fault.calls for fault in self.faults],
                "memory": [[client, server] for _, client, server in self.memory]}

    def write(self, directory: Path = RECORDS) -> Path:
        """Writes all of it into a file of its own."""
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"{self.time.replace(':', '').replace(' ', '-')}-seed{self.seed}.json"
        path.write_text(json.dumps(LICENCE | asdict(self), indent=1) + "\n", encoding="utf-8")
        return path


def headline(outcome: str) -> str:
    """An outcome in a line: where it is long, with the line that says what was found."""
    first, *more = outcome.splitlines()
    telling = next((line.strip() for line in more if TELLING.search(line)), more[0].strip() if more else "")
    shown = f"{first} ... {telling}" if telling else first
    # Where the checkout was says nothing to others.
    return shown.replace(f"{CHECKOUT}/", "")


def append(record: Record, log: Path = LOG) -> None:
    """Adds a run to the log."""
    log.parent.mkdir(parents=True, exist_ok=True)
    new = not log.exists()
    with log.open("a", encoding="utf-8") as lines:
        for line in ([LICENCE] if new else []) + [record.line()]:
            lines.write(json.dumps(line) + "\n")


def read(log: Path = LOG) -> list[Line]:
    """The runs in the log."""
    if not log.exists():
        return []
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()][1:]


def commit_under_test() -> str:
    """The commit of the checkout, with a + where something other than the log has been changed since."""
    def git(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", *words], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    changed = git("diff", "--quiet", "HEAD", "--", ".", f":!{LOG.parent.relative_to(CHECKOUT)}").returncode != 0
    return (git("rev-parse", "--short", "HEAD").stdout.strip() or "unknown") + ("+" if changed else "")


def summary(lines: Sequence[Line]) -> str:
    """All runs of the log together: hours, outcomes, and each kind of fault."""
    passed = [line for line in lines if line["outcome"] == PASSED]
    stock, test = (sum(line["minutes"] for line in passed if (line.get("flavour", STOCK) == STOCK) == is_stock) / 60
                   for is_stock in (True, False))
    shown = [f"{len(lines)} runs, {len(passed)} passed; hours in those that passed: {stock:.1f} of {HOURS} with "
             f"Debian's kernels, {test:.1f} of {HOURS} with test kernels",
             f"seeds that passed: {' '.join(str(line['seed']) for line in passed) or 'none'}", "",
             f"{'kind of fault':20} {'faults':>7} {'events':>7} {'wanted':>9} {'longest stall':>14}"]
    for name in sorted({name for line in passed for name in line["faults"]}):
        rows = [line["faults"][name] for line in passed if name in line["faults"]]
        shown.append(f"{name:20} {sum(row[0] for row in rows):7} {sum(row[1] for row in rows):7} "
                     f"{FIGURES.get(name, ''):9} {max(row[2] for row in rows):12.1f} s")
    shown += ["", *map(described, lines)]
    return "\n".join(shown)


def described(line: Line) -> str:
    """A run of the log in two lines: where and what, and the memory over time."""
    cell = Cell.logged(line)
    client, server = zip(*line["memory"]) if line["memory"] else ((), ())
    rates = " to ".join(f"{rate['calls']:.0f}" for rate in line["throughput"])
    # The first runs do not have it.
    meanwhile = f", with the faults {plot(line['calls'], 'calls')}" if line.get("calls") else ""
    return (f"{line['time']} {line['commit']} seed {line['seed']}, {line['minutes']} minutes: {line['outcome']}\n"
            f"    {cell}; calls a second {rates or 'not measured'}{meanwhile}\n"
            f"    memory of the client {plot(client, 'MiB')}, of the server {plot(server, 'MiB')}")


def plot(numbers: Sequence[float], unit: str) -> str:
    """Numbers as a line of bars, with the least and the most."""
    if not numbers:
        return "not measured"
    least, most = min(numbers), max(numbers)
    bars = "".join(BARS[int((number - least) * (len(BARS) - 1) / (most - least or 1))] for number in numbers)
    return f"{bars} {least:.0f} to {most:.0f} {unit}"
