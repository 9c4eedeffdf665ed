# SPDX-License-Identifier: GPL-2.0-only
"""FULL=1: everything at once for two hours, an hour over either device.

What has been done is kept in build/results: a run that is cut off goes on there, as long as the commit is the same.
"""

import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest
from work import disconnect, mounted, move_files, replace_device, restart_nfsd, verified_io, wait_for_round

from lab.fault_injection import Faults, failing_allocations, failing_connections
from lab.paths import CHECKOUT
from lab.run import FULL, commit
from lab.solo import Solo

SECONDS = 3600
VERSIONS = ("3", "4.0", "4.1", "4.2")
# What may go on beside something else, for the length of a block.
Disturbance = Callable[[Solo], AbstractContextManager[None]]


@dataclass
class Progress:
    """How far it has got over one device."""

    file: Path
    rounds: int = 0
    seconds: float = 0

    @classmethod
    def of(cls, device: str) -> "Progress":
        """What earlier runs of this commit have done."""
        file = CHECKOUT / "build" / "results" / f"mix-{device}-{commit()}.json"
        return cls(file, **json.loads(file.read_text(encoding="utf-8"))) if file.exists() else cls(file)

    @contextmanager
    def next_round(self) -> Iterator[int]:
        """The number of the round that runs in the block; it counts when it has ended well."""
        begin = time.monotonic()
        yield self.rounds
        self.rounds += 1
        self.seconds += time.monotonic() - begin
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps({"rounds": self.rounds, "seconds": self.seconds}), encoding="utf-8")


@contextmanager
def burst(injected: AbstractContextManager[Faults]) -> Iterator[None]:
    """One burst of faults, for the length of a block."""
    with injected as faults, faults.burst():
        yield


def few_allocations(kind: str) -> Disturbance:
    """Some of our allocations fail."""
    return lambda solo: burst(failing_allocations(solo.guest, kind))


def few_connections(side: str) -> Disturbance:
    """sunrpc ends some connections."""
    return lambda solo: burst(failing_connections(solo.guest, side, percent=1))


def nothing(solo: Solo) -> None:
    """Only what goes on beside it."""


def three_disconnects(solo: Solo) -> None:
    """The connection breaks with RPCs in flight."""
    disconnect(solo, 3)


QUIET = [lambda _: nullcontext()]
ANY = [few_allocations("failslab"), few_allocations("fail_page_alloc"), few_connections("client"),
       few_connections("server")]
# What is done, and what may go on beside it. To listen again takes memory: where there is none, that is an answer.
MIX = [(nothing, ANY), (three_disconnects, QUIET + ANY),
       (replace_device, QUIET + ANY[2:]), (restart_nfsd, QUIET + ANY[2:])]


@pytest.mark.skipif(not FULL, reason="takes two hours: FULL=1")
def test_everything_mixed_loses_nothing(solo: Solo, device: str) -> None:
    """Verified I/O goes on whatever happens beside it, and afterwards everything works."""
    progress = Progress.of(device)
    while progress.seconds < SECONDS:
        with progress.next_round() as number:
            drawn = random.Random(number)
            with mounted(solo, drawn.choice(VERSIONS)), verified_io(solo.guest) as process:
                for disturb, beside in drawn.sample(MIX, len(MIX)):
                    with drawn.choice(beside)(solo):
                        disturb(solo)
                        wait_for_round(process)
            with mounted(solo, drawn.choice(VERSIONS)) as mount:
                move_files(mount)
        print(f"{device}: {progress.rounds} rounds, {progress.seconds:.0f} of {SECONDS} s", flush=True)
