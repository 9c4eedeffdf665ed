# SPDX-License-Identifier: GPL-2.0-only
"""In which functions a guest spends its instructions: counted by a plugin of QEMU's, executions.c."""

import bisect
import os
import re
import struct
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from lab.guest import Guest
from lab.paths import CHECKOUT

SOURCE = CHECKOUT / "harness" / "bench" / "executions.c"
RECORD = struct.Struct("=QQQQQ")
# The kernel's half of the addresses.
KERNEL = 1 << 63
PROGRAMS = "(programs)"
PATIENCE = 60.0

# With idle=poll. The compiler may have made a variant of it.
IDLE = re.compile(r"cpu_idle_poll(\.\w+)*")
# The kernel's functions that take a lock. Those that only try to are among them.
LOCK = re.compile(r"(_raw_(spin|read|write)_(try)?lock|mutex_(try)?lock|down_(read|write))(_\w+)?")


class Stretch(NamedTuple):
    """A piece of code that is executed from its beginning to its end, as the plugin tells of it."""

    address: int
    # How many, and how many of them have the memory for themselves.
    instructions: int
    locked: int
    # What its last instruction calls or jumps to, or 0.
    target: int


@dataclass
class Profile:
    """What functions have executed, by "name [module]"."""

    instructions: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    # How many locked instructions, and how many locks were taken by a call from there; none on arm64.
    locked: Counter[str] = field(default_factory=Counter)
    locks: Counter[str] = field(default_factory=Counter)

    def add(self, stretch: Stretch, executions: int, symbols: "Symbols") -> None:
        """Counts these executions."""
        name, offset = symbols.find(stretch.address)
        self.instructions[name] += stretch.instructions * executions
        self.locked[name] += stretch.locked * executions
        if offset == 0:
            self.calls[name] += executions
        called, offset = symbols.find(stretch.target)
        if offset == 0 and LOCK.fullmatch(called):
            self.locks[name] += executions

    @property
    def busy(self) -> int:
        """All instructions but those of the loop in which the kernel waits for something to do."""
        return sum(number for name, number in self.instructions.items() if not IDLE.fullmatch(name))

    def subtract(self, other: "Profile") -> None:
        """Leaves what this one has beyond the other. Can be less than nothing, where the other one waited longer."""
        for mine, others in zip(self._counters(), other._counters()):
            mine.subtract(others)

    def _counters(self) -> tuple[Counter[str], ...]:
        return self.instructions, self.calls, self.locked, self.locks


class Profiler:
    """Counts in a guest that is started with its options."""

    def __init__(self, directory: Path):
        directory.mkdir(parents=True, exist_ok=True)
        self.plugin = directory / "executions.so"
        self.requests = directory / f"requests-{os.getpid()}"
        self.answer = directory / f"answer-{os.getpid()}"
        subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-fvisibility=hidden", "-pthread",
                        "-o", self.plugin, SOURCE], check=True)
        self.requests.unlink(missing_ok=True)
        os.mkfifo(self.requests)

    @property
    def options(self) -> list[str]:
        """QEMU's."""
        return ["-plugin", f"{self.plugin},requests={self.requests}"]

    @contextmanager
    def counting(self, guest: Guest) -> Iterator[Profile]:
        """What the guest executes in a block is in the profile at its end."""
        symbols = Symbols(guest.read("/proc/kallsyms"))
        profile = Profile()
        before = self._counts()
        yield profile
        for stretch, executions in (self._counts() - before).items():
            profile.add(stretch, executions, symbols)

    def close(self) -> None:
        """Removes what only its guest needed."""
        self.requests.unlink(missing_ok=True)
        self.answer.unlink(missing_ok=True)

    def _counts(self) -> Counter[Stretch]:
        self.answer.unlink(missing_ok=True)
        self.requests.write_text(f"{self.answer}\n", encoding="utf-8")
        end = time.monotonic() + PATIENCE
        # The plugin has nothing but files to tell with.
        while not self.answer.exists():
            if time.monotonic() > end:
                raise TimeoutError(f"{self.plugin} does not answer")
            time.sleep(0.05)
        return Counter({Stretch(*numbers): executions for *numbers, executions
                        in RECORD.iter_unpack(self.answer.read_bytes())})


class Symbols:
    """A kernel's functions, those of C++ as they are written."""

    def __init__(self, kallsyms: str):
        lines = [line.split(maxsplit=2) for line in kallsyms.splitlines()]
        functions = sorted((int(address, 16), " ".join(name.split())) for address, kind, name in lines
                           if kind in "tTwW")
        self.addresses = [address for address, _ in functions]
        self.names = subprocess.run(["c++filt"], input="\n".join(name for _, name in functions), capture_output=True,
                                    text=True, check=True).stdout.split("\n")

    def find(self, address: int) -> tuple[str, int]:
        """The function that the address is in, and how far from its beginning."""
        if address < KERNEL:
            return PROGRAMS, -1
        index = bisect.bisect_right(self.addresses, address) - 1
        return self.names[index], address - self.addresses[index]


def module_of(name: str) -> str:
    """The module that a function is in."""
    if name == PROGRAMS:
        return PROGRAMS
    return name[name.rindex("[") + 1:-1] if name.endswith("]") else "vmlinux"
