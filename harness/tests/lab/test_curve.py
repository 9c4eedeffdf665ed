# SPDX-License-Identifier: GPL-2.0-only
"""What is said of a curve whose end costs too much."""

import pytest

from bench.measure import Figure, Row, Side
from bench.report import too_steep
from bench.workloads import CURVES, Sample
from lab.pair import OURS, STOCK

CURVE = CURVES["idle"]
SIDES = (Side("in-tree", STOCK), Side("ours", OURS))
FIRST = 100_000


def rows(*last: int) -> list[Row]:
    """The curve with these costs of an operation at its end, for each side."""
    return [Row(workload, "3", tuple(Figure([Sample(10, 10 * cost, None)]) for cost in costs))
            for workload, costs in zip(CURVE.workloads, ((FIRST, FIRST), last))]


@pytest.mark.parametrize("last", ((FIRST, FIRST), (2 * FIRST, 105_000), (FIRST, 50_000)))
def test_what_hardly_grows_passes(last: tuple[int, int]) -> None:
    """The in-tree module may do as it likes."""
    assert too_steep(rows(*last), SIDES, CURVE) == []


def test_what_grows_is_named() -> None:
    """With how much it is, and how much it may be."""
    assert too_steep(rows(FIRST, 106_000), SIDES, CURVE) == [
        "4 KiB read, depth 64, idle 60 s, NFS 3: ours: 1.060 of 4 KiB read, depth 64, idle 1 s, NFS 3 is above 1.050"]


def test_most_curves_may_grow() -> None:
    """They only show how."""
    assert too_steep(rows(FIRST, 10 * FIRST), SIDES, CURVES["connections"]) == []
