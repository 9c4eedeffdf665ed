# SPDX-License-Identifier: GPL-2.0-only
"""Tables and numbers for people."""

import time
from typing import Any, Sequence


def table(titles: Sequence[str] | None, rows: Sequence[Sequence[Any]], right: frozenset[int] = frozenset()) -> str:
    """Columns that are as wide as they have to be. Those in `right` end at their right."""
    lines = [[str(cell) for cell in row] for row in ([titles] if titles else []) + list(rows)]
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join("  ".join(cell.rjust(width) if number in right else cell.ljust(width)
                               for number, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in lines)


def duration(nanoseconds: int) -> str:
    """With three digits, as far as there are any."""
    for unit, size in (("s", 10 ** 9), ("ms", 10 ** 6), ("us", 10 ** 3)):
        count = nanoseconds / size
        # What would be rounded to 1000 of a unit is 1 of the next one.
        if count >= 0.9995:
            return f"{count:.3g}{unit}" if count < 999.5 else f"{count:.0f}{unit}"
    return f"{nanoseconds}ns"


def age(seconds: int) -> str:
    """Its two largest units."""
    parts = [(seconds // 86400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "m"), (seconds % 60, "s")]
    while len(parts) > 1 and not parts[0][0]:
        parts.pop(0)
    return "".join(f"{number}{unit}" for number, unit in parts[:2])


def moment(seconds: int) -> str:
    """A time of the clock, here."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


def pairs(record: Sequence[tuple[str, Any]], indent: str = "") -> str:
    """A line for each name and value."""
    width = max((len(name) for name, _ in record), default=0)
    return "\n".join(f"{indent}{name:<{width}}  {value}" for name, value in record)
