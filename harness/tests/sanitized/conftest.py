# SPDX-License-Identifier: GPL-2.0-only
"""Fixtures: one guest with the test kernel that is NFS server and client, over either soft device."""

import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent)]

from lab.detectors import forget_leaks  # noqa: E402
from lab.kernel import Kernel  # noqa: E402
from lab.paths import LOGS  # noqa: E402
from lab.soft_iwarp import soft_iwarp  # noqa: E402
from lab.solo import ROCE, Solo  # noqa: E402

DEVICES = ("rxe", "siw")
LOG_DIRECTORY = LOGS / f"check-sanitized-{time.strftime('%Y%m%d-%H%M%S')}"


def pytest_configure() -> None:
    """Ends in order when told to, so that no machine is left behind."""
    signal.signal(signal.SIGTERM, lambda *_: pytest.exit("terminated", 128 + signal.SIGTERM))


class Keeper:
    """Keeps a machine for as long as the tests want its device, and nothing has failed in it."""

    def __init__(self) -> None:
        self.solo: Solo | None = None
        self.boots = 0

    def get(self, device: str) -> Solo:
        """The machine with this device, up and serving."""
        if self.solo and self.solo.device.name != device:
            self.stop()
        if not self.solo:
            self.boots += 1
            kernel = Kernel.test()
            self.solo = Solo(kernel, LOG_DIRECTORY / f"{self.boots}-{device}",
                             device=ROCE if device == "rxe" else soft_iwarp(kernel))
            try:
                self.solo.start_or_stop()
                forget_leaks(self.solo.guest)
            except BaseException:
                self.stop()
                raise
        return self.solo

    def stop(self) -> None:
        """Switches it off."""
        if self.solo:
            self.solo.stop()
        self.solo = None


@pytest.fixture(scope="session")
def keeper() -> Iterator[Keeper]:
    """Keeps the machine between the tests."""
    kept = Keeper()
    yield kept
    kept.stop()


@pytest.fixture(scope="session", params=DEVICES)
def device(request: pytest.FixtureRequest) -> str:
    """What carries it all."""
    return request.param


@pytest.fixture
def solo(request: pytest.FixtureRequest, keeper: Keeper, device: str) -> Solo:
    """The machine, nothing mounted."""
    kept = keeper.get(device)
    kept.guest.note(f"{request.node.name} begins")
    return kept


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Function) -> Iterator[None]:
    """Fails a test in whose machine the kernel complained, and shows the kernel's log."""
    outcome = yield
    report = outcome.get_result()
    used = item.funcargs.get("solo")
    if used is None or report.when != "call":
        return
    used.judge(report)
    if report.failed:
        # Here at once, while pytest shows it when all tests have run.
        with (LOG_DIRECTORY / "failures.txt").open("a", encoding="utf-8") as failures:
            failures.write(f"==== {report.nodeid}\n{report.longreprtext}\n")
    if report.failed or used.guest.excused:
        # What a failure leaves behind is no ground for the next test, nor is a kernel whose lockdep is off.
        item.funcargs["keeper"].stop()
