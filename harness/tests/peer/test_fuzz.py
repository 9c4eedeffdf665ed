# SPDX-License-Identifier: GPL-2.0-only
"""rpcordma-peer fuzz: server and client outlive messages that are changed at random, and who does not is told."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from conftest import TRANSPORT
from lab.changed_messages import Changed, Told, send_to_client, send_to_server
from lab.conformance import PATIENCE, PEER_MOUNT_PORT, PEER_PORT
from lab.nfs import OURS, PORT, script
from lab.peer import Peer
from lab.run import FULL
from lab.solo import Solo

FINE, FAILED = 0, 1
# To a server and to a client, which waits before it connects anew. CHANGED=COUNT and SEED=NUMBER have others.
SERVER_COUNT, CLIENT_COUNT = [int(os.environ.get("CHANGED", 5 * count if FULL else count)) for count in (20_000, 4000)]
SEED = int(os.environ.get("SEED", 100))
# Of the slowest kernel, in messages a second.
SLOWEST = 10
# What a client may take to call again: with Replies that it cannot use, it waits for others, and connects anew.
CLIENT_PATIENCE = 120
LISTEN = ("--listen", "--host", Solo.ADDRESS, "--port", str(PEER_PORT), "--mount-port", str(PEER_MOUNT_PORT))
FUZZED = "/run/fuzzed"
FILE = "/mnt/beside"
# What the peer makes on the server; the link is the last of it.
WORK = "/srv/nfs/tmpfs/rpcordma-peer-*"
# A client of the server's that reads what it has written, until it is told to end.
BESIDE = f"""
head -c 300000 /dev/urandom >/tmp/beside && sum=$(cksum </tmp/beside) && rm -f /run/fuzz.stop && rounds=0
while [ ! -e /run/fuzz.stop ]; do
    dd if=/tmp/beside of={FILE} bs=64k oflag=direct status=none || exit
    dd if={FILE} bs=64k iflag=direct status=none >/tmp/back || exit
    [ "$(cksum </tmp/back)" = "$sum" ] || exit
    rounds=$((rounds + 1))
done
echo "$rounds rounds"
"""


@contextmanager
def honest_client(solo: Solo) -> Iterator[None]:
    """In this block a mount of the server's is written to and read, and has what was written."""
    mount = solo.mount("3")
    honest = solo.guest.spawn(f"sh -c '{BESIDE}'")
    try:
        yield
    finally:
        solo.guest.run("touch /run/fuzz.stop")
        shown = honest.wait(120)
        solo.guest.run(f"rm -f {FILE}")
        mount.unmount()
    assert shown.status == 0, shown.stdout
    rounds = re.fullmatch(r"(\d+) rounds\n", shown.stdout)
    assert rounds and int(rounds[1]) > 1, shown.stdout


@pytest.mark.parametrize("protocol", ["1", "2"])
@pytest.mark.skipif(TRANSPORT != OURS, reason="the kernel's own module has no version 2, and need not survive")
def test_a_server_outlives_changed_messages(solo: Solo, peer: Peer, protocol: str) -> None:
    """Each is answered, refused or discarded, or costs its connection. A mount's data are right beside them."""
    with honest_client(solo):
        told = send_to_server(peer, f"{solo.ADDRESS}:{PORT}", "/srv/nfs/tmpfs",
                              changed(SERVER_COUNT, protocol, PATIENCE))
    assert {"Reply", "ERR_CHUNK", "ERR_VERS"} <= answers_in(told, SERVER_COUNT)
    for one in told:
        assert sum(one["ends"].values()) in (one["connections"], one["connections"] - 1)


@pytest.mark.parametrize("protocol", ["1", "2"])
@pytest.mark.skipif(TRANSPORT != OURS, reason="the kernel's own module has no version 2, and need not survive")
def test_a_client_outlives_changed_messages(solo: Solo, peer: Peer, protocol: str) -> None:
    """It goes on to call, on new connections where one was lost. Another mount's data are right beside them."""
    with honest_client(solo):
        told = send_to_client(peer, solo.ADDRESS, solo.guest, changed(CLIENT_COUNT, protocol, CLIENT_PATIENCE))
    # To changed Calls in the reverse direction.
    assert {"Reply", "ERR_CHUNK"} <= answers_in(told, CLIENT_COUNT)


def changed(count: int, protocol: str, patience: int) -> Changed:
    """What is sent in one test."""
    return Changed(count, SEED * int(protocol), protocol, patience, CLIENT_PATIENCE + count / SLOWEST)


def answers_in(told: list[Told], count: int) -> set[str]:
    """The kinds of answers to any of so many; all of them were sent, on several connections."""
    for one in told:
        print(one)
    assert sum(one["messages"] for one in told) == count
    assert all(one["connections"] > 1 for one in told)
    return {kind for one in told for kind in one["answers"]}


@pytest.mark.parametrize(("count", "failure"), [
    ("1000", "the client does not call any more"),
    ("1", "the client's command does not end, and does not call any more")],
    ids=["before the last message", "after it"])
def test_a_client_that_calls_no_more_is_told(solo: Solo, peer: Peer, count: str, failure: str) -> None:
    """Its last messages are printed, as a case that can be run."""
    client = (f"mkdir -p {FUZZED} && timeout 60 mount -t nfs -o vers=3,proto=rdma,port={PEER_PORT},mountproto=tcp,"
              f"mountport={PEER_MOUNT_PORT},nolock,soft,timeo=10,retrans=1 {solo.ADDRESS}:/ {FUZZED}; exec sleep 1000")
    ended = peer.run("fuzz", *LISTEN, "--exec", client, "--patience", "5", "--count", count, check=False)
    solo.guest.run(f"umount -l {FUZZED}", check=False)
    assert ended.status == FAILED, ended.stdout
    assert re.search(f"^FAILED: {failure}$", ended.stdout, re.MULTILINE), ended.stdout
    case = ended.stdout[ended.stdout.index("# RFC 8166"):]
    solo.guest.run(f"mkdir -p /tmp/fuzz/client && cat >/tmp/fuzz/client/last.case <<'END'\n{case}END")
    again = peer.run("run", "/tmp/fuzz/client/last.case", *LISTEN[1:], "--exec", "exit", check=False)
    # There is no client that could do its part.
    assert again.status == FAILED and "client/last" in again.stdout, again.stdout


def test_a_server_that_is_gone_is_told(solo: Solo, peer: Peer) -> None:
    """Its last messages are printed, as a case that can be run."""
    server = f"{solo.ADDRESS}:{PORT}"
    # Cases whose requester vanishes may have left something.
    solo.guest.run(f"rm -rf {WORK}")
    fuzzing = peer.spawn("fuzz", server, "--path", "/srv/nfs/tmpfs", "--count", "1000000000",
                         "--patience", str(PATIENCE))
    try:
        solo.guest.run(f"timeout 120 sh -c 'until test -h {WORK}/link || ! pidof rpcordma-peer; do sleep 0.1; done'",
                       timeout=150)
        assert fuzzing.status is None, fuzzing.output
        solo.guest.run(script("nfs-server", "stop"), timeout=120)
        ended = fuzzing.wait(120)
    finally:
        fuzzing.kill()
    solo.guest.run(f"{script('nfs-server', 'serve')}; echo Y >/proc/fs/nfsd/v4_end_grace; "
                   f"rm -rf {WORK}")
    assert ended.status == FAILED, ended.stdout
    assert re.search(r"^FAILED: the server (takes no connection|does not serve others) any more: ",
                     ended.stdout, re.MULTILINE), ended.stdout
    case = ended.stdout[ended.stdout.index("# RFC 8166"):]
    solo.guest.run(f"mkdir -p /tmp/fuzz/server && cat >/tmp/fuzz/server/last.case <<'END'\n{case}END")
    again = peer.run("run", "/tmp/fuzz/server/last.case", "--server", server, "--path", "/srv/nfs/tmpfs",
                     "--patience", str(PATIENCE), check=False)
    # Where one of them costs the connection, those after it cannot be sent.
    assert again.status in (FINE, FAILED), again.stdout
    assert "server/last" in again.stdout and "-> " in again.stdout
