# SPDX-License-Identifier: GPL-2.0-only
"""Our client and our server with each other, in a kernel that sees what goes wrong in memory."""

import pytest
from expectations import eventually
from work import (BYTES, PATIENCE, disconnect, mounted, move_files, observed, replace_device, restart_nfsd, verified_io,
                  wait_for_round)
from workloads import TRACE, jams, sysctl, traced

from lab.solo import Solo

DISCONNECTS = 10
# What one address may have at once, and how long these clients of it take for that at most. They can all wait at one
# connection a second.
BURST = 256
SECONDS_OF_A_BURST = 900
VISITORS = 3
TOO_MANY = "too many of one requester"
# How many connections are looked at then.
SOME = 5


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


@pytest.mark.parametrize("device", ["siw"], indirect=True)
def test_who_connects_too_often_waits_for_its_turn_over_iwarp(solo: Solo) -> None:
    """No connection manager asks again there, so that the listener has the requests wait, and rejects none of these."""
    guest = solo.guest
    made = f"$(grep -c rpcordma_connected: {TRACE})"
    second = "$(cut -d . -f 1 /proc/uptime)"
    with (sysctl(guest, svc_rdma__max_connects=1),
          traced(guest, events="rpcordma/rpcordma_connected"),
          traced(guest, events="rpcordma/rpcordma_connect_failed")):
        began = int(guest.output(f"echo {second}"))
        allowed = f"$(({BURST} + {second} - {began}))"
        with jams(guest, guest, solo.ADDRESS, "connections", VISITORS):
            eventually(guest, f"test $(({made} + {VISITORS})) -ge {allowed}", SECONDS_OF_A_BURST)
            before = int(guest.output(f"echo {made}"))
            eventually(guest, f"test {made} -ge $(({before} + {SOME}))", PATIENCE)
            counted, most = map(int, guest.output(f"echo {made}; echo {allowed}").split())
            # With those that wait.
            restart_nfsd(solo)
        trace = guest.read(TRACE)
    print(f"{counted} connections, of {most}")
    # The clock shows whole seconds.
    assert counted <= most + 1
    assert TOO_MANY not in trace, trace
