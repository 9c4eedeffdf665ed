# SPDX-License-Identifier: GPL-2.0-only
"""A run of the conformance tester is ended by a signal."""

import json
import signal

import pytest
from lab.conformance import check_schema
from lab.nfs import PORT
from lab.peer import Peer
from lab.solo import Solo

EXPORT = "/srv/nfs/tmpfs"


def left_on_the_server(solo: Solo) -> str:
    """What the tester has made there."""
    return solo.guest.output(f"ls -d {EXPORT}/rpcordma-peer-* 2>/dev/null; true").strip()


@pytest.mark.parametrize("case", ["reverse-call-vanish", "reverse-call"])
def test_files_that_a_case_has_left_open_are_removed(solo: Solo, peer: Peer, case: str) -> None:
    """Though the server would keep them for the client, which has gone without a word."""
    peer.run("conform", f"{solo.ADDRESS}:{PORT}", "--path", EXPORT, "--only", f"server/{case}")
    assert left_on_the_server(solo) == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_against_a_server_ends_in_order(solo: Solo, peer: Peer, number: signal.Signals) -> None:
    """The reports have what was tested, and nothing is left on the server."""
    process = peer.spawn("conform", f"{solo.ADDRESS}:{PORT}", "--path", EXPORT, "--results", "/tmp/cut.json",
                         "--junit", "/tmp/cut.xml", "--html", "/tmp/cut.html")
    process.expect("passed .*\n.*passed ", timeout=120)
    assert left_on_the_server(solo)
    process.kill(number)
    result = process.wait(120)
    assert result.status == 128 + number
    assert left_on_the_server(solo) == ""

    report = json.loads(peer.guest.read("/tmp/cut.json"))
    check_schema(report)
    assert report["interrupted"] == number.name
    assert 2 <= len(report["results"]) < report["planned"]
    said = f"interrupted by {number.name} after {len(report['results'])} of {report['planned']} cases"
    assert said in result.stdout
    assert said in peer.guest.read("/tmp/cut.xml")
    assert said in peer.guest.read("/tmp/cut.html")


def test_a_run_with_a_client_ends_while_it_waits_for_one(solo: Solo, peer: Peer) -> None:
    """It would wait for ten minutes."""
    process = peer.spawn("conform", "--listen", "--host", solo.ADDRESS, "--port", "20059", "--mount-port", "20058",
                         "--results", "/tmp/cut.json")
    process.expect("listening; on the client", timeout=120)
    process.kill(signal.SIGINT)
    assert process.wait(120).status == 128 + signal.SIGINT
    report = json.loads(peer.guest.read("/tmp/cut.json"))
    check_schema(report)
    assert report["results"] == []
    assert report["terms"] is None
