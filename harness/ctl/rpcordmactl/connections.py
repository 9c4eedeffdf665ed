# SPDX-License-Identifier: GPL-2.0-only
"""Connections and disconnects, as text."""

from typing import Any

from . import latency
from .metrics import COUNTERS, TALLIES
from .records import Record, remote_of
from .text import age, moment, pairs, table

TITLES = ("ID", "ROLE", "STATE", "REMOTE", "LINK", "LQPN", "VERSION", "CREDITS", "THRESHOLDS", "AGE")
RIGHT = frozenset({0})


def row(connection: Record) -> list[Any]:
    """One line of the table. Credits: in use, granted and asked for. Thresholds: of Calls and of Replies."""
    first = [connection["id"], connection["role"], connection["state"], remote_of(connection)]
    if "device" not in connection:
        return first + ["-"] * (len(TITLES) - len(first))
    return [*first, f"{connection['device']}/{connection['port']}", connection["queue_pair"],
            connection["version"] or "-",
            "/".join(str(connection[f"credits_{name}"]) for name in ("in_use", "granted", "asked")),
            f"{connection['call_threshold']}/{connection['reply_threshold']}", age(connection["age"])]


def statistics(connection: Record) -> str:
    """What a connection has counted."""
    words = [f"{name} {connection[name]}" for name in COUNTERS if name in connection]
    lines = ["    " + "  ".join(words[start:start + 6]) for start in range(0, len(words), 6)]
    lines += [f"    {name}: {tally(connection[name])}" for name in TALLIES if name in connection]
    if "latency" in connection:
        lines.append("    " + latency.one_line(connection))
    return "\n".join(lines)


def tally(counts: dict[str, int]) -> str:
    """What has happened how often."""
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def overview(connections: list[Record], with_statistics: bool) -> str:
    """The table of them."""
    lines = table(TITLES, [row(connection) for connection in connections], RIGHT).splitlines()
    if with_statistics:
        lines[1:] = [line for text, connection in zip(lines[1:], connections)
                     for line in (text, statistics(connection))]
    return "\n".join(lines)


def details(connection: Record, disconnects: list[Record]) -> str:
    """All of one."""
    lines = [(name, tally(value) if name in TALLIES else value)
             for name, value in connection.items() if name not in ("latency", "latency_sum", "pad")]
    parts = [pairs(lines)]
    if "latency" in connection:
        parts += [latency.one_line(connection), latency.drawn(connection)]
    if disconnects:
        parts.append(disconnected(disconnects))
    return "\n".join(part for part in parts if part)


def disconnected(disconnects: list[Record]) -> str:
    """The table of disconnects."""
    rows = [[moment(record["time"]), record["connection"], record["role"],
             remote_of(record), age(record["age"]), reason(record)] for record in disconnects]
    return table(("TIME", "ID", "ROLE", "REMOTE", "AGE", "REASON"), rows, frozenset({1}))


def reason(record: Record) -> str:
    """Of a disconnect, or of an event that has one."""
    words = record.get("reason", "")
    return f"{words}: {record['detail']}" if record.get("detail") else words


def event(record: Record) -> str:
    """One line of the monitor."""
    words = [record["happening"], record["role"], str(record["connection"]), str(remote_of(record)), reason(record)]
    return "  ".join(word for word in words if word)
