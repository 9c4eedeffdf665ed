# SPDX-License-Identifier: GPL-2.0-only
"""sunrpc closes the oldest connection that has not shown a valid file handle where it counts too many of these."""

import pytest
from conftest import TRANSPORT
from lab.conformance import PATIENCE
from lab.nfs import OURS, PORT
from lab.peer import Peer
from lab.solo import Solo

CASES = "/tmp/unverified/server"
LOST = 5
NAMES = [f"c{number}" for number in range(LOST)]
# Their Calls wait for what mountd says of the client, when the connections end. In the pause mountd is stopped.
WAITING = "\n".join(["# RFC 8166, 3, hostile: Calls that outlive their connections",
                     *(f"connect as {name}\nsend null\nexpect reply" for name in NAMES), "pause 10000",
                     *(f"on {name}\nsend getattr\nexpect dropped" for name in NAMES),
                     *(f"on {name}\ndisconnect" for name in NAMES), ""])
LATER = "\n".join(["# RFC 8166, 3, hostile: connections that have shown nothing yet last when others come",
                   *(f"connect as {name}" for name in NAMES),
                   *(f"on {name}\nsend null\nexpect reply" for name in NAMES), ""])


@pytest.mark.skipif(TRANSPORT != OURS, reason="the kernel's own module has no remedy")
def test_calls_that_outlive_their_connections_cost_no_other(solo: Solo, peer: Peer) -> None:
    """Whose connection is gone when a Call of it shows the first file handle was taken off sunrpc's count before."""
    for name, text in (("waiting", WAITING), ("later", LATER)):
        solo.guest.run(f"mkdir -p {CASES} && cat >{CASES}/{name}.case <<'END'\n{text}END")
    both_ends = 2 * LOST
    connected = f"$(rdma resource show qp | grep -c ' state RTS ') -ge {both_ends}"
    process = peer.spawn("run", f"{CASES}/waiting.case", *server_words(solo))
    # A thread that waits for mountd does so for a second or more; then it puts the Call aside.
    solo.guest.run(f"trap 'pkill -CONT rpc.mountd' EXIT; until [ {connected} ]; do sleep 0.02; done; "
                   f"pkill -STOP rpc.mountd; exportfs -f; while [ {connected} ]; do sleep 0.02; done", timeout=120)
    shown = process.wait(120)
    assert shown.status == 0, shown.stdout
    later = peer.run("run", f"{CASES}/later.case", *server_words(solo), check=False)
    assert later.status == 0, later.stdout


def server_words(solo: Solo) -> list[str]:
    """Whom a case is about."""
    return ["--server", f"{solo.ADDRESS}:{PORT}", "--path", "/srv/nfs/tmpfs", "--patience", str(PATIENCE)]
