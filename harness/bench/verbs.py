# SPDX-License-Identifier: GPL-2.0-only
"""What the device takes without RPC, by bare verbs, and a NULL Call from the same program beside it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.machine import NAMES, Machine, sysctls
from bench.workloads import ADDRESS, Unfit
from lab.kernel import Kernel
from lab.pair import OURS, STOCK
from lab.peer import Peer

COUNT = 2000
READ_SIZE = 4096


@dataclass(frozen=True)
class Figure:
    """Guest instructions for one exchange, with the server's module of a transport."""

    transport: str
    what: str
    instructions: float


def measure(kernel: Kernel, logs: Path, say: Callable[[str], None]) -> list[Figure]:
    """One message at a time, from a program to the server in the same machine, and to a thread of its own."""
    machine = Machine(kernel, logs)
    say(f"booting Linux {kernel.release} on an emulated processor that counts its instructions")
    try:
        machine.start()
        figures = []
        for transport in (STOCK, OURS):
            with machine.transport(transport, sysctls(None)), machine.export("rdma", []):
                measured = Peer(machine.guest).json("ping", ADDRESS, "--depth", "1", "--count", str(COUNT),
                                                    "--size", str(READ_SIZE))["measurements"]
            if len(measured) < 4:
                raise Unfit(f"rpcordma-peer measured {[each['what'] for each in measured]} alone")
            figures += [Figure(transport, f"{each['what']}, {each['size']} bytes", 1000 * each["latency_us"]["median"])
                        for each in measured]
            say(NAMES[transport])
        return figures
    finally:
        machine.stop()


def table(figures: list[Figure]) -> str:
    """One line for each kind of exchange."""
    by_kind = {(figure.what, figure.transport): figure.instructions for figure in figures}
    lines = [f"{'one at a time':<40} {'in-tree':>9} {'ours':>9}"]
    lines += [f"{what:<40} {by_kind[what, STOCK] / 1000:>9.1f} {by_kind[what, OURS] / 1000:>9.1f}"
              for what in dict.fromkeys(figure.what for figure in figures)]
    return "\n".join(lines)
