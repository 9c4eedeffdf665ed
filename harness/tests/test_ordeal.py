# SPDX-License-Identifier: GPL-2.0-only
"""The short form of the ordeal: see Documentation/ordeal.rst."""

import pytest

from lab import Pair
from ordeal.faults import KINDS
from ordeal.record import commit_under_test
from ordeal.run import Run, new_record
from ordeal.schedule import Cell

SEED = 52
# Of faults: what comes before the first and after the last takes another minute.
SECONDS = 60
# On a slow machine these take longer.
LEAST_FAULTS = 3
# A kind that takes most of that time by itself; test_fuzz has the same without a load.
TOO_LONG = "changed-replies"


@pytest.mark.about("both together")
@pytest.mark.versions("4.2")
@pytest.mark.last
def test_verified_load_goes_on_under_faults(pair: Pair, version: str) -> None:
    """Faults that a seed chooses; nothing is lost, wrong or left over."""
    cell = Cell(pair.server.kernel.series, pair.client.kernel.series, version, "2", "ext4")
    record = new_record(SEED, cell, commit_under_test())
    Run(pair, record, print).endure(SECONDS, [kind for kind in KINDS if kind != TOO_LONG], LEAST_FAULTS)
    assert len(record.faults) >= LEAST_FAULTS
