# SPDX-License-Identifier: GPL-2.0-only
"""Our client and our server with each other, in a kernel that sees what goes wrong in memory."""

import pytest
from work import (BYTES, disconnect, mounted, move_files, observed, replace_device, restart_nfsd, verified_io,
                  wait_for_round)

from lab.solo import Solo

DISCONNECTS = 10


@pytest.mark.parametrize("version", ["3", "4.0", "4.1", "4.2"])
def test_files_large_and_small_travel_each_way(solo: Solo, version: str) -> None:
    """What is written is what the server has, and what is read is what was written."""
    with mounted(solo, version) as mount:
        stats = move_files(mount)
    assert stats.total("total_reply_bytes") >= BYTES
    assert stats.total("bad_replies") == 0


def test_forced_disconnects_lose_nothing(solo: Solo) -> None:
    """The connection breaks with RPCs in flight: each is sent again, none is lost."""
    with mounted(solo) as mount:
        before = mount.stats()
        with verified_io(solo.guest):
            disconnect(solo, DISCONNECTS)
        after = mount.stats()
    assert after.total("connect_count") >= before.total("connect_count") + DISCONNECTS
    assert after.retransmissions() > before.retransmissions()
    assert after.total("bad_replies") == before.total("bad_replies")


def test_a_device_that_is_removed_and_added_again_is_used_again(solo: Solo) -> None:
    """Removal releases everything at both ends at once, and both go on when it is back."""
    with mounted(solo) as mount:
        before = mount.stats()
        with verified_io(solo.guest) as process, observed(solo.guest):
            replace_device(solo)
            wait_for_round(process)
        assert mount.stats().total("connect_count") > before.total("connect_count")


def test_nfsd_is_stopped_and_started_under_load(solo: Solo) -> None:
    """The server's end goes while the client wants it; the client finds the one that comes then."""
    with mounted(solo):
        with verified_io(solo.guest) as process, observed(solo.guest):
            restart_nfsd(solo)
            wait_for_round(process)
