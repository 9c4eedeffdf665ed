# SPDX-License-Identifier: GPL-2.0-only
"""A system of each Debian release, in which packages are installed, and from which guests are booted.

RELEASES="13" has only that one.
"""

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from lab.paths import LOGS  # noqa: E402
from lab.system import System  # noqa: E402

RELEASES = os.environ.get("RELEASES", "12 13").split()
LOG_DIRECTORY = LOGS / f"check-packages-{time.strftime('%Y%m%d-%H%M%S')}"


def pytest_configure() -> None:
    """Ends in order when told to, so that no machine is left behind."""
    signal.signal(signal.SIGTERM, lambda *_: pytest.exit("terminated", 128 + signal.SIGTERM))


@pytest.fixture(params=RELEASES, ids=lambda release: f"debian{release}")
def system(request: pytest.FixtureRequest) -> Iterator[System]:
    """The release as it is installed, without our packages."""
    with System(request.param) as made:
        yield made


@pytest.fixture
def logs(system: System) -> Path:
    """Where the logs of its guests go."""
    return LOG_DIRECTORY / f"debian{system.release}"
