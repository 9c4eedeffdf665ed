# SPDX-License-Identifier: GPL-2.0-only
"""Errors and messages that are not taken: the module counts as many as the peer has sent, and as it traces."""

import json
import re
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from conftest import TRANSPORT
from lab.conformance import PATIENCE, PEER_PORT, client_arguments, mount_and_run
from lab.guest import Guest
from lab.nfs import OURS, PORT
from lab.paths import CHECKOUT
from lab.peer import Peer
from lab.solo import Solo

pytestmark = pytest.mark.skipif(TRANSPORT != OURS, reason="is about what our module counts")

Record = dict[str, Any]

PROGRAM = f"{CHECKOUT}/scripts/rpcordmactl"
OBSERVE = f"/usr/bin/python3 -B {CHECKOUT}/harness/guest/observe.py"
TRACE = "/sys/kernel/tracing/instances/observed"
# The trace events of what a requester refuses.
REFUSED = ("message_dropped", "reply_refused", "reply_unmatched", "reverse_call_dropped")
# Such a Reply is not refused: its RPC is over. Whether a second Reply still meets its RPC is a matter of time.
NOT_REFUSED = "unknown XID"
EVENTS = (*REFUSED, "error_sent")
# The connection stays until the test has looked at it.
TO_THE_RESPONDER = """# RFC 8166, 4.5, hostile: messages that a responder answers with an error, or not at all
send null
    type = 7
expect error CHUNK
send null
    type = 8
expect error CHUNK
send null
    version = 99
expect error VERS 1 2
send null
    type = DONE
expect dropped
send null
    type = ERROR
    error = CHUNK
    payload nothing
expect dropped
send null
    type = ERROR
    error = VERS
    low = 2
    high = 3
    payload nothing
expect dropped
send raw 00000000
expect dropped
send null
    xid ^= 1
expect error CHUNK
pause 120000
"""
# Bursts of messages that the server drops, so many of them, each before a Call that is answered.
BURSTS, MESSAGES = 20, 30
BURST = f"send null times {MESSAGES}\n    type = DONE\nsend null\nexpect reply\n"
# Errors that the responder sends, and Calls in the reverse direction that a requester does not take.
# A case with several values would show the messages of the last one alone.
TO_THE_REQUESTER = ("error-chunk", "error-chunk-twice", "error-chunk-then-the-reply", "error-chunk-to-a-write",
                    "error-vers", "reverse-call-of-type-msgp", "reverse-call-with-another-xid-in-it")


@contextmanager
def traced(guest: Guest) -> Iterator[None]:
    """The events are traced, in a buffer of their own."""
    guest.run(f"mkdir {TRACE} && for event in {' '.join(EVENTS)}; do "
              f"echo 1 >{TRACE}/events/rpcordma/rpcordma_$event/enable || exit; done")
    try:
        yield
    finally:
        guest.run(f"rmdir {TRACE}")


def counted(guest: Guest, peer: str, events: tuple[str, ...], what: str) -> Counter[str]:
    """How often such events named what they are about, on connections with that address."""
    found = re.findall(rf"rpcordma_(?:{'|'.join(events)}): peer={re.escape(peer)} .*?\b{what}=(?:'(.*?)'|(\S+))",
                       guest.read(f"{TRACE}/trace"))
    return Counter(quoted or word for quoted, word in found)


def connections(observed: str, role: str, end: str, port: int) -> list[Record]:
    """Those of that role and with that port at that end, of what observe.py has printed."""
    return [record for record in json.loads(observed)["connection"]
            if record["role"] == role and record[end]["port"] == port]


def sums(guest: Guest) -> Counter[str]:
    """What the server has counted of all its connections."""
    module, = json.loads(guest.output(OBSERVE))["module"]
    return Counter({name: module[f"svc_{name}"] for name in ("connects", "disconnects", "refused", "errors_sent")})


def sums_at_rest(guest: Guest) -> Counter[str]:
    """The same once the connections that a client has left are over."""
    for _ in range(30):
        found = sums(guest)
        if found["connects"] == found["disconnects"]:
            return found
    raise AssertionError(f"a connection is still there: {found}")


def test_a_responder_counts_what_it_refuses(solo: Solo, peer: Peer) -> None:
    """By reason, and the errors that it sends and receives by kind; and in sums that outlive its connections."""
    guest = solo.guest
    before = sums_at_rest(guest)
    guest.run(f"mkdir -p /tmp/observed/server && cat >/tmp/observed/server/refused.case <<'END'\n{TO_THE_RESPONDER}END")
    with traced(guest):
        process = peer.spawn("run", "/tmp/observed/server/refused.case", "--server", f"{solo.ADDRESS}:{PORT}",
                             "--path", "/srv/nfs/tmpfs", "--mark", "/dev/kmsg")
        wanted = {"refused": {"ERR_CHUNK": 3, "ERR_VERS": 1, "RDMA_DONE": 1, "RDMA_ERROR": 2, "too short": 1},
                  "errors_sent": {"ERR_CHUNK": 3, "ERR_VERS": 1}, "errors_received": {"ERR_CHUNK": 1, "ERR_VERS": 1}}
        records: list[Record] = []
        # Its last step lasts for two minutes.
        while not records and process.status is None:
            records = [record for record in connections(guest.output(OBSERVE), "responder", "local", PORT)
                       if sum(record.get("refused", {}).values()) == sum(wanted["refused"].values())]
        process.kill(signal.SIGINT)
        shown = process.wait(60).stdout
        assert records, shown
        record, = records
        assert {name: record[name] for name in wanted} == wanted
        requester = f"{solo.ADDRESS}:{record['remote']['port']}"
        assert counted(guest, requester, ("error_sent",), "error") == wanted["errors_sent"]
        more = sums_at_rest(guest) - before
        assert (more["refused"], more["errors_sent"]) == (8, 4)
        assert more["connects"] == more["disconnects"] > 0


def test_what_a_peer_sends_does_not_crowd_out_other_events(solo: Solo, peer: Peer) -> None:
    """A listener hears of some of the messages that are refused, and of the connection's end behind them."""
    guest = solo.guest
    before = sums(guest)["refused"]
    guest.run(f"mkdir -p /tmp/observed/server && cat >/tmp/observed/server/bursts.case <<'END'\n"
              f"# RFC 8166, 4.2.4, hostile: messages that nobody has asked for\n{BURST * BURSTS}END")
    monitor = guest.spawn(f"{PROGRAM} -j monitor")
    monitor.expect("rpcordmactl: listening", 120)
    peer.run("run", "/tmp/observed/server/bursts.case", "--server", f"{solo.ADDRESS}:{PORT}",
             "--path", "/srv/nfs/tmpfs")
    monitor.expect('"disconnected"', 120)
    refused = monitor.output.count('"refused"')
    monitor.kill()
    assert sums(guest)["refused"] - before == BURSTS * MESSAGES
    assert 0 < refused < BURSTS * MESSAGES / 2


def test_a_requester_counts_what_it_refuses(solo: Solo, peer: Peer) -> None:
    """The same of each mount, over all cases."""
    guest = solo.guest
    work = "; ".join(mount_and_run(version, solo.ADDRESS, f"{OBSERVE} >/tmp/observed.{version}")
                     for version in ("3", "4.1"))
    only = [word for case in TO_THE_REQUESTER for word in ("--only", f"client/{case}")]
    with traced(guest):
        shown = peer.run("conform", *client_arguments(solo, work), *only, "--json-lines", "--mark", "/dev/kmsg",
                         "--patience", str(PATIENCE), timeout=300).stdout
        rows = [json.loads(line) for line in shown.splitlines() if line.startswith("{")]
        assert {row["outcome"] for row in rows} == {"passed"}
        assert len(rows) == len(TO_THE_REQUESTER)
        records = [record for version in ("3", "4.1")
                   for record in connections(guest.read(f"/tmp/observed.{version}"), "requester", "remote", PEER_PORT)]
        tallies = {name: sum((Counter(record.get(name, {})) for record in records), Counter[str]())
                   for name in ("refused", "errors_sent", "errors_received")}
        messages = "\n".join(line for row in rows for line in row["trace"])
        assert tallies["errors_received"] == Counter(re.findall(r"-> ERROR .*\b(ERR_\w+)", messages))
        assert tallies["errors_sent"] == Counter(re.findall(r"<- ERROR .*\b(ERR_\w+)", messages))
        traced_reasons = counted(guest, f"{solo.ADDRESS}:{PEER_PORT}", REFUSED, "reason")
        del traced_reasons[NOT_REFUSED]
        assert tallies["refused"] == traced_reasons
        assert len(tallies["refused"]) > 1 and sum(tallies["errors_sent"].values()) > 0
