# SPDX-License-Identifier: GPL-2.0-only
"""What kind of run this is, and of which sources."""

import os
import subprocess

from lab.paths import CHECKOUT

# Full counts, and everything that takes long.
FULL = os.environ.get("FULL", "") not in ("", "0")


def commit() -> str:
    """The commit of the checkout, with a + where it has been changed since."""
    described = subprocess.run(["git", "describe", "--always", "--dirty=+"], cwd=CHECKOUT,
                               capture_output=True, text=True, check=False)
    return described.stdout.strip() or "unknown"
