# SPDX-License-Identifier: GPL-2.0-only
"""What a hostile requester sends does our server no harm that a sanitizer would see.

A part of harness/peer's cases. soft-iWARP is quicker than soft-RoCE here; where it does not do as the cases expect
of a device, they are not among these: it lets memory be read that may only be written to.
"""

from fnmatch import fnmatch

import pytest
from conftest import Keeper

from lab.conformance import Outcome, case_names, run_side

HOSTILE = ("access-read-only-*", "call-cut-*", "chunks-that-*", "credits-many", "disconnect-*", "error-*",
           "handle-unknown-second-*", "length-*", "list-*", "long-call-beyond-*", "long-call-lengths-*",
           "message-*", "nomsg-*", "offset-*", "payload-*", "*-lengths-overflow", "reply-for-nobody*",
           "segment-count-*", "vanish-*", "xid-differs")
CASES = [name for name in case_names("server")
         if any(fnmatch(name, f"server/{pattern}") for pattern in HOSTILE)]


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
