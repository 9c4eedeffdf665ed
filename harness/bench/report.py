# SPDX-License-Identifier: GPL-2.0-only
"""What was measured, for people and for programs."""

import json
import math
import subprocess
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from bench.machine import Identity, Machine
from bench.measure import Comparison, Figure, Row, Side
from bench.memory import Figure as MemoryFigure
from bench.profile import Profile, module_of
from bench.verbs import Figure as VerbsFigure
from bench.workloads import Curve
from lab.board import BOARDS
from lab.kernel import Kernel
from lab.pair import OURS
from lab.paths import CHECKOUT

# Each call is for one or for several that lie side by side.
PAGE_ALLOCATION = "get_page_from_freelist"
# Changes when a program that reads the file would have to.
FORMAT = 2


def table(rows: list[Row], sides: tuple[Side, ...], comparisons: list[Comparison]) -> str:
    """One line for each row."""
    names = " ".join(f"{side.name:>14}" for side in sides)
    ratios = " ".join(f"{_numbers(comparison):>6} " for comparison in comparisons)
    width = max(22, *(len(row.workload.name) for row in rows))
    lines = [f"{'operation':<{width}} {'NFS':<4} {names} {ratios}  spread"]
    for row in rows:
        figures = " ".join(f"{figure.median / 1000:>14,.1f}" for figure in row.figures)
        ratios = " ".join(f"{row.ratio(comparison):>6.3f}{'!' if row.is_above(comparison) else ' '}"
                          for comparison in comparisons)
        spreads = " ".join(f"{100 * figure.spread:.1f} %" for figure in row.figures)
        lines.append(f"{row.workload.name:<{width}} {row.version:<4} {figures} {ratios}  {spreads}")
    return "\n".join(lines)


def _numbers(comparison: Comparison) -> str:
    return f"{comparison.side + 1}/{comparison.to + 1}"


def functions(row: Row, sides: tuple[Side, ...], comparison: Comparison, count: int) -> str:
    """Where the instructions of a row are: module by module, and in the functions that differ most."""
    pair = (comparison.to, comparison.side)
    sides = tuple(sides[index] for index in pair)
    profiles = [row.figures[index].profile or Profile() for index in pair]
    operations = row.counted
    one, other = ({name: number / operations for name, number in profile.instructions.items()} for profile in profiles)

    def line(name: str, numbers: list[float], calls: str = "") -> str:
        return f"{numbers[0]:>9,.0f} {numbers[1]:>9,.0f} {numbers[1] - numbers[0]:>+8,.0f} {calls:>14}  {name}"

    def calls_of(name: str) -> str:
        return " ".join(f"{profile.calls[name] / operations:.2f}" for profile in profiles)

    lines = [f"{row.name}: instructions per operation, {sides[0].name} and {sides[1].name}, difference, calls of both"]
    modules = [by_module(profile.instructions, operations) for profile in profiles]
    lines += [line(module, [side[module] for side in modules]) for module in largest_first(modules)]
    busy = [profile.busy / operations for profile in profiles]
    lines += [line("(all, without idle time)", busy, f"{busy[1] / busy[0]:.4f}" if busy[0] else "")]
    lines += ["", "locks taken for each operation, and locked instructions: of both"]
    locks, locked = ([by_module(counter, operations) for counter in counters] for counters in
                     ([profile.locks for profile in profiles], [profile.locked for profile in profiles]))
    lines += [f"{locks[0][module]:>9.2f} {locks[1][module]:>9.2f} {locked[0][module]:>9.2f} {locked[1][module]:>9.2f}"
              f"  {module}" for module in largest_first(locked)]
    lines += ["", f"pages allocated at once, times: {calls_of(PAGE_ALLOCATION)}", ""]
    differing = sorted(set(one) | set(other), key=lambda name: -abs(one.get(name, 0) - other.get(name, 0)))
    lines += [line(name, [one.get(name, 0), other.get(name, 0)], calls_of(name)) for name in differing[:count]]
    return "\n".join(lines)


def by_module(counter: Counter[str], operations: int) -> Counter[str]:
    """What functions have counted, for each operation."""
    sums: Counter[str] = Counter()
    for name, number in counter.items():
        sums[module_of(name)] += number / operations
    return sums


def largest_first(sides: list[Counter[str]]) -> list[str]:
    """The modules that any of the sides has something of."""
    return sorted(set().union(*sides), key=lambda name: -max(side[name] for side in sides))


def above(rows: list[Row], sides: tuple[Side, ...], comparisons: list[Comparison]) -> list[str]:
    """A sentence for each ratio above its limit."""
    return [f"{row.name}: {sides[comparison.side].name} to {sides[comparison.to].name}: "
            f"{row.ratio(comparison):.3f} is above {row.limit(comparison):.3f}"
            for row in rows for comparison in comparisons if row.is_above(comparison)]


def too_steep(rows: list[Row], sides: tuple[Side, ...], curve: Curve) -> list[str]:
    """A sentence for each version with which our module's last point of the curve is too far above its first."""
    failures = []
    for version in dict.fromkeys(row.version for row in rows):
        measured = [row for row in rows if row.version == version]
        first, last = measured[0], measured[-1]
        for side, before, after in zip(sides, first.figures, last.figures):
            ratio = after.median / before.median
            if side.transport == OURS and ratio > curve.growth:
                failures.append(f"{last.name}: {side.name}: {ratio:.3f} of {first.name} is above {curve.growth:.3f}")
    return failures


def document(rows: list[Row], sides: tuple[Side, ...], comparisons: list[Comparison],
             identities: dict[str, Identity], machine: Machine, settings: dict[str, int], curve: str | None) -> dict:
    """Everything, for the JSON file; Documentation/benchmark.rst says what each part is."""
    qemu = BOARDS[machine.kernel.architecture].qemu
    return {
        "format": FORMAT,
        "commit": _commit(),
        "kernel": machine.kernel.release,
        "qemu": {"version": _output(qemu, "--version").splitlines()[0], "options": machine.counting},
        "fio": _output("fio", "--version"),
        "sysctls": settings,
        "curve": curve,
        "sides": [{"name": side.name, "transport": side.transport, "protocol": side.protocol,
                   **asdict(identities[side.name])} for side in sides],
        "rows": [{"workload": row.workload.name, "nfs": row.version, "operations": row.workload.operations,
                  "ratios": [{"side": sides[comparison.side].name, "to": sides[comparison.to].name,
                              "ratio": row.ratio(comparison), "limit": _finite(row.limit(comparison)),
                              "above_limit": row.is_above(comparison)} for comparison in comparisons],
                  "sides": [_figure(figure, row.counted) for figure in row.figures]} for row in rows],
    }


def memory_document(figures: list[MemoryFigure], kernel: Kernel) -> dict:
    """The same for what connections take: bytes each."""
    return {"format": FORMAT, "commit": _commit(), "kernel": kernel.release,
            "memory": [{**asdict(figure), "bytes": figure.median} for figure in figures]}


def verbs_document(figures: list[VerbsFigure], kernel: Kernel) -> dict:
    """The same for what there is below RPC."""
    return {"format": FORMAT, "commit": _commit(), "kernel": kernel.release,
            "verbs": [asdict(figure) for figure in figures]}


def _figure(figure: Figure, operations: int) -> dict:
    profile = figure.profile or Profile()
    counted = {"instructions": profile.instructions, "locks": profile.locks, "locked": profile.locked}
    modules = {name: by_module(counter, operations) for name, counter in counted.items()}
    return {
        "modules": modules if figure.profile else None,
        "instructions_per_operation": figure.median,
        "spread": figure.spread,
        "rounds": [{"instructions_per_operation": instructions, "nanoseconds": sample.nanoseconds, "rpcs": rpcs,
                    "transport": transport, "fio": sample.fio}
                   for instructions, sample, rpcs, transport
                   in zip(figure.instructions, figure.samples, figure.rpcs, figure.transport)],
    }


def _finite(number: float) -> float | None:
    """JSON has no other."""
    return number if math.isfinite(number) else None


def write(path: Path, contents: dict) -> None:
    """Writes the JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(contents, indent=1) + "\n", encoding="utf-8")


def _commit() -> str:
    return _output("git", "-C", str(CHECKOUT), "describe", "--always", "--dirty", "--abbrev=40")


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
