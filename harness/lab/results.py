# SPDX-License-Identifier: GPL-2.0-only
"""The outcomes of the NFS tests, which are kept from run to run."""

import json
from collections.abc import Iterable
from typing import Any

from lab.paths import CHECKOUT
from lab.system import SYSTEM

RESULTS = CHECKOUT / "build" / "results"

Record = dict[str, Any]


def keep(run: str, record: Record) -> None:
    """Adds a test's outcome to those of a run."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    with (RESULTS / f"{run}.jsonl").open("a", encoding="utf-8") as results:
        results.write(json.dumps(record) + "\n")


def name_of(nodeid: str) -> tuple[str, str]:
    """The test, and where it runs: the cell, and what else tells it from its like.

    Where tests run side by side, "@" and their group follow.
    """
    test, _, where = nodeid.partition("::")[2].partition("@")[0].partition("[")
    return test, where.removesuffix("]")


def latest(full: bool, stock: bool = False, commit: str = "") -> dict[tuple[str, str], Record]:
    """The latest outcome of each test and cell, of runs at full count or also of others, with the
    kernel's own module in the place of ours or without it, and of a commit that begins so. The guests'
    user space was the one that this run has."""
    return {(record["test"], record["where"]): record
            for record in sorted(read(), key=lambda record: record["time"])
            if ("stock" in (record["client"], record.get("server"))) == stock
            and record.get("system", "") == SYSTEM
            and record["commit"].startswith(commit) and (record["full"] or not full)}


def read() -> Iterable[Record]:
    """Every outcome of every run that was kept."""
    return [json.loads(line) for path in RESULTS.glob("*.jsonl")
            for line in path.read_text(encoding="utf-8").splitlines()]
