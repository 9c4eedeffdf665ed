# SPDX-License-Identifier: GPL-2.0-only
"""rpcordma-peer ping, and what all its subcommands have in common."""

import re
import signal

import pytest
from lab.conformance import CASES
from lab.peer import Peer
from lab.solo import Solo

COUNT = "50"
KINDS = [("NULL call", 1), ("NULL call", 16), ("Send and Receive", 1), ("Send and Receive", 16),
         ("RDMA Read", 1), ("RDMA Write", 1)]
FINE, FAILED, WRONG_USE, NO_CONNECTION, NO_EXPORT = range(5)


def calls_of(solo: Solo) -> int:
    """How many Calls nfsd has served, NULL calls among them."""
    return int(solo.guest.output("awk '$1 == \"rpc\" { print $2 }' /proc/net/rpc/nfsd"))


def check_measurements(result: dict) -> None:
    """Each kind was measured, and its numbers are possible ones."""
    measurements = result["measurements"]
    assert [(measured["what"], measured["depth"]) for measured in measurements] == KINDS
    for measured in measurements:
        assert measured["per_second"] > 0
        if measured["depth"] == 1:
            latency = measured["latency_us"]
            assert 0 < latency["min"] <= latency["median"] <= latency["percentile_99"]
            assert latency["percentile_99"] <= latency["max"] < 1e7
        else:
            assert "latency_us" not in measured
    assert [measured["size"] for measured in measurements] == [68, 68, 68, 68, 4096, 4096]


@pytest.mark.parametrize("version", ["3", "4"])
def test_null_calls_and_bare_verbs_side_by_side(solo: Solo, peer: Peer, version: str) -> None:
    """Every NULL call reaches nfsd, and bare verbs are measured on the same device."""
    before = calls_of(solo)
    result = peer.json("ping", solo.ADDRESS, "--count", COUNT, "--nfs-version", version)
    assert result["server"] == f"{solo.ADDRESS}:20049"
    assert result["floor"]["with"].startswith(f"{solo.ADDRESS}:")
    assert "this machine" in result["floor"]["where"]
    assert result["floor"]["ratio"] > 0
    check_measurements(result)
    # Latency and throughput, and ten calls to warm up.
    assert calls_of(solo) - before == 2 * int(COUNT) + 10


@pytest.mark.parametrize("listening, at", [("10.9.0.1:20051", "10.9.0.1:20051"),
                                           ("*:20051", "10.9.0.1:20051"),
                                           ("*:20051", "[fd09::1]:20051"),
                                           ("[fd09::1]:20051", "[fd09::1]:20051")])
def test_bare_verbs_with_an_echo_elsewhere(solo: Solo, peer: Peer, listening: str,
                                           at: str) -> None:
    """The echo serves one after the other, and the output says where it was."""
    echo = peer.spawn("ping", "--listen", listening.removeprefix("*"))
    try:
        echo.expect(f"listening at {re.escape(listening)}\n", timeout=120)
        for _ in range(2):
            result = peer.json("ping", solo.ADDRESS, "--count", COUNT, "--floor", at)
            assert result["floor"]["with"] == at
            assert "other machine" in result["floor"]["where"]
            check_measurements(result)
    finally:
        echo.kill(signal.SIGTERM)
        echo.guest.wait_for(lambda: echo.status is not None, 120, "the echo's end")


def test_the_table_is_for_people(solo: Solo, peer: Peer) -> None:
    """It names what was measured, and how much longer a NULL call takes."""
    table = peer.run("ping", solo.ADDRESS, "--count", COUNT, "--size", "1048576").stdout
    assert "bare verbs with 10.9.0.1:" in table
    assert "times as long as a Send and its answer without RPC" in table
    assert "RDMA Write        1048576      1" in table


@pytest.mark.parametrize("arguments, status, says", [
    (["ping", "10.9.0.1:1"], NO_CONNECTION, "nobody listens there"),
    (["ping", "127.0.0.1"], NO_CONNECTION, "rdma link"),
    (["ping", "nowhere.invalid"], NO_CONNECTION, "no address for 'nowhere.invalid'"),
    (["ping", "10.9.0.1", "--floor", "10.9.0.1:20049", "--timeout", "2", "--count", "1"],
     NO_CONNECTION, "is not an echo"),
    (["ping", "10.9.0.1", "--nfs-version", "7"], FAILED, "NFS version 7"),
    (["conform", "10.9.0.1", "--path", "/nowhere"], NO_EXPORT, "refuses /nowhere"),
    (["conform", "10.9.0.1:1", "--path", "/nowhere"], NO_CONNECTION, "nobody listens there"),
    (["conform", "--only", "null", "10.9.0.1", "--path", "/srv/nfs/tmpfs"], FINE, "1 passed"),
    (["conform", "--only", "server/null", "--repeat", "3", "10.9.0.1", "--path", "/srv/nfs/tmpfs"], FINE, "1 passed"),
    (["conform", "10.9.0.1", "--onyl", "null"], WRONG_USE, "no such option: --onyl; did you mean --only?"),
    (["bogus"], WRONG_USE, "no such command: bogus"),
    (["pong"], WRONG_USE, "no such command: pong; did you mean ping?"),
    *[(["conform", "10.9.0.1:1", option, "/nowhere/file"], WRONG_USE,
       f"{option}: /nowhere/file cannot be written: No such file or directory")
      for option in ("--results", "--junit", "--html", "--mark")],
    (["ping"], WRONG_USE, "SERVER"),
    (["ping", "10.9.0.1:x"], WRONG_USE, "no port"),
    (["ping", "10.9.0.1", "--depth", "0"], WRONG_USE, "--depth"),
    (["conform", "10.9.0.1", "--patience", "0"], WRONG_USE, "--patience"),
    (["conform", "--listen", "10.9.0.1", "--list"], WRONG_USE, "names a SERVER to test, or says --listen"),
    (["conform", "--list", "--only", "RFC 8166, 3.2"], FINE, "server/null"),
    ([], WRONG_USE, "subcommand"),
    (["--version"], FINE, "rpcordma-peer "),
    (["ping", "--help"], FINE, "--floor")])
def test_what_goes_wrong_is_named(peer: Peer, arguments: list[str], status: int,
                                  says: str) -> None:
    """The exit status is for scripts, the text for people."""
    result = peer.run(*arguments, check=False)
    assert says in result.stdout
    assert result.status == status


def test_without_permission_the_device_is_named(peer: Peer) -> None:
    """Not everybody may open an RDMA device."""
    result = peer.guest.run("chmod 600 /dev/infiniband/*; "
                            "setpriv --reuid nobody --clear-groups "
                            f"{peer.program} ping 10.9.0.1; status=$?; "
                            "chmod 666 /dev/infiniband/*; exit $status", check=False)
    assert result.status == NO_CONNECTION
    assert "/dev/infiniband/rdma_cm" in result.stdout


def test_a_report_that_cannot_be_finished_is_named(solo: Solo, peer: Peer) -> None:
    """The others are whole, and what was found is printed."""
    case = CASES / "server" / "null.case"
    result = peer.run("run", str(case), "--server", solo.ADDRESS, "--path", "/srv/nfs/tmpfs",
                      "--results", "/dev/full", "--junit", "/tmp/null.xml", check=False)
    assert "/dev/full could not be written to its end" in result.stdout
    assert "1 passed, 0 failed, 0 skipped" in result.stdout
    assert peer.guest.read("/tmp/null.xml").rstrip().endswith("</testsuites>")
    assert result.status == WRONG_USE


def test_marks_are_appended(solo: Solo, peer: Peer) -> None:
    """What a file held before is still there."""
    peer.guest.run("echo before >/tmp/marks")
    cases = [str(CASES / "server" / f"{name}.case") for name in ("null", "getattr")]
    peer.run("run", *cases, "--server", solo.ADDRESS, "--path", "/srv/nfs/tmpfs",
             "--mark", "/tmp/marks")
    assert peer.guest.read("/tmp/marks").splitlines() == [
        "before", "rpcordma-peer: case server/null", "rpcordma-peer: case server/getattr"]


def test_single_cases_need_no_source_tree(solo: Solo, peer: Peer) -> None:
    """A copy of the program runs them; a whole suite takes the list of requirements, too."""
    peer.guest.run("mkdir -p /tmp/copy/cases/server; "
                   f"cp {peer.program} /tmp/copy; cp {CASES}/server/null.case /tmp/copy/cases/server")
    alone = peer.guest.run(f"unshare -m sh -c 'mount -t tmpfs none {CASES.parent} && "
                           "/tmp/copy/rpcordma-peer run /tmp/copy/cases/server/null.case "
                           f"--server {solo.ADDRESS} --path /srv/nfs/tmpfs'")
    assert "1 passed, 0 failed, 0 skipped" in alone.stdout
    whole = peer.run("conform", solo.ADDRESS, "--path", "/srv/nfs/tmpfs",
                     "--cases", "/tmp/copy/cases", check=False)
    assert "it belongs beside the directory that --cases names" in whole.stdout
    assert whole.status == WRONG_USE
