# SPDX-License-Identifier: GPL-2.0-only
"""Where the checkout, the caches and the logs are."""

import os
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
GUEST_SCRIPTS = CHECKOUT / "harness" / "guest"
LOGS = CHECKOUT / "build" / "lab"


def cache_directory() -> Path:
    """The directory outside the checkout for what is built once and used again."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    directory = Path(base) / "rpcordma"
    directory.mkdir(parents=True, exist_ok=True)
    return directory
