# SPDX-License-Identifier: GPL-2.0-only
"""Which connections our module has ended, and why. Traced in a buffer of its own: the other is for tests."""

import re
from dataclasses import dataclass

from lab.guest import Guest

BUFFER = "/sys/kernel/tracing/instances/lost-connections"
LINE = re.compile(r"\s(\d+\.\d+): rpcordma_disconnect: (.*)")


@dataclass(frozen=True)
class LostConnection:
    """One of them, with its time on the clock of the kernel's log."""

    time: float
    text: str

    def __str__(self) -> str:
        return f"[{self.time:12.6f}] {self.text}"


def watch(guest: Guest) -> None:
    """Traces them from now on. What was traced before is forgotten."""
    guest.run(f"mkdir -p {BUFFER}; echo >{BUFFER}/trace; echo 1 >{BUFFER}/events/rpcordma/rpcordma_disconnect/enable")


def lost_connections(guest: Guest) -> list[LostConnection]:
    """Those since watch(), the oldest first."""
    found = map(LINE.search, guest.read(f"{BUFFER}/trace").splitlines())
    return [LostConnection(float(line[1]), line[2]) for line in found if line]
