# SPDX-License-Identifier: GPL-2.0-only
"""What was measured, for people and for programs."""

import json
import subprocess
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from bench.machine import Identity, instruction_counting
from bench.measure import Comparison, Figure, Row, Side
from bench.memory import Figure as MemoryFigure
from bench.profile import Profile, module_of
from lab.board import BOARDS
from lab.kernel import Kernel
from lab.paths import CHECKOUT

# Changes when a program that reads the file would have to.
FORMAT = 2


def table(rows: list[Row], sides: tuple[Side, ...], comparisons: list[Comparison]) -> str:
    """One line for each row."""
    names = " ".join(f"{side.name:>14}" for side in sides)
    ratios = " ".join(f"{_numbers(comparison):>6} " for comparison in comparisons)
    lines = [f"{'operation':<22} {'NFS':<4} {names} {ratios}  spread"]
    for row in rows:
        figures = " ".join(f"{figure.median / 1000:>14,.1f}" for figure in row.figures)
        ratios = " ".join(f"{row.ratio(comparison):>6.3f}{'!' if row.is_above(comparison) else ' '}"
                          for comparison in comparisons)
        spreads = " ".join(f"{100 * figure.spread:.1f} %" for figure in row.figures)
        lines.append(f"{row.workload.name:<22} {row.version:<4} {figures} {ratios}  {spreads}")
    return "\n".join(lines)


def _numbers(comparison: Comparison) -> str:
    return f"{comparison.side + 1}/{comparison.to + 1}"


def functions(row: Row, sides: tuple[Side, ...], comparison: Comparison, count: int) -> str:
    """Where the instructions of a row are: module by module, and in the functions that differ most."""
    pair = (comparison.to, comparison.side)
    sides = tuple(sides[index] for index in pair)
    profiles = [row.figures[index].profile or Profile() for index in pair]
    operations = row.workload.operations
    one, other = ({name: number / operations for name, number in profile.instructions.items()} for profile in profiles)
    by_module = [Counter() for _ in profiles]
    for modules, instructions in zip(by_module, (one, other)):
        for name, number in instructions.items():
            modules[module_of(name)] += number

    def line(name: str, numbers: list[float], calls: str = "") -> str:
        return f"{numbers[0]:>9,.0f} {numbers[1]:>9,.0f} {numbers[1] - numbers[0]:>+8,.0f} {calls:>14}  {name}"

    lines = [f"{row.name}: instructions per operation, {sides[0].name} and {sides[1].name}, difference, calls of both"]
    for module in sorted(set().union(*by_module), key=lambda name: -max(modules[name] for modules in by_module)):
        lines.append(line(module, [modules[module] for modules in by_module]))
    lines.append("")
    differing = sorted(set(one) | set(other), key=lambda name: -abs(one.get(name, 0) - other.get(name, 0)))
    for name in differing[:count]:
        calls = " ".join(f"{profile.calls[name] / operations:.2f}" for profile in profiles)
        lines.append(line(name, [one.get(name, 0), other.get(name, 0)], calls))
    return "\n".join(lines)


def above(rows: list[Row], sides: tuple[Side, ...], comparisons: list[Comparison]) -> list[str]:
    """A sentence for each ratio above its limit."""
    return [f"{row.name}: {sides[comparison.side].name} to {sides[comparison.to].name}: "
            f"{row.ratio(comparison):.3f} is above {row.limit(comparison):.3f}"
            for row in rows for comparison in comparisons if row.is_above(comparison)]


def document(rows: list[Row], sides: tuple[Side, ...], comparisons: list[Comparison],
             identities: dict[str, Identity], kernel: Kernel, settings: dict[str, int]) -> dict:
    """Everything, for the JSON file; Documentation/benchmark.rst says what each part is."""
    board = BOARDS[kernel.architecture]
    return {
        "format": FORMAT,
        "commit": _commit(),
        "kernel": kernel.release,
        "qemu": {"version": _output(board.qemu, "--version").splitlines()[0], "options": instruction_counting(board)},
        "fio": _output("fio", "--version"),
        "sysctls": settings,
        "sides": [{"name": side.name, "transport": side.transport, "protocol": side.protocol,
                   **asdict(identities[side.name])} for side in sides],
        "rows": [{"workload": row.workload.name, "nfs": row.version, "operations": row.workload.operations,
                  "ratios": [{"side": sides[comparison.side].name, "to": sides[comparison.to].name,
                              "ratio": row.ratio(comparison), "limit": row.limit(comparison),
                              "above_limit": row.is_above(comparison)} for comparison in comparisons],
                  "sides": [_figure(figure) for figure in row.figures]} for row in rows],
    }


def memory_document(figures: list[MemoryFigure], kernel: Kernel) -> dict:
    """The same for what connections take: bytes each."""
    return {"format": FORMAT, "commit": _commit(), "kernel": kernel.release,
            "memory": [{**asdict(figure), "bytes": figure.median} for figure in figures]}


def _figure(figure: Figure) -> dict:
    return {
        "instructions_per_operation": figure.median,
        "spread": figure.spread,
        "rounds": [{"instructions_per_operation": instructions, "nanoseconds": sample.nanoseconds, "rpcs": rpcs,
                    "transport": transport, "fio": sample.fio}
                   for instructions, sample, rpcs, transport
                   in zip(figure.instructions, figure.samples, figure.rpcs, figure.transport)],
    }


def write(path: Path, contents: dict) -> None:
    """Writes the JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(contents, indent=1) + "\n", encoding="utf-8")


def _commit() -> str:
    return _output("git", "-C", str(CHECKOUT), "describe", "--always", "--dirty", "--abbrev=40")


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
