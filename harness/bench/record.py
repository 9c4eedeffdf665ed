# SPDX-License-Identifier: GPL-2.0-only
"""Figures that are kept, and whether those of a run are worse."""

import json
from dataclasses import dataclass
from pathlib import Path

from bench.machine import OUR_MODULE
from bench.measure import Comparison, Row
from bench.profile import Profile, module_of

FORMAT = 1
# How much higher than the recorded ratio one may be. Single runs of small rows differ by as much, so that one which is
# above is not believed: see bench.cli.AGAIN.
TOLERANCE = 1.01
# Functions whose instructions for an operation have grown by less are not named.
WORTH_NAMING = 5.0


@dataclass(frozen=True)
class Recorded:
    """A row as it was: our ratio to the in-tree module, and our module's functions."""

    name: str
    ratio: float
    # Instructions for each operation.
    functions: dict[str, float]

    @classmethod
    def of(cls, row: Row, comparison: Comparison) -> "Recorded":
        """That row as it is now."""
        profile = row.figures[comparison.side].profile or Profile()
        functions = {name: round(instructions / row.counted, 1)
                     for name, instructions in profile.instructions.items() if module_of(name) == OUR_MODULE}
        return cls(row.name, round(row.ratio(comparison), 4), dict(sorted(functions.items())))


def write(path: Path, kernel: str, rows: list[Recorded]) -> None:
    """Keeps the rows."""
    contents = {"licence": "SPDX-License-Identifier: GPL-2.0-only", "format": FORMAT, "kernel": kernel,
                "rows": [vars(row) for row in rows]}
    path.write_text(json.dumps(contents, indent=1) + "\n", encoding="utf-8")


def read(path: Path) -> list[Recorded]:
    """The rows that were kept. Raises ValueError where the file is none of these."""
    contents = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(contents, dict) or contents.get("format") != FORMAT:
        raise ValueError(f"{path} is no record of format {FORMAT}: make it again with scripts/bench --record")
    return [Recorded(**row) for row in contents["rows"]]


def worse(before: list[Recorded], now: list[Recorded]) -> list[str]:
    """A sentence for each row that costs more than it did, with the functions of our module that grew."""
    known = {row.name: row for row in before}
    lines = []
    for row in now:
        old = known.get(row.name)
        if old is None:
            lines.append(f"{row.name}: is not in the record: make it again with scripts/bench --record")
        elif row.ratio > old.ratio * TOLERANCE:
            lines.append(f"{row.name}: {row.ratio:.3f} of the in-tree module's instructions, {old.ratio:.3f} before")
            lines += grown(old.functions, row.functions)
    return lines


def grown(before: dict[str, float], now: dict[str, float]) -> list[str]:
    """The functions that execute more instructions, the worst first."""
    growth = {name: instructions - before.get(name, 0.0) for name, instructions in now.items()}
    worst = sorted((name for name in growth if growth[name] >= WORTH_NAMING), key=lambda name: -growth[name])
    return [f"  {growth[name]:+7.0f}  {name}" for name in worst]
