# SPDX-License-Identifier: GPL-2.0-only
"""Fixtures: one guest that is NFS server and client, for each kernel, and the peer in it.

RPCORDMA_TRANSPORT=stock puts the kernel's own module in the place of ours. KERNELS="6.12 7.3" has these kernels in the
place of 7.3 and 6.12. RPCORDMA_TEST_DEVICES="rxe siw" has the test kernel, with each of these devices, in the place of
Debian's kernels.
"""

import functools
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from lab.errors import LabError  # noqa: E402
from lab.guest import Guest  # noqa: E402
from lab.kernel import Kernel  # noqa: E402
from lab.lost_connections import lost_connections, watch  # noqa: E402
from lab.nfs import OURS  # noqa: E402
from lab.paths import LOGS  # noqa: E402
from lab.peer import Peer, build_peer  # noqa: E402
from lab.run import SIDE_BY_SIDE  # noqa: E402
from lab.soft_iwarp import soft_iwarp  # noqa: E402
from lab.solo import ROCE, Device, Solo  # noqa: E402

TEST_DEVICES = os.environ.get("RPCORDMA_TEST_DEVICES", "").split()
MACHINES = [f"test-{device}" for device in TEST_DEVICES] or [
    f"linux{series}" for series in os.environ.get("KERNELS", "7.3 6.12").split()]
TRANSPORT = os.environ.get("RPCORDMA_TRANSPORT", OURS)
LOG_DIRECTORY = LOGS / f"check-peer-{time.strftime('%Y%m%d-%H%M%S')}{SIDE_BY_SIDE and '-' + SIDE_BY_SIDE}"
# Side by side, a kernel's clients are tested in a machine of their own, because the cases wait more than they work, and
# so are the peer's own tests, which take minutes.
PART_OF = {"test_client": "client", "test_verbs": "verbs"}
REST = "rest"
PARTS = (*PART_OF.values(), REST) if SIDE_BY_SIDE else ("all",)
KERNEL_LOG_LINES = 80
# Of the connections that the module has ended, the last.
LOST_CONNECTIONS = 40


def pytest_configure() -> None:
    """Ends in order when told to, so that no machine's disks are left behind."""
    # Who runs tests beside others is told by who began them all, and need not be in a main thread.
    if not SIDE_BY_SIDE:
        signal.signal(signal.SIGTERM, lambda *_: pytest.exit("terminated", 128 + signal.SIGTERM))


def pytest_itemcollected(item: pytest.Function) -> None:
    """Keeps a machine's tests together where they run side by side."""
    part = item.callspec.params.get("part", PART_OF.get(item.originalname, REST))
    item.add_marker(pytest.mark.xdist_group(f"{item.callspec.params['machine']}-{part}"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs what asks for a part in each of a kernel's machines."""
    if "part" in metafunc.fixturenames:
        metafunc.parametrize("part", PARTS)


@functools.cache
def build_programs(architecture: str) -> None:
    """Builds what runs in the guests, before they look at it."""
    build_peer("program", architecture)
    build_peer("tests", architecture)


@pytest.fixture(scope="session", params=MACHINES)
def machine(request: pytest.FixtureRequest) -> Iterator[Solo]:
    """The machine, up and serving."""
    build_programs(kernel_of(request.param).architecture)
    with Solo(kernel_of(request.param), LOG_DIRECTORY / request.param, TRANSPORT, device_of(request.param)) as solo:
        yield solo


def kernel_of(name: str) -> Kernel:
    """The kernel of the machine with that name."""
    return Kernel.test() if name.startswith("test-") else Kernel.find(name.removeprefix("linux"))


def device_of(name: str) -> Device:
    """Its device."""
    return soft_iwarp(Kernel.test()) if name == "test-siw" else ROCE


@pytest.fixture
def solo(request: pytest.FixtureRequest, machine: Solo) -> Iterator[Solo]:
    """The machine; the test fails where its kernel complains."""
    machine.guest.note(f"{request.node.name} begins")
    if TRANSPORT == OURS:
        watch(machine.guest)
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
    """Shows the kernel's log with a test that failed, and which connections the module ended and why."""
    outcome = yield
    report = outcome.get_result()
    used = item.funcargs.get("machine")
    if report.failed and used:
        log = "\n".join(map(str, used.guest.kernel_log[-KERNEL_LOG_LINES:]))
        report.sections += [("kernel log", log), ("connections that were ended", ended(used.guest)),
                            ("logs", str(used.guest.console_log.parent))]


def ended(guest: Guest) -> str:
    """What the module has traced of them, as far as the guest still says."""
    try:
        return "\n".join(map(str, lost_connections(guest)[-LOST_CONNECTIONS:]))
    except LabError as error:
        return str(error)
