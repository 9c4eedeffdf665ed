# SPDX-License-Identifier: GPL-2.0-only
"""The peer's own tests that need a device: harness/peer/{verbs,exchange,suite}_test.cc."""

import re

from lab.peer import Peer
from lab.solo import Solo


def test_verbs(solo: Solo, peer: Peer) -> None:
    """All of them pass, and leave nothing behind."""
    resources = solo.guest.output("rdma resource")
    tests = solo.guest.run(f"PEER_TEST_ADDRESS={solo.ADDRESS} PEER_TEST_EXPORT=/srv/nfs/tmpfs "
                           f"{peer.tests} --gtest_filter='Verbs*'", timeout=1800, check=False)
    print(tests.stdout)
    assert tests.status == 0
    assert re.search(r"\[  PASSED  \] [1-9][0-9]* tests", tests.stdout)
    assert solo.guest.output("rdma resource") == resources
