# SPDX-License-Identifier: GPL-2.0-only
"""What a hostile requester sends does our server no harm that a sanitizer would see.

A part of harness/peer's cases. soft-iWARP is quicker than soft-RoCE here; where it does not do as the cases expect
of a device, they are not among these: it lets memory be read that may only be written to.
"""

import pytest
from conftest import Keeper

from lab.conformance import Outcome, hostile_case_names, run_side

CASES = hostile_case_names()


@pytest.fixture(scope="session")
def outcome(keeper: Keeper, device: str) -> Outcome:
    """What they came to."""
    only = [word for name in CASES for word in ("--only", name)]
    return run_side(keeper.get(device), "server", "--protocol", "2", *only)


@pytest.mark.parametrize("device", ["siw"], indirect=True)
@pytest.mark.parametrize("name", CASES)
def test_server(outcome: Outcome, name: str) -> None:
    """Our server does what the case wants, and the detectors are content."""
    outcome.judge(name)
