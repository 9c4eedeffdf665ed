# SPDX-License-Identifier: GPL-2.0-only
"""What kind of run this is, and of which sources."""

import os
import subprocess

from lab.paths import CHECKOUT


def switched_on(variable: str) -> bool:
    """Whether the environment has it, other than empty or 0."""
    return os.environ.get(variable, "") not in ("", "0")


# Full counts, and everything that takes long.
FULL = switched_on("FULL")
# Whether the NFS tests run in every cell that they are about.
EVERY_CELL = FULL and os.environ.get("CELLS") != "usual"
# Which of several that run tests beside one another this is (pytest -n 2), such as "gw1"; empty where there is one.
SIDE_BY_SIDE = os.environ.get("PYTEST_XDIST_WORKER", "")


def commit() -> str:
    """The commit of the checkout, with a + where it has been changed since."""
    described = subprocess.run(["git", "describe", "--always", "--dirty=+"], cwd=CHECKOUT,
                               capture_output=True, text=True, check=False)
    return described.stdout.strip() or "unknown"
