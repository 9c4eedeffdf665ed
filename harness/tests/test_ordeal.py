# SPDX-License-Identifier: GPL-2.0-only
"""The short form of the ordeal: see Documentation/ordeal.rst."""

import pytest

from lab import Pair
from ordeal.record import commit_under_test
from ordeal.run import Run, new_record, possible_kinds
from ordeal.schedule import Cell

SEED = 52
# Of faults: what comes before the first and after the last takes another minute. At full count each kind comes.
SECONDS, FULL_SECONDS = 60, 600
# On a slow machine these take longer.
LEAST_FAULTS = 3
# A kind that takes most of that time by itself; test_fuzz has the same without a load.
TOO_LONG = "changed-replies"


@pytest.mark.about("both together")
@pytest.mark.versions("4.2")
@pytest.mark.last
def test_verified_load_goes_on_under_faults(pair: Pair, version: str, full: bool) -> None:
    """Faults that a seed chooses; nothing is lost, wrong or left over."""
    cell = Cell(pair.server.kernel.series, pair.client.kernel.series, version, "2", "ext4")
    record = new_record(SEED, cell, commit_under_test())
    kinds = [kind for kind in possible_kinds(cell) if full or kind != TOO_LONG]
    Run(pair, record, print).endure(FULL_SECONDS if full else SECONDS, kinds, len(kinds) if full else LEAST_FAULTS)
    assert len(record.faults) >= LEAST_FAULTS
