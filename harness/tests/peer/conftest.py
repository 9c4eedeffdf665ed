# SPDX-License-Identifier: GPL-2.0-only
"""Fixtures: one guest that is NFS server and client, for each kernel, and the peer in it.

RPCORDMA_TRANSPORT=stock puts the kernel's own module in the place of ours.
"""

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from lab.kernel import Kernel  # noqa: E402
from lab.nfs import OURS  # noqa: E402
from lab.paths import LOGS  # noqa: E402
from lab.peer import Peer, build_peer  # noqa: E402
from lab.solo import Solo  # noqa: E402

KERNELS = ("6.1", "6.12")
TRANSPORT = os.environ.get("RPCORDMA_TRANSPORT", OURS)
LOG_DIRECTORY = LOGS / f"check-peer-{time.strftime('%Y%m%d-%H%M%S')}"
KERNEL_LOG_LINES = 80


def pytest_configure() -> None:
    """Ends in order when told to, so that no machine's disks are left behind."""
    signal.signal(signal.SIGTERM, lambda *_: pytest.exit("terminated", 128 + signal.SIGTERM))


@pytest.fixture(scope="session")
def programs() -> None:
    """Builds what runs in the guests, before they look at it."""
    build_peer("program")
    build_peer("tests")


@pytest.fixture(scope="session", params=KERNELS, ids=lambda series: f"linux{series}")
def machine(request: pytest.FixtureRequest, programs: None) -> Iterator[Solo]:
    """The machine, up and serving."""
    with Solo(Kernel.find(request.param), LOG_DIRECTORY / request.param, TRANSPORT) as solo:
        yield solo


@pytest.fixture
def solo(request: pytest.FixtureRequest, machine: Solo) -> Iterator[Solo]:
    """The machine; the test fails where its kernel complains."""
    machine.guest.complaints()
    machine.guest.note(f"{request.node.name} begins")
    yield machine
    machine.guest.mark("end of the test")
    complaints = machine.guest.complaints()
    assert not complaints, "the kernel complained:\n" + "\n".join(complaints)


@pytest.fixture
def peer(solo: Solo) -> Peer:
    """The peer in that machine."""
    return Peer(solo.guest)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Function) -> Iterator[None]:
    """Shows the kernel's log with a test that failed."""
    outcome = yield
    report = outcome.get_result()
    used = item.funcargs.get("machine")
    if report.failed and used:
        log = "\n".join(map(str, used.guest.kernel_log[-KERNEL_LOG_LINES:]))
        report.sections += [("kernel log", log), ("logs", str(used.guest.console_log.parent))]
