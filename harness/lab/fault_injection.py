# SPDX-License-Identifier: GPL-2.0-only
"""Faults that the test kernel injects: allocations of our module that fail, connections that end."""

import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.errors import LabError
from lab.guest import Guest
from lab.kernel_log import KernelMessage
from lab.module import guest_module, module_file
from lab.nfs import OURS

DEBUGFS = "/sys/kernel/debug"
# So many faults at once: what comes after them has to succeed. A connection takes hundreds of allocations, and would
# never be made where each of them may fail.
BURST = 5
# What allocations can fail, and what has them fail also where they may sleep.
ALLOCATIONS = {"failslab": {"ignore-gfp-wait": "N"},
               "fail_page_alloc": {"ignore-gfp-wait": "N", "ignore-gfp-highmem": "N", "min-order": "0"}}
# Slabs seldom need pages.
PERCENT = {"failslab": 20, "fail_page_alloc": 50}
FRAME = re.compile(r"^ *(?P<function>[\w.]+)\+0x\w+/0x\w+ \[(?P<module>\w+)\]")
EXECUTABLE = re.compile(r"^ *\[ *\d+\] (?P<name>\S+) +\w+ +\w+ +\w+ +(?P<size>\w+) +\w+ +AX ", re.MULTILINE)


@dataclass
class Faults:
    """What is injected in a block."""

    guest: Guest
    kind: str
    # Where the block begins in the guest's kernel log.
    begin: int
    # Those of the bursts that are over.
    spent: int = 0

    @property
    def _left(self) -> str:
        return f"{DEBUGFS}/{self.kind}/times"

    def count(self) -> int:
        """How many there were in the bursts that are over."""
        return self.places().total() if self.kind in ALLOCATIONS else self.spent

    def places(self) -> Counter[str]:
        """The functions of ours that had no memory: of each fault the nearest."""
        return places_of(self.guest.kernel_log[self.begin:])

    @contextmanager
    def burst(self) -> Iterator[None]:
        """Some of them, for the length of a block."""
        self.guest.run(f"echo {BURST} >{self._left}")
        try:
            yield
        finally:
            if self.guest.alive:
                self.spent += BURST - int(self.guest.read(self._left))
                self.guest.run(f"echo 0 >{self._left}")

    def again_until(self, wanted: int, attempts: int) -> Iterator[None]:
        """Has a loop, with a burst in it, go on until so many were injected; fails where it takes too long."""
        for _ in range(attempts):
            yield
            if self.count() >= wanted:
                return
        raise AssertionError(f"only {self.count()} of {wanted} faults in {attempts} attempts: {self}")

    def __str__(self) -> str:
        places = "".join(f"\n  {count:4} {demangled(place)}" for place, count in self.places().most_common())
        return f"{self.count()} times {self.kind}{places}"


Report = Callable[[Faults], None]


@contextmanager
def failing_allocations(guest: Guest, kind: str, report: Report = print) -> Iterator[Faults]:
    """Some of the allocations that have our module on their stack fail, as long as a burst lasts.

    Counted are those that it, or what it called, wanted to hear of: KASAN's own and kmemleak's also fail, in silence.
    In the end the report is given what was injected.
    """
    start, end = text_of_module(guest)
    with injected(guest, kind, ALLOCATIONS[kind] | {
            "probability": str(PERCENT[kind]), "verbose": "2", "stacktrace-depth": "32",
            "require-start": hex(start), "require-end": hex(end)}, report) as faults:
        yield faults


@contextmanager
def failing_connections(guest: Guest, side: str, percent: int, report: Report = print) -> Iterator[Faults]:
    """So often sunrpc ends a connection in a burst: when a client sends, or when a server takes what has come."""
    spared = {"client": "server", "server": "client"}[side]
    with injected(guest, "fail_sunrpc", {
            "probability": str(percent), "verbose": "0", "ignore-cache-wait": "Y",
            f"ignore-{side}-disconnect": "N", f"ignore-{spared}-disconnect": "Y"}, report) as faults:
        yield faults


@contextmanager
def failing_function(guest: Guest, function: str, result: int, times: int = 1,
                     every: int = 1) -> Iterator[Callable[[], int]]:
    """Some calls of a function of the kernel or of a module fail in this block, with this result; what this gives says
    how many.
    """
    guest.run(f"insmod {guest_module(guest.kernel, 'failing-function')} function={function} times={times} "
              f"every={every} result={result}")
    yield lambda: int(guest.read("/sys/module/failing_function/parameters/failed"))
    guest.run("rmmod failing_function")


@contextmanager
def injected(guest: Guest, kind: str, settings: dict[str, str], report: Report) -> Iterator[Faults]:
    """Faults of one kind, for the length of a block, in its bursts."""
    faults = Faults(guest, kind, len(guest.kernel_log))
    set_up(guest, kind, {"times": "0"} | settings)
    try:
        yield faults
    finally:
        if guest.alive:
            guest.run(f"echo 0 >{DEBUGFS}/{kind}/probability")
            guest.mark(f"no {kind} any more")
            report(faults)


def set_up(guest: Guest, kind: str, settings: dict[str, str]) -> None:
    """Writes the settings; the one that begins it all last."""
    ordered = [name for name in settings if name != "probability"] + ["probability"]
    guest.run(" && ".join(f"echo {settings[name]} >{DEBUGFS}/{kind}/{name}" for name in ordered))


def text_of_module(guest: Guest) -> tuple[int, int]:
    """Where our module's code begins and ends, all its sections together."""
    sections = "/sys/module/rpcordma/sections"
    sizes = executable_sections(module_file(guest.kernel))
    shown = guest.output(f"cd {sections} && grep -H . {' '.join(sizes)}")
    places = {name: int(address, 16) for name, _, address in (line.partition(":") for line in shown.splitlines())}
    if places.keys() != sizes.keys():
        raise LabError(f"{OURS} is not what was loaded: its sections are {sorted(places)}")
    return min(places.values()), max(address + sizes[name] for name, address in places.items())


def executable_sections(module: Path) -> dict[str, int]:
    """The sizes of the sections with code that stays."""
    shown = subprocess.run(["readelf", "-SW", module], check=True, capture_output=True, text=True).stdout
    return {found["name"]: int(found["size"], 16) for found in EXECUTABLE.finditer(shown)
            if not found["name"].startswith(".init") and int(found["size"], 16)}


def places_of(log: list[KernelMessage]) -> Counter[str]:
    """The function of ours that is nearest to each fault."""
    places: Counter[str] = Counter()
    searching = False
    for message in log:
        if "FAULT_INJECTION: forcing a failure" in message.text:
            searching = True
        elif searching and (frame := FRAME.match(message.text)) and frame["module"] == OURS:
            places[frame["function"]] += 1
            searching = False
    return places


def demangled(name: str) -> str:
    """A C++ function's name as the sources have it, without its parameters."""
    shown = subprocess.run(["c++filt", "-p", name], check=True, capture_output=True, text=True).stdout
    return shown.strip().removeprefix("rpcordma::")
