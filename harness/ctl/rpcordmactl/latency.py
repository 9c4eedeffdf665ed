# SPDX-License-Identifier: GPL-2.0-only
"""How long Calls have taken to be answered, as text."""

from typing import Any

from .records import Record, limits
from .text import duration, table

PERCENTILES = (50, 90, 99, 99.9)
WIDEST_BAR = 40


def percentile(counts: list[int], percent: float) -> int | None:
    """The end, in nanoseconds, of the interval below whose end so many of all are. None: the last has no end."""
    wanted = sum(counts) * percent / 100
    reached = 0
    for count, limit in zip(counts, limits(len(counts))):
        reached += count
        if reached and reached >= wanted:
            return limit
    return None


def summary(connection: Record) -> Record:
    """What the histogram of a connection comes to. Times are in nanoseconds."""
    counts = connection["latency"]
    replies = sum(counts)
    return {**{name: connection[name] for name in ("id", "remote") if name in connection}, "replies": replies,
            "mean": connection["latency_sum"] // replies if replies else None,
            "percentiles": {str(percent): percentile(counts, percent) for percent in PERCENTILES} if replies else {},
            "intervals": [{"below": limit, "replies": count} for count, limit in zip(counts, limits(len(counts)))]}


def within(limit: int | None, counts: list[int]) -> str:
    """A percentile as text."""
    return f"<{duration(limit)}" if limit else f">{duration(limits(len(counts))[-2] or 0)}"


def one_line(connection: Record) -> str:
    """Mean and percentiles."""
    total = summary(connection)
    if not total["replies"]:
        return "no Reply yet"
    words = [f"replies {total['replies']}", f"mean {duration(total['mean'])}"]
    words += [f"p{percent} {within(limit, connection['latency'])}" for percent, limit in total["percentiles"].items()]
    return "  ".join(words)


def drawn(connection: Record) -> str:
    """The histogram, from its first Reply to its last."""
    counts: list[int] = connection["latency"]
    used = [number for number, count in enumerate(counts) if count]
    if not used:
        return ""
    ends = limits(len(counts))
    rows: list[list[Any]] = []
    for number in range(used[0], used[-1] + 1):
        bar = "#" * round(WIDEST_BAR * counts[number] / max(counts))
        rows.append([f"  {within(ends[number], counts)}", counts[number], bar or ("." if counts[number] else "")])
    return table(None, rows, right=frozenset({0, 1}))
