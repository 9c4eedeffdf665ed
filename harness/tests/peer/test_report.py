# SPDX-License-Identifier: GPL-2.0-only
"""What the conformance tester writes down of a run."""

import json

from lab.conformance import check_schema
from lab.nfs import PORT
from lab.peer import Peer
from lab.solo import Solo

EXPORT = "/srv/nfs/tmpfs"
# What no server does.
UNREASONABLE = """# RFC 8166, 3, MUST: a NULL Call is refused
send null
expect error CHUNK
"""


def test_a_report_says_how_it_came_about(solo: Solo, peer: Peer) -> None:
    """And the command in it runs the case again."""
    peer.run("conform", f"{solo.ADDRESS}:{PORT}", "--path", EXPORT, "--only", "server/null", "--only", "server/getattr",
             "--strict", "--name", "this one", "--results", "/tmp/report.json")
    report = json.loads(peer.guest.read("/tmp/report.json"))
    check_schema(report)
    assert report["name"] == "this one"
    assert solo.guest.kernel.release in report["tester"]["kernel"]
    assert report["tester"]["device"] == "rxe0"
    assert report["tester"]["driver"] == "rdma_rxe"
    assert report["settings"]["strict"]
    terms = report["terms"]
    assert terms["credits"] > 1
    announced = terms["announced"] or {"send_size": 1024, "receive_size": 1024}
    assert terms["call_threshold"] == min(4096, announced["receive_size"])
    assert terms["reply_threshold"] == min(4096, announced["send_size"])
    command = next(result["command"] for result in report["results"] if result["name"] == "server/getattr")
    again = solo.guest.output(command)
    assert "server/getattr" in again
    assert "server/null" not in again


def test_a_failed_case_has_its_messages_and_what_differs(solo: Solo, peer: Peer) -> None:
    """With the same seed, the same messages are sent again."""
    solo.guest.run("mkdir -p /tmp/cases/server")
    solo.guest.write("/tmp/cases/server/unreasonable.case", UNREASONABLE)
    sent = []
    for _ in range(2):
        result = peer.run("run", "/tmp/cases/server/unreasonable.case", "--server", f"{solo.ADDRESS}:{PORT}",
                          "--path", EXPORT, "--seed", "7", "--results", "/tmp/failed.json", check=False)
        assert result.status == 1
        report = json.loads(peer.guest.read("/tmp/failed.json"))
        check_schema(report)
        assert report["settings"]["seed"] == 7
        (case,) = report["results"]
        assert {"what": "type", "expected": "ERROR", "came": "MSG", "differs": True} in case["comparison"]
        call, reply = case["messages"]
        assert (call["sent"], reply["sent"]) == (True, False)
        assert call["bytes"][:8] == reply["bytes"][:8]
        sent.append(call["bytes"])
    assert sent[0] == sent[1]
