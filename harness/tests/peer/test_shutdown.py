# SPDX-License-Identifier: GPL-2.0-only
"""nfsd is stopped while a client owes it something."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lab.guest import Guest
from lab.nfs import PORT, script
from lab.peer import Peer
from lab.solo import Solo

TRACING = "/sys/kernel/tracing/instances/shutdown"
EVENTS = ("nfsd/nfsd_cb_recall", "rpcordma/rpcordma_reverse_call_sent")
# That a recall has been sent.
RECALLED = ("awk '/nfsd_cb_recall/ { asked = 1 } asked && /reverse_call_sent/ { sent = 1 } END { exit !sent }' "
            f"{TRACING}/trace")
CASE = """# RFC 8167, 5.4, hostile: the server is stopped beside a requester that answers no callback
delegation
connect as other
send remove delegated
on main
expect call
expect closed
"""
# nfsd waits for nobody; what it has to do takes so long on a busy machine at the worst.
SOON = 10


@contextmanager
def recorded(guest: Guest) -> Iterator[None]:
    """The events that tell of a recall."""
    guest.run(f"mkdir -p {TRACING}")
    for event in EVENTS:
        guest.run(f"echo 1 >{TRACING}/events/{event}/enable")
    yield
    guest.run(f"rmdir {TRACING}")


def test_nfsd_stops_beside_a_client_that_answers_no_callback(solo: Solo, peer: Peer) -> None:
    """The Call in the reverse direction ends with the connection, and nfsd with it."""
    if solo.transport != "rpcordma":
        pytest.skip("it has no such event")
    solo.guest.run(f"cat >/tmp/unanswered.case <<'END'\n{CASE}END")
    with recorded(solo.guest):
        process = peer.spawn("run", "--server", f"{solo.ADDRESS}:{PORT}", "--path", "/srv/nfs/tmpfs",
                             "--patience", "60", "/tmp/unanswered.case")
        solo.guest.run(f"for i in $(seq 300); do {RECALLED} && exit 0; sleep 0.1; done; exit 1",
                       timeout=60)
        begin = time.monotonic()
        solo.guest.run(script("nfs-server", "stop"), timeout=120)
        seconds = time.monotonic() - begin
    process.wait(120)
    solo.guest.run(f"{script('nfs-server', 'serve')}; echo Y >/proc/fs/nfsd/v4_end_grace",
                   timeout=solo.set_up_seconds)
    assert seconds < SOON
