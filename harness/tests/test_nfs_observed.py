# SPDX-License-Identifier: GPL-2.0-only
"""What the netlink family and rpcordmactl say of connections is what happened to them."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from expectations import eventually, live_objects, mounted
from workloads import QUEUE_PAIR_FATAL, TRACE, guest_python, queue_pair_events, sysctl, traced, usual_lease, verified_io

from lab import Guest, Pair, Process
from lab.mountstats import MountStats
from lab.nfs import script
from lab.paths import CHECKOUT

pytestmark = [pytest.mark.about("both together"), pytest.mark.versions("4.2")]

Record = dict[str, Any]

MOUNTSTATS = "/proc/self/mountstats"
SYSCTLS = "/proc/sys/sunrpc"
# Another one of the server's.
OTHER_ADDRESS = "10.9.0.101"
SERVER_STATISTICS = {"svc_reads": "rdma_stat_read", "svc_receives": "rdma_stat_recv", "svc_writes": "rdma_stat_write",
                     "svc_send_waits": "rdma_stat_sq_starve"}
SETTINGS = {"slot_table_entries": "rdma_slot_table_entries", "max_inline_read": "rdma_max_inline_read",
            "max_inline_write": "rdma_max_inline_write", "highest_version": "rdma_highest_version",
            "svc_max_requests": "svc_rdma/max_requests", "svc_max_req_size": "svc_rdma/max_req_size",
            "svc_highest_version": "svc_rdma/highest_version"}
# The columns of mountstats that have another name in the family.
COLUMNS = {"connects": "connect_count", "request_bytes": "total_request_bytes", "reply_bytes": "total_reply_bytes",
           "bytes_copied_out": "pullup_copies", "bytes_copied_in": "fixup_copies", "registrations": "mrs_allocated",
           "registrations_lost": "mrs_orphaned", "waits_for_room": "empty_send_contexts",
           **{name: name for name in ("sends", "receives", "bad_xids", "read_chunks", "write_chunks", "reply_chunks",
                                      "failed_marshals", "bad_replies", "nomsg_calls", "local_invalidations")}}
PROGRAM = f"{CHECKOUT}/scripts/rpcordmactl"
# One interpreter for all of them: guests are slow.
COMMANDS = """
import contextlib, io, json, sys
sys.path.insert(0, sys.argv[1])
from rpcordmactl.command import main
for line in sys.argv[2:]:
    sys.argv = ["rpcordmactl", *line.split()]
    with contextlib.redirect_stdout(io.StringIO()) as output:
        status = main()
    print(json.dumps([line, status, output.getvalue()]))
"""
# To look at both ends while nothing happens.
ATTEMPTS = 20
# Seconds for one look, in a guest that has little of its processor.
PATIENCE = 120
MANY = 16


def observe(guest: Guest, *files: str) -> Record:
    """All records of a guest, and files that were the same before and after they were read."""
    found: Record = json.loads(guest.output(guest_python("observe.py", *files), timeout=PATIENCE))
    return found


def run_commands(guest: Guest, *lines: str) -> dict[str, str]:
    """What rpcordmactl prints for each of these command lines. Each must succeed."""
    words = " ".join(f"'{line}'" for line in lines)
    shown = guest.output(f"/usr/bin/python3 -B -c '{COMMANDS}' {CHECKOUT}/harness/ctl {words}", timeout=2 * PATIENCE)
    results = [json.loads(line) for line in shown.splitlines()]
    assert [status for _, status, _ in results] == [0] * len(lines), shown
    return {line: output for line, _, output in results}


@contextmanager
def monitored(*guests: Guest) -> Iterator[list[Process]]:
    """rpcordmactl monitor in each, from before the block on."""
    processes = [guest.spawn(f"{PROGRAM} -j monitor") for guest in guests]
    for process in processes:
        process.expect("rpcordmactl: listening", PATIENCE)
    yield processes
    for process in processes:
        process.kill()


def events(process: Process) -> list[Record]:
    """What a monitor has heard so far."""
    return [json.loads(line) for line in process.output.splitlines() if line.startswith("{")]


def only(records: list[Record], role: str) -> Record:
    """The one connection of that role."""
    found, = (record for record in records if record["role"] == role)
    return found


def assert_settings(observed: Record) -> None:
    """The module says what the sysctls say."""
    module, = observed["module"]
    said = {name: int(observed["files"][f"{SYSCTLS}/{file}"]) for name, file in SETTINGS.items()}
    assert {name: module[name] for name in said} == said
    assert module["kernel"] in observed["files"]["/proc/version"]


def assert_counts(observed: Record, requester: Record) -> None:
    """A requester's counters are the columns of mountstats, and each Reply has a latency."""
    counted, = MountStats.parse(observed["files"][MOUNTSTATS], "/mnt").transports
    assert {name: requester[name] for name in COLUMNS} == {name: counted[column] for name, column in COLUMNS.items()}
    assert min(requester[name] for name in ("read_chunks", "write_chunks", "registrations")) > 0
    assert sum(requester["latency"]) == requester["receives"] > 0
    least = sum(count << 9 + number for number, count in enumerate(requester["latency"]) if number)
    assert requester["latency_sum"] >= least


def observe_at_rest(pair: Pair, server_files: list[str], client_files: list[str]) -> tuple[Record, Record]:
    """Both ends, when the client has sent and received nothing between a look before the server's and one after it.

    It renews its lease on and on.
    """
    for _ in range(ATTEMPTS):
        before, server = observe(pair.client), observe(pair.server, *server_files)
        client = observe(pair.client, *client_files)
        if messages_of(before) == messages_of(client):
            return server, client
    raise AssertionError("the client went on all the time")


def messages_of(client: Record) -> tuple[int, int]:
    """How many its connection has sent and received."""
    requester = only(client["connection"], "requester")
    return requester["sends"], requester["receives"]


def assert_both_ends(responder: Record, requester: Record) -> None:
    """What both ends have to know is the same."""
    assert (requester["remote"], requester["local"]["address"]) == (responder["local"], responder["remote"]["address"])
    for name in ("state", "version", "credits_granted", "credits_asked", "call_threshold", "reply_threshold",
                 "remote_invalidation"):
        assert requester[name] == responder[name], name
    assert (requester["sends"], requester["receives"]) == (responder["receives"], responder["sends"])
    assert requester["credits_in_use"] == responder["credits_in_use"] == 0


def assert_traffic(responder: Record, requester: Record) -> None:
    """What one end of a connection has sent, the other has received: neither has seen another connection."""
    for mine, its in (("inline_sent", "inline_received"), ("inline_received", "inline_sent"),
                      ("read_chunks", "read_chunks"), ("read_chunk_bytes", "read_chunk_bytes"),
                      ("write_chunk_bytes", "write_chunk_bytes"), ("reply_chunk_bytes", "reply_chunk_bytes"),
                      ("remote_invalidations", "remote_invalidations"), ("reverse_calls", "reverse_calls"),
                      ("reverse_replies", "reverse_replies")):
        assert requester[mine] == responder[its], mine
    assert requester["read_chunk_bytes"] >= 1 << 19 and requester["write_chunk_bytes"] >= 1 << 19
    assert 0 < responder["write_chunks"] <= requester["write_chunks"]
    assert requester["reply_bytes"] == requester["write_chunk_bytes"] + requester["reply_chunk_bytes"]
    assert min(requester["inline_sent"], requester["inline_received"], requester["remote_invalidations"]) > 0
    assert requester["reverse_credits_in_use"] == responder["reverse_credits_in_use"] == 0
    assert (requester["private_data"], requester["peer_send_size"], requester["peer_receive_size"],
            requester["peer_remote_invalidation"]) == (1, 16384, 16384, 1)
    assert (responder["private_data"], responder["peer_send_size"], responder["peer_receive_size"],
            responder["peer_remote_invalidation"]) == (1, 8192, 16384, 1)


def assert_memory(guest: Guest, connection: Record) -> None:
    """Of the only connection of a guest, whose messages have up to 16 KiB one way and 8 KiB the other."""
    live = live_objects(guest)
    sizes = {"receive": 16384, "send": 8192} if connection["role"] == "requester" else {"receive": 8192, "send": 16384}
    for kind, size in sizes.items():
        assert connection[f"{kind}_memory"] == live[f"{kind}_buffers"] * size, kind
    registrations = live["registrations"]
    assert (connection["registration_memory"] > 0) == (registrations > 0)
    assert registrations == 0 or connection["registration_memory"] % registrations == 0


def assert_resources(guest: Guest, connection: Record) -> None:
    """Device, port and queue pair are those of "rdma resource"."""
    queue_pairs = json.loads(guest.output("rdma -j resource show qp"))
    shown, = (pair for pair in queue_pairs if pair["lqpn"] == connection["queue_pair"] and pair["type"] == "RC")
    assert (shown["ifname"], shown["port"], shown["state"]) == (connection["device"], connection["port"], "RTS")


def move_data(pair: Pair) -> None:
    """Read chunks, Write chunks, and neither."""
    pair.client.run("head -c 1M /dev/urandom >/mnt/observed && sync /mnt/observed && "
                    "echo 3 >/proc/sys/vm/drop_caches && cat /mnt/observed >/dev/null && rm /mnt/observed")


def test_what_is_shown_is_what_happened(pair: Pair, version: str) -> None:
    """Of both ends: a connection, its loss and the next one, by the family and by each command of rpcordmactl."""
    client_files = [MOUNTSTATS, "/proc/version", *(f"{SYSCTLS}/{file}" for file in SETTINGS.values())]
    server_files = [f"{SYSCTLS}/svc_rdma/{file}" for file in SERVER_STATISTICS.values()]
    # With the lab's own lease, the client renews it every few seconds: on a slow machine it is never at rest.
    with (usual_lease(pair), sysctl(pair.client, rdma_highest_version=1, rdma_max_inline_write=8192),
          queue_pair_events(pair.server) as tell,
          traced(pair.client, pair.server, events="rpcordma/rpcordma_disconnect"),
          monitored(pair.client, pair.server) as monitors, mounted(pair, version)):
        move_data(pair)
        server, client = observe_at_rest(pair, server_files, client_files)
        requester, responder = only(client["connection"], "requester"), only(server["connection"], "responder")
        assert_settings(client)
        assert_counts(client, requester)
        assert_both_ends(responder, requester)
        assert sum(responder["latency"]) == responder["sends"] > 0
        assert 0 < responder["latency_sum"] < requester["latency_sum"]
        assert_traffic(responder, requester)
        assert_memory(pair.client, requester)
        assert_memory(pair.server, responder)
        assert_resources(pair.client, requester)
        assert_resources(pair.server, responder)
        assert requester["remote"] == {"address": Pair.SERVER_ADDRESS, "port": 20049}
        assert (requester["version"], requester["call_threshold"]) == (1, 8192)
        pair.client.run(f"grep -q dst_port=20049 /sys/kernel/sunrpc/xprt-switches/*/"
                        f"xprt-{requester['xprt_id']}-rdma/xprt_info")
        module, = server["module"]
        assert {name: module[name] for name in SERVER_STATISTICS} == {
            name: int(server["files"][f"{SYSCTLS}/svc_rdma/{file}"]) for name, file in SERVER_STATISTICS.items()}
        assert sorted((listener["address"]["address"], listener["address"]["port"], listener["is_listening"])
                      for listener in server["listener"]) == [("0.0.0.0", 20049, 1), ("::", 20049, 1)]

        tell(QUEUE_PAIR_FATAL)
        eventually(pair.server, f"grep -q \"reason='queue pair'\" {TRACE}", 30)
        move_data(pair)
        again, lost = observe(pair.client, *client_files), observe(pair.server)["disconnect"][-1]
        assert_counts(again, only(again["connection"], "requester"))
        assert only(again["connection"], "requester")["connects"] == 2
        traced_as = re.findall(r"reason='(.*?)' detail='(.*?)'", pair.server.read(TRACE))
        assert (lost["reason"], lost["detail"]) == traced_as[0]
        assert lost["connection"] == responder["id"]
        assert again["disconnect"][-1]["connection"] == requester["id"]
        assert again["disconnect"][-1]["reason"] == "connection event"

        printed = run_commands(
            pair.client, "status", "-j connections", "connections -s", f"connections show {requester['id']}",
            "-j disconnects", "disconnects", "latency", "latency -j", "metrics", "metrics --prometheus",
            "report /tmp/report.tar.gz")
        assert_printed(printed, requester["id"])
        assert_report(pair.client)
    assert_heard(monitors, requester["id"], responder["id"])


def test_a_connection_is_shown_with_the_server_that_it_leads_to(pair: Pair, version: str) -> None:
    """And not with the one whose address was written to dstaddr meanwhile."""
    pair.server.run(script("network", "address", "add", f"{OTHER_ADDRESS}/24"))
    with mounted(pair, version):
        move_data(pair)
        pair.client.run(f"echo {OTHER_ADDRESS} | tee /sys/kernel/sunrpc/xprt-switches/*/xprt-*-rdma/dstaddr")
        move_data(pair)
        observed = observe(pair.client)
    pair.server.run(script("network", "address", "del", f"{OTHER_ADDRESS}/24"))
    requester = only(observed["connection"], "requester")
    ended = next(end for end in reversed(observed["disconnect"]) if end["connection"] == requester["id"])
    assert ended["remote"]["address"] == Pair.SERVER_ADDRESS
    assert requester["remote"]["address"] == OTHER_ADDRESS


def test_what_the_service_closes_is_said_to_be_closed_by_it(pair: Pair, version: str) -> None:
    """And not lost by what the device reports of the end."""
    with mounted(pair, version), traced(pair.server, events="rpcordma/rpcordma_disconnect"):
        move_data(pair)
        responder = only(observe(pair.server)["connection"], "responder")
        pair.server.run(script("nfs-server", "stop"), timeout=PATIENCE)
        ends = [(end["reason"], end["detail"]) for end in observe(pair.server)["disconnect"]
                if end["connection"] == responder["id"]]
        traced_as = re.findall(r"reason='(.*?)'", pair.server.read(TRACE))
        pair.server.run(f"{script('nfs-server', 'serve')}; echo Y >/proc/fs/nfsd/v4_end_grace", timeout=PATIENCE)
    assert ends == [("closed by the service", "")]
    assert not traced_as


def assert_printed(printed: dict[str, str], number: int) -> None:
    """The connection is in all that is printed."""
    connection = only(json.loads(printed["-j connections"])["connections"], "requester")
    assert connection["id"] == number
    assert "1 requester connected" in printed["status"] and "on /mnt" in printed["status"]
    assert f"connection {number} has a reply threshold" not in printed["status"]
    assert f"{Pair.SERVER_ADDRESS}:20049" in printed["connections -s"]
    assert "connection event" in printed[f"connections show {number}"]
    assert json.loads(printed["-j disconnects"])["disconnects"][-1]["connection"] == number
    assert "connection event: disconnected" in printed["disconnects"]
    assert json.loads(printed["latency -j"])["latencies"][0]["replies"] >= connection["receives"]
    for text in (printed["metrics"], printed["metrics --prometheus"]):
        assert re.search(rf'rpcordma_connects_total{{connection="{number}",.*}} 2\.0', text)


def assert_report(guest: Guest) -> None:
    """A report has what it should, and no name of a directory that is mounted."""
    listed = guest.output("cd /tmp && tar xzf report.tar.gz && cat report/* && ls report; rm -r report report.tar.gz")
    assert {"status.json", "mountstats", "sysctls", "log", "rdma-qp"} <= set(listed.splitlines())
    assert "connection event" in listed and "/mnt" not in listed and "tmpfs" not in listed


def assert_heard(monitors: list[Process], requester: int, responder: int) -> None:
    """Each end told of both of its connections, and of the loss of the first one. The responder has another id then."""
    of_client, of_server = map(events, monitors)
    mine = [event["happening"] for event in of_client if event["connection"] == requester]
    assert mine[:3] == ["connected", "disconnected", "connected"]
    theirs = [event["happening"] for event in of_server if event["connection"] == responder]
    assert theirs == ["connected", "disconnected"]
    loss = next(event for event in of_server if event["happening"] == "disconnected")
    assert (loss["connection"], loss["reason"]) == (responder, "queue pair")


def test_connections_come_and_go_while_they_are_dumped(pair: Pair, version: str) -> None:
    """Dumps of several parts, at both ends, while connections break and mounts come and go; each dump is in order."""
    stop = "/run/observed.stop"
    for guest in pair.guests:
        guest.run(f"rm -f {stop}")
    dumping = [guest.spawn(guest_python("observe.py", "--until", stop)) for guest in pair.guests]
    for process in dumping:
        process.expect("dumping", PATIENCE)
    with mounted(pair, version), verified_io(pair.client):
        pair.client.run(guest_python("disconnect.py", 3), timeout=300)
    with mounted(pair, version, options=f"nconnect={MANY}"):
        pair.client.run("for n in $(seq 32); do echo $n >/mnt/observed-$n; done; rm /mnt/observed-*")
        assert len(observe(pair.client)["connection"]) == MANY
    # A transport connects when it has something to send.
    for process, guest, least in zip(dumping, pair.guests, (MANY // 2, MANY)):
        guest.run(f"touch {stop}")
        result = process.wait(PATIENCE)
        assert result.status == 0, result.stdout
        done = json.loads(result.stdout.splitlines()[-1])
        assert done["dumps"] > 10 and done["connections"] >= least and done["parts"] >= 2, done


def test_only_who_may_sees_connections(pair: Pair, version: str) -> None:
    """Another network namespace sees none of them; without CAP_NET_ADMIN there is only the module."""
    with mounted(pair, version):
        assert json.loads(pair.client.output(f"unshare -n {guest_python('observe.py')}"))["connection"] == []
        refused = pair.client.run(f"setpriv --reuid nobody --clear-groups {guest_python('observe.py')}", check=False)
        assert refused.status != 0 and "PermissionError" in refused.stdout, refused.stdout
