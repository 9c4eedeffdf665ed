# SPDX-License-Identifier: GPL-2.0-only
"""What rpcordmactl makes of the netlink family's records, without the module."""

import errno
import fcntl
import json
import re
import signal
import socket
import stat
import struct
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
from ctl.rpcordmactl import colours, command, connections, family, latency, machine, metrics, records, status, text
from ctl.rpcordmactl.errors import Failure, NotLoaded, NotPermitted
from ctl.rpcordmactl.records import Address
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_prometheus
from pyroute2.netlink import CTRL_CMD_DELFAMILY, CTRL_CMD_NEWFAMILY, GENL_ID_CTRL, ctrlmsg
from pyroute2.netlink.exceptions import NetlinkError

TOP = Path(__file__).resolve().parents[3]
PROGRAM = f"{TOP}/scripts/rpcordmactl"
PEER = Address("10.1.1.1", 20049)
MODULE = {"version": "1.2", "kernel": "6.12", "max_inline_read": 16384, "max_inline_write": 16384,
          "highest_version": 2, "svc_highest_version": 1, "svc_reads": 1, "svc_receives": 2, "svc_writes": 3,
          "svc_send_waits": 4, "svc_connects": 5, "svc_disconnects": 6, "svc_refused": 7, "svc_errors_sent": 8}
# 90 Replies below 2048 ns, nine below 8192, one that took longer than all intervals but the last.
LATENCY = [0, 90, 0, 9] + [0] * 19 + [1]


def connection(**values: Any) -> records.Record:
    """A requester's, which is there."""
    return {"id": 3, "role": "requester", "state": "connected", "remote": PEER, "xprt_id": 7, "device": "rxe0",
            "port": 1, "queue_pair": 17, "age": 3700, "version": 1,
            "credits_in_use": 1, "credits_granted": 32, "credits_asked": 64,
            "reverse_credits": 2, "call_threshold": 4096, "reply_threshold": 16384, "receives": 100, "sends": 101,
            "latency": LATENCY, "latency_sum": 1_000_000, **values}


def responder() -> records.Record:
    """The other end of one."""
    return {"id": 4, "role": "responder", "state": "connecting", "remote": Address("fe80::1%eth0", 1023), "receives": 5,
            "sends": 6, "latency": [0] * len(LATENCY), "latency_sum": 0}


def without_address(record_: records.Record) -> records.Record:
    """One whose peer has an address that is none, as after a wrong one was written to dstaddr."""
    return {name: value for name, value in record_.items() if name != "remote"}


def message(kind: str, **values: bytes) -> dict[str, Any]:
    """What pyroute2 makes of a message with these attributes."""
    numbers = {name: number for number, name in enumerate(records.ATTRIBUTES[kind], 1)}
    body = struct.pack("=BBH", 3, 1, 0)
    for name, value in values.items():
        header = struct.pack("=HH", 4 + len(value), numbers[name.replace("_", "-")])
        body += header + value + bytes(-len(value) % 4)
    whole = struct.pack("=IHHII", 16 + len(body), 30, 0, 1, 0) + body
    decoded = family.message_class(kind)(whole)
    decoded.decode()
    return decoded


def record(kind: str, **values: bytes) -> records.Record:
    """The same as a record."""
    return records.record_of(kind, message(kind, **values)["attrs"])


def test_a_message_becomes_a_record() -> None:
    """Each type of attribute."""
    remote = struct.pack("=H", socket.AF_INET) + struct.pack("!H4s8x", 20049, bytes([10, 1, 1, 1]))
    assert record("connection", id=struct.pack("=Q", 1 << 40), role=struct.pack("=I", 1), state=struct.pack("=I", 9),
                  remote=remote, device=b"rxe0\0", pad=b"", queue_pair=struct.pack("=I", 17),
                  latency=struct.pack("=24Q", *LATENCY)) == {
        "id": 1 << 40, "role": "responder", "state": "9", "remote": PEER, "device": "rxe0", "queue_pair": 17,
        "latency": LATENCY}


def test_a_tally_has_an_attribute_for_each_name() -> None:
    """The record has one dict of them. What a later module says more is left out."""
    later = struct.pack("=HHI", 8, len(records.ATTRIBUTES["tally"]) + 1, 1)

    def tallied(name: bytes, count: int) -> bytes:
        text = struct.pack("=HH", 4 + len(name), 2) + name + bytes(-len(name) % 4)
        return text + struct.pack("=HH", 4, 1) + struct.pack("=HHQ", 12, 3, count) + later

    attributes = [("waits", tallied(b"credits\0", 3)), ("refused", tallied(b"too short\0", 1)),
                  ("waits", tallied(b"send queue\0", 1 << 40))]
    assert records.record_of("connection", attributes) == {
        "waits": {"credits": 3, "send queue": 1 << 40}, "refused": {"too short": 1}}
    assert record("connection", errors_sent=tallied(b"ERR_CHUNK\0", 2)) == {"errors_sent": {"ERR_CHUNK": 2}}


def test_addresses() -> None:
    """Of both families, and on a link."""
    packed = struct.pack("=H", socket.AF_INET6) + struct.pack("!HI", 20049, 0)
    assert str(records.address_of(packed + bytes(15) + b"\1" + bytes(4))) == "[::1]:20049"
    link_local = packed + bytes([0xfe, 0x80]) + bytes(13) + b"\1" + struct.pack("=I", 99999)
    assert records.address_of(link_local) == Address("fe80::1%99999", 20049)


def test_percentiles_are_ends_of_intervals() -> None:
    """The last interval has none."""
    assert latency.percentile(LATENCY, 50) == 2048
    assert latency.percentile(LATENCY, 90) == 2048
    assert latency.percentile(LATENCY, 90.5) == 8192
    assert latency.percentile(LATENCY, 99) == 8192
    assert latency.percentile(LATENCY, 99.9) is None
    assert latency.percentile([0, 0, 5, 0], 0.1) == 4096


def test_latency_in_a_line() -> None:
    """With the mean, and without any Reply."""
    assert latency.one_line(connection()).split("  ") == [
        "replies 100", "mean 10us", "p50 <2.05us", "p90 <2.05us", "p99 <8.19us", "p99.9 >4.29s"]
    assert latency.one_line(connection(latency=[0] * 24, latency_sum=0)) == "no Reply yet"
    assert latency.drawn(connection(latency=[0] * 24)) == ""


def test_the_drawn_histogram() -> None:
    """From the first interval with a Reply to the last: a small one is seen, too."""
    assert latency.drawn(connection(latency=[0, 80, 0, 9, 1, 0, 0])).splitlines() == [
        "  <2.05us  80  ########################################",
        "   <4.1us   0",
        "  <8.19us   9  ####",
        "  <16.4us   1  ."]


def test_the_table() -> None:
    """What a connection that is not there lacks is a dash."""
    assert connections.overview([connection(), responder()], False).splitlines() == [
        "ID  ROLE       STATE       REMOTE               LINK    LQPN  VERSION  CREDITS  THRESHOLDS  AGE",
        " 3  requester  connected   10.1.1.1:20049       rxe0/1  17    1        1/32/64  4096/16384  1h1m",
        " 4  responder  connecting  [fe80::1%eth0]:1023  -       -     -        -        -           -"]


def test_statistics_follow_their_connection() -> None:
    """Only what it has counted."""
    lines = connections.overview([connection(), responder()], True).splitlines()
    assert lines[2] == "    receives 100  sends 101"
    assert lines[3].startswith("    replies 100  mean")
    assert lines[5:] == ["    receives 5  sends 6", "    no Reply yet"]
    lines = connections.overview([connection(waits={"credits": 3, "pages": 1})], True).splitlines()
    assert lines[3] == "    waits: credits 3, pages 1"
    shown = connections.details(connection(waits={"credits": 3, "pages": 1}), [])
    assert any(line.split(maxsplit=1) == ["waits", "credits 3, pages 1"] for line in shown.splitlines())


def test_durations_and_ages() -> None:
    """Units."""
    assert [text.duration(time) for time in (0, 999, 1000, 2048, 999_000_000, 1_500_000_000, 5_000_000_000_000)] == [
        "0ns", "999ns", "1us", "2.05us", "999ms", "1.5s", "5000s"]
    assert [text.duration(time) for time in (999_499, 999_500, 999_499_999, 999_500_000, 999_499_999_999,
                                             999_500_000_000)] == ["999us", "1ms", "999ms", "1s", "999s", "1000s"]
    assert [text.age(seconds) for seconds in (0, 59, 61, 3599, 3600, 90000)] == [
        "0s", "59s", "1m1s", "59m59s", "1h0m", "1d1h"]


def test_openmetrics_can_be_read() -> None:
    """By the reader of the library that Prometheus provides, which insists on the order and the names."""
    collector = metrics.Collector(MODULE, [{"address": PEER, "is_listening": 1}],
                                  [connection(errors_received={"ERR_VERS": 2}), responder()])
    written = metrics.text(collector, False)
    assert written.endswith("# EOF\n")
    samples = {(sample.name, sample.labels.get("connection"), sample.labels.get("le")): sample.value
               for family_ in parse_openmetrics(written) for sample in family_.samples}
    assert samples["rpcordma_sends_total", "3", None] == 101
    assert samples["rpcordma_sends_total", "4", None] == 6
    assert samples["rpcordma_svc_writes_total", None, None] == 3
    assert samples["rpcordma_svc_errors_sent_total", None, None] == 8
    assert samples["rpcordma_latency_seconds_bucket", "3", "2.048e-06"] == 90
    assert samples["rpcordma_latency_seconds_bucket", "3", "+Inf"] == 100
    assert samples["rpcordma_latency_seconds_count", "3", None] == 100
    assert samples["rpcordma_latency_seconds_sum", "3", None] == 0.001
    assert samples["rpcordma_connected", "4", None] == 0
    assert ("rpcordma_credits_granted", "4", None) not in samples
    assert samples["rpcordma_errors_received_total", "3", None] == 2
    assert 'reason="ERR_VERS"' in written


def test_prometheus_text_can_be_read() -> None:
    """The format of node_exporter's files."""
    collector = metrics.Collector(MODULE, [], [connection()])
    types = {family_.name: family_.type for family_ in parse_prometheus(metrics.text(collector, True))}
    assert types["rpcordma_sends"] == "counter"
    assert types["rpcordma_latency_seconds"] == "histogram"


@pytest.mark.parametrize("changes, warning", [
    ({"in_tree_loaded": True}, "the in-tree module rpcrdma is loaded"),
    ({"module": None, "connections": None}, "the module rpcordma is not loaded"),
    ({"kernels": {"6.1": False}}, "kernel 6.1 lacks the module"),
    ({"devices": []}, "no RDMA device"),
    ({"devices": None}, "rdma (iproute2) did not answer"),
    ({"devices": [{"device": "rxe0", "registers": False}]}, "device rxe0 cannot register"),
    ({"connections": [connection()]}, "connection 3 has a call threshold of 4096 bytes"),
    ({"connections": [connection(call_threshold=16384, reply_threshold=4096)]}, "connection 3 has a reply threshold"),
])
def test_warnings(changes: dict[str, Any], warning: str) -> None:
    """One for each thing that is wrong, and none otherwise."""
    well = {"in_tree_loaded": False, "module": MODULE, "kernels": {"6.12": True},
            "devices": [{"device": "rxe0", "registers": True}],
            "connections": [connection(call_threshold=16384), connection(version=2), responder()]}
    assert not list(status.warnings(well))
    assert not list(status.warnings({**well, "kernels": {"6.12": False}})), "it was loaded by hand"
    said, = status.warnings({**well, **changes})
    assert said.startswith(warning)


@pytest.mark.parametrize("setting, values, cure", [
    (16384, {"call_threshold": 4096, "peer_receive_size": 4096}, "raise svc_rdma.max_req_size at 10.1.1.1"),
    (16384, {"reply_threshold": 4096, "peer_send_size": 4096}, "raise svc_rdma.max_req_size at 10.1.1.1"),
    (16384, {"call_threshold": 4096, "peer_receive_size": 16384}, "let the client reconnect"),
    (16384, {"reply_threshold": 4096, "peer_send_size": 16384, "peer_receive_size": 4096}, "let the client reconnect"),
    (16384, {"call_threshold": 1024, "private_data": 0}, "gets what every server takes"),
    # The module makes 4096 of it.
    (5000, {"call_threshold": 4096, "reply_threshold": 4096, "peer_receive_size": 4096, "peer_send_size": 4096}, None),
])
def test_small_thresholds(setting: int, values: dict[str, int], cure: str | None) -> None:
    """The peer is blamed for what it has said, and not for a setting that is newer than the connection."""
    module = {**MODULE, "max_inline_read": setting, "max_inline_write": setting}
    said = list(status.mismatches(module, connection(**{"call_threshold": 16384, **values})))
    assert [warning.endswith(cure or "") for warning in said] == [True] * (cure is not None)


def test_a_module_that_was_loaded_by_hand() -> None:
    """Is there, though no kernel has it where modprobe looks."""
    shown = status.text({"in_tree_loaded": False, "module": MODULE, "kernels": {"6.12": False}, "devices": [],
                         "mounts": [], "listeners": [], "connections": [], "disconnects": []})
    assert "6.12: has the module loaded by hand, not installed\n" in shown


def test_without_its_library() -> None:
    """Python without what Debian's packages add to it."""
    ended = subprocess.run(["/usr/bin/python3", "-S", PROGRAM, "status"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == "rpcordmactl: it takes a library: apt install python3-pyroute2\n"


def test_mounts_over_rdma() -> None:
    """Not those over TCP."""
    stats = ("device 10.1.1.1:/a mounted on /mnt with fstype nfs4 statvers=1.1\n\txprt:\trdma 0 0\n\txprt:\trdma 0 0\n"
             "device 10.1.1.1:/b mounted on /b with fstype nfs4 statvers=1.1\n\txprt:\ttcp 0 0\n"
             "device proc mounted on /proc with fstype proc\n")
    assert machine.mounts(stats) == [{"device": "10.1.1.1:/a", "path": "/mnt", "connections": 2}]


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """What "rdma" of iproute2 says of links and of devices, which not all say what they can do; and where it fails."""
    said = {("rdma", "-j", "link"): '[{"ifname": "rxe0", "port": 1, "state": "ACTIVE", "netdev": "eth0"},'
                                    ' {"ifname": "old0", "port": 2, "state": "DOWN"}, {"ifname": "ib0", "port": 1}]',
            ("rdma", "-j", "-d", "dev"): '[{"ifname": "rxe0", "caps": ["MEM_MGT_EXTENSIONS", "SRQ_RESIZE"]},'
                                         ' {"ifname": "old0", "caps": ["SRQ_RESIZE"]}]'}
    monkeypatch.setattr(machine, "output_of", lambda *command_: said.get(command_))
    assert [(device["device"], device["netdev"], device["registers"]) for device in machine.devices() or []] == [
        ("rxe0", "eth0", True), ("old0", "", False), ("ib0", "", True)]
    del said["rdma", "-j", "-d", "dev"]
    assert all(device["registers"] for device in machine.devices() or [])
    said["rdma", "-j", "link"] = ""
    assert machine.devices() == []
    said["rdma", "-j", "link"] = "error"
    assert machine.devices() is None
    said.clear()
    assert machine.devices() is None


@pytest.mark.parametrize("number, kind", [(2, NotLoaded), (1, NotPermitted), (13, NotPermitted), (12, Failure)])
def test_errors_have_statuses(number: int, kind: type[Failure]) -> None:
    """What the kernel says, as what is to be done."""
    assert type(family.failure_of(OSError(number, "text"))) is kind


class Socket:
    """Of generic netlink, whose families are all new, and which hears what it was told."""

    families = iter(())
    heard: list[Any] = []

    def __init__(self) -> None:
        self.mcast_groups = {"events": 5}
        self.joined: set[int] = set()

    def __enter__(self) -> "Socket":
        return self

    def close(self) -> None:
        """Needs nothing."""

    def bind(self, *_: Any) -> None:
        """To the family that is there at this time."""
        self.prid = next(self.families)
        if not self.prid:
            raise NetlinkError(errno.ENOENT)

    def discovery(self, name: str) -> Any:
        """What the kernel answers."""
        assert name == "nlctrl"
        return control(name, CTRL_CMD_NEWFAMILY)

    def add_membership(self, name: str) -> None:
        """Notes it."""
        self.joined.add(self.mcast_groups[name])

    def get(self) -> list[Any]:
        """The next messages, or that some were lost."""
        assert self.joined == {5, 16}
        said = self.heard.pop(0)
        if not said:
            raise OSError(errno.ENOBUFS, "lost")
        return [said]


def control(name: str, number: int) -> Any:
    """A message of nlctrl, read as it is received."""
    group = [["CTRL_ATTR_MCAST_GRP_NAME", "notify"], ["CTRL_ATTR_MCAST_GRP_ID", 16]]
    made = ctrlmsg()
    made["cmd"] = number
    made["header"]["type"] = GENL_ID_CTRL
    made["attrs"] = [["CTRL_ATTR_FAMILY_NAME", name], ["CTRL_ATTR_MCAST_GROUPS", [{"attrs": group}]]]
    made.encode()
    read = ctrlmsg(made.data)
    read.decode()
    return read


@pytest.mark.parametrize("families, told, shown", [
    # Another one goes, and this one.
    ([30] * 2, [("other", CTRL_CMD_DELFAMILY), "event", (family.NAME, CTRL_CMD_NEWFAMILY),
                (family.NAME, CTRL_CMD_DELFAMILY)], ["", "connected"]),
    # It went before the monitor listened; it went, and came again, with what was lost.
    ([30, 0], [], []), ([30, 30, 0], [""], [""]), ([30, 30, 30, 31], ["", "event", ""], ["", "", "connected"])])
def test_the_monitor_ends_when_the_module_is_unloaded(families: list[int], told: list[Any], shown: list[str],
                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    """It would hear nothing of a module that is loaded again."""
    event = message("event", happening=struct.pack("=I", 0))
    monkeypatch.setattr(Socket, "families", iter(families))
    monkeypatch.setattr(Socket, "heard", [event if said == "event" else said and control(*said) for said in told])
    monkeypatch.setattr(family, "GenericNetlinkSocket", Socket)
    seen = []
    with pytest.raises(Failure, match="was unloaded") as ended:
        for record_ in family.events():
            seen.append(record_.get("happening", ""))
    assert (seen, ended.value.status) == (shown, 3)
    assert not Socket.heard


COMPLETIONS: list[tuple[list[str], set[str]]] = [
    (["conn"], {"connections"}),
    (["-j", "m"], {"monitor", "metrics"}),
    (["connections", ""], {"show"}),
    (["connections", "--w"], {"--watch"}),
    (["metrics", "--p"], {"--pretty", "--prometheus"}),
    (["--color", ""], {"auto", "always", "never"}),
]


def offered_by_bash(*words: str) -> set[str]:
    """For the last one."""
    return set(subprocess.run(
        ["bash", "-c", 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
         '_rpcordmactl "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"; '
         'printf "%s\n" "${COMPREPLY[@]}"', "bash", f"{TOP}/harness/ctl/completion.bash", *words],
        check=True, capture_output=True, text=True).stdout.split())


def offered_by_zsh(*lines: str) -> list[set[str]]:
    """For the end of each line."""
    shown = subprocess.run([TOP / "harness/tests/zsh_offers", TOP / "harness/ctl/completion.zsh", "rpcordmactl"],
                           input="\n".join(lines) + "\n", check=True, capture_output=True, text=True).stdout
    return [set(offers.split()) for offers in shown.split("\n\n")[:-1]]


@pytest.mark.parametrize("words, offered", COMPLETIONS)
def test_completion(words: list[str], offered: set[str]) -> None:
    """What bash offers."""
    assert offered_by_bash(PROGRAM, *words) == offered


def test_completion_in_zsh() -> None:
    """The same."""
    assert offered_by_zsh(*(f"{PROGRAM} {' '.join(words)}" for words, _ in COMPLETIONS)) == [
        offered for _, offered in COMPLETIONS]


def test_completion_of_ids(tmp_path: Path) -> None:
    """They are those of the connections, which each shell has from another form of the list."""
    program = tmp_path / "rpcordmactl"
    shown = connections.overview([connection(), {**responder(), "id": 14}], False)
    program.write_text(f"""#!/bin/sh
case $1 in
-j) echo '{{"connections": [{{"id": 3}}, {{"id": 14}}]}}' ;;
--help) {PROGRAM} --help ;;
*) echo '{shown}' ;;
esac
""")
    program.chmod(0o755)
    assert offered_by_bash(str(program), "connections", "show", "") == {"3", "14"}
    assert offered_by_zsh(f"{program} connections show ", f"{program} latency 1") == [{"3", "14"}, {"14"}]


def test_the_manual_names_each_command_and_option() -> None:
    """Of the help."""
    manual = (TOP / "Documentation/rpcordmactl.8").read_text()
    whole = command.parser()
    subcommands, = (action.choices for action in whole._actions if not action.option_strings)
    for name, parsed in subcommands.items():
        assert f".Cm {name}" in manual
        for option in (option for action in parsed._actions for option in action.option_strings if option[:2] == "--"):
            assert f"Fl {option[1:]}" in manual, option


MOUNTS = machine.mounts
LOST = ", connection 3, requester, 10.1.1.1:20049, after 1m1s: queue pair\n"


@pytest.fixture(name="faked")
def fixture_faked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine with the module, a mount and a device."""
    dumps = {"connection": [connection(), responder()], "listener": [{"id": 1, "address": PEER, "is_listening": 1}],
             "disconnect": [{"id": 1, "connection": 3, "role": "requester", "remote": PEER, "time": 1_800_000_000,
                             "age": 61, "reason": "queue pair", "detail": ""}]}
    event = {"happening": "connected", "connection": 3, "role": "requester", "remote": PEER}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(family, "module", lambda: MODULE)
    monkeypatch.setattr(family, "dump", lambda kind: dumps[kind])
    monkeypatch.setattr(family, "events", lambda: iter([{}, event, {}]))
    monkeypatch.setattr(machine, "kernels", lambda: {"6.12": True, "6.13": False})
    monkeypatch.setattr(machine, "devices", lambda: [
        {"device": "rxe0", "port": 1, "state": "ACTIVE", "netdev": "eth0", "registers": True}])
    monkeypatch.setattr(machine, "mounts", lambda _: [{"device": "10.1.1.1:/a", "path": "/mnt", "connections": 1}])


def run_main(monkeypatch: pytest.MonkeyPatch, words: str) -> int:
    """Its exit status."""
    monkeypatch.setattr("sys.argv", ["rpcordmactl", *words.split()])
    return command.main()


@pytest.mark.usefixtures("faked")
@pytest.mark.parametrize("words", ["status", "connections", "connections show 3", "disconnects", "monitor", "latency",
                                   "metrics", "report"])
def test_the_manual_describes_the_json(words: str, monkeypatch: pytest.MonkeyPatch,
                                       capsys: pytest.CaptureFixture[str]) -> None:
    """Every name, but for those that uapi/rpcordma.yaml has."""
    assert run_main(monkeypatch, f"-j {words}") == 0
    said = json.loads(capsys.readouterr().out)
    assert said.pop("format") == command.FORMAT
    manual = (TOP / "Documentation/rpcordmactl.8").read_text()
    part = re.search(rf"^\.Sh JSON$.*?^\.It Cm {words.split()[0]}$(.*?)^\.(?:It|El)", manual, re.M | re.S)
    assert part
    described = set(re.findall(r"Sq (\w+)", part[1]))
    of_event = {name.replace("-", "_") for name in records.ATTRIBUTES["event"]}
    assert said.keys() <= described | (of_event if words == "monitor" else set())
    for own in ("latencies", "devices", "mounts"):
        for record_ in said.get(own, []):
            assert record_.keys() <= described
            assert all(interval.keys() <= described for interval in record_.get("intervals", []))


@pytest.mark.usefixtures("faked")
@pytest.mark.parametrize("words, said", [
    ("status", "connections  1 requester connected, 1 responder connecting"),
    ("status", "kernel       6.12: has the module\nkernel       6.13: lacks the module\n"), ("status", LOST),
    ("connections show 3", "queue_pair       17"), ("connections -s", "receives 100"),
    ("latency 3", "connection 3, requester, 10.1.1.1:20049: replies 100"),
    ("latency 4", "connection 4, responder, [fe80::1%eth0]:1023: no Reply yet"),
    ("disconnects", "queue pair"), ("monitor", "connected  requester  3  10.1.1.1:20049"),
    ("metrics", "# EOF"), ("report", "look at it before you send it")])
def test_commands_for_people(words: str, said: str, monkeypatch: pytest.MonkeyPatch,
                             capsys: pytest.CaptureFixture[str]) -> None:
    """Each of them, without colours in a pipe."""
    assert run_main(monkeypatch, words) == 0
    shown = capsys.readouterr().out
    assert said in shown
    assert "\033" not in shown


@pytest.mark.usefixtures("faked")
@pytest.mark.parametrize("words, said", [
    ("status", ", connection 3, requester, -, after 1m1s: queue pair"), ("connections", "connected   -       rxe0/1"),
    ("connections show 3", "requester  -       1m1s"), ("disconnects", "requester  -       1m1s"),
    ("monitor", "connected  requester  3  -\n"), ("latency", "connection 3, requester, -: replies 100"),
    ("-j latency", '{"id": 3, "replies": 100'), ("metrics", 'rpcordma_sends_total{connection="3",port="",remote="",')])
def test_a_peer_without_an_address(words: str, said: str, monkeypatch: pytest.MonkeyPatch,
                                   capsys: pytest.CaptureFixture[str]) -> None:
    """Ends no command."""
    dump, events = family.dump, family.events
    monkeypatch.setattr(family, "dump", lambda kind: [*map(without_address, dump(kind))] if kind != "listener" else [])
    monkeypatch.setattr(family, "events", lambda: map(without_address, events()))
    assert run_main(monkeypatch, words) == 0
    assert said in capsys.readouterr().out


@pytest.mark.usefixtures("faked")
def test_a_mount_point_need_not_be_utf_8(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Of any mount."""
    Path("mountstats").write_bytes(b"device 10.1.1.1:/a mounted on /f\xfcr with fstype nfs4 statvers=1.1\n"
                                   b"\txprt:\trdma 0 0\n")
    monkeypatch.setattr(machine, "MOUNTSTATS", Path("mountstats"))
    monkeypatch.setattr(machine, "mounts", MOUNTS)
    assert [run_main(monkeypatch, words) for words in ("status", "report r.tar.gz")] == [0, 0]
    assert "10.1.1.1:/a on /f\\xfcr, connections 1" in capsys.readouterr().out
    with tarfile.open("r.tar.gz") as archive:
        found = archive.extractfile("r/mountstats")
        assert found and found.read() == b"\txprt:\trdma 0 0\n"


def ask_in_vain(monkeypatch: pytest.MonkeyPatch, failure: Failure) -> None:
    """What the module says of itself can be had, and nothing else."""
    def dump(kind: str) -> None:
        raise failure

    monkeypatch.setattr(family, "dump", dump)
    monkeypatch.setattr(machine, "devices", lambda: None)


@pytest.mark.usefixtures("faked")
def test_what_is_not_known_is_not_said_to_be_absent(monkeypatch: pytest.MonkeyPatch,
                                                    capsys: pytest.CaptureFixture[str]) -> None:
    """Neither devices nor connections."""
    ask_in_vain(monkeypatch, NotPermitted())
    assert run_main(monkeypatch, "status") == 0
    shown = capsys.readouterr().out
    assert "connections  not permitted (run as root)" in shown
    assert "rdma (iproute2) did not answer" in shown and "no RDMA device" not in shown
    assert run_main(monkeypatch, "-j status") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["devices"] is said["connections"] is None


@pytest.mark.usefixtures("faked")
def test_an_error_of_the_kernel_is_no_lack_of_permission(monkeypatch: pytest.MonkeyPatch,
                                                         capsys: pytest.CaptureFixture[str]) -> None:
    """status says what it is, and report has it among the rest."""
    ask_in_vain(monkeypatch, Failure("the kernel does not answer: 12"))
    assert run_main(monkeypatch, "status") == 1
    assert capsys.readouterr() == ("", "rpcordmactl: the kernel does not answer: 12\n")
    assert run_main(monkeypatch, "report r.tar.gz") == 0
    with tarfile.open("r.tar.gz") as archive:
        found = archive.extractfile("r/status")
        assert found and found.read() == b"the kernel does not answer: 12\n"
        assert "r/uname" in archive.getnames()


@pytest.mark.usefixtures("faked")
@pytest.mark.parametrize("name, directory", [
    ("a-1.2.tar.gz", "a-1.2"), (".tar.gz", "report"), ("...tar.gz", "report"), ("a.tgz", "report")])
def test_a_report_is_its_owners(name: str, directory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is unpacked into a directory beside it."""
    assert run_main(monkeypatch, f"report {name}") == 0
    assert stat.S_IMODE(Path(name).stat().st_mode) == 0o600
    with tarfile.open(name) as archive:
        assert {(Path(member.name).parent, member.mode) for member in archive} == {(Path(directory), 0o600)}


@pytest.mark.usefixtures("faked")
def test_a_report_that_fails_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where it cannot read what it wants."""
    monkeypatch.setattr(machine, "MOUNTSTATS", Path("gone"))
    assert run_main(monkeypatch, "report r.tar.gz") == 1
    assert not Path("r.tar.gz").exists()


@pytest.mark.usefixtures("faked")
def test_failures_have_status_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """And say why."""
    assert run_main(monkeypatch, "connections show 99") == 1
    assert "there is no connection 99" in capsys.readouterr().err
    assert [run_main(monkeypatch, "report a.tar.gz") for _ in range(2)] == [0, 1]
    assert "a.tar.gz: File exists" in capsys.readouterr().err


@pytest.mark.parametrize("words, said", [
    (["bogus"], "bogus"), (["connections", "show", "x"], "'x'"), (["connections", "-w0"], "0.1"), ([], "command")])
def test_wrong_command_lines(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Have a status of their own, and name what is wrong."""
    with pytest.raises(SystemExit) as ended:
        command.parser().parse_args(words)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.usefixtures("faked")
@pytest.mark.parametrize("words", ["-jp monitor", "-jp connections --watch"])
def test_of_many_objects_each_is_on_a_line(words: str, monkeypatch: pytest.MonkeyPatch,
                                           capsys: pytest.CaptureFixture[str]) -> None:
    """Also where they are to be pretty."""
    naps = iter([None])
    monkeypatch.setattr("time.sleep", lambda _: next(naps))
    try:
        run_main(monkeypatch, words)
    except StopIteration:
        pass
    lines = capsys.readouterr().out.splitlines()
    assert {json.loads(line)["format"] for line in lines} == {command.FORMAT}
    assert len(lines) == (1 if "monitor" in words else 2)


@pytest.mark.parametrize("words", ["status", "-j status"])
def test_output_that_cannot_be_written(words: str) -> None:
    """Is a failure like others."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([PROGRAM, *words.split()], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "rpcordmactl: standard output: No space left on device\n")


@pytest.mark.usefixtures("faked")
@pytest.mark.parametrize("words, said", [("connections show", "takes the ID"), ("connections -s show 3", "statistics")])
def test_show_is_of_one_connection(words: str, said: str, monkeypatch: pytest.MonkeyPatch,
                                   capsys: pytest.CaptureFixture[str]) -> None:
    """And has all of it: other command lines are wrong."""
    with pytest.raises(SystemExit) as ended:
        run_main(monkeypatch, words)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.skipif(Path("/sys/module/rpcordma").exists(), reason="the module is loaded")
@pytest.mark.parametrize("words", ["connections", "-j latency", "metrics", "monitor", "disconnects"])
def test_without_the_module(words: str) -> None:
    """There is a status for that, and the cure; and nothing on standard output."""
    done = subprocess.run([PROGRAM, *words.split()], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert "modprobe rpcordma" in done.stderr


def test_ctrl_c_needs_no_traceback() -> None:
    """Not even while the program is loaded, of which it tells more than there is room for in the pipe."""
    with subprocess.Popen(["/usr/bin/python3", "-B", "-X", "importtime", PROGRAM, "--help"], bufsize=0,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as program:
        assert program.stderr
        fcntl.fcntl(program.stderr, fcntl.F_SETPIPE_SZ, 4096)
        while b"pyroute2" not in program.stderr.readline():
            pass
        program.send_signal(signal.SIGINT)
        assert b"Traceback" not in program.stderr.read()
    assert program.returncode == -signal.SIGINT


RED, GREEN, YELLOW, PLAIN = "\033[31m", "\033[32m", "\033[33m", "\033[0m"


@pytest.mark.parametrize("line", [
    f"{YELLOW}warning:{PLAIN} device rxe0",
    f"kernel       6.1.0-56-amd64: {YELLOW}lacks{PLAIN} the module",
    f"link         rxe0/1 state {GREEN}ACTIVE{PLAIN} netdev eth0",
    f"link         rxe0/1 state {RED}DOWN{PLAIN} netdev eth0",
    f"listeners    0.0.0.0:20049 ({RED}lost{PLAIN}), [::]:20049",
    f" 3  requester  {GREEN}connected{PLAIN}   10.1.1.1:20049",
    f"14  responder  {YELLOW}ending{PLAIN}      10.1.1.1:20049",
    f"state            {YELLOW}connecting{PLAIN}",
    f"12:01:02.003  {GREEN}connected{PLAIN}  requester  3  10.1.1.1:20049",
    f"12:01:02.003  {RED}disconnected{PLAIN}  requester  3  10.1.1.1:20049  connection event: disconnected",
    "2026-11-26 03:41:46   3  responder  10.9.0.2:1023  2m21s  connection event: disconnected",
])
def test_colours(line: str) -> None:
    """What is well and what is not, and nothing else."""
    plain = re.sub(r"\033\[\d+m", "", line)
    assert colours.painted(f"first\n{plain}\nlast") == f"first\n{line}\nlast"


@pytest.mark.parametrize("when, terminal, environment, wanted", [
    ("auto", True, {"TERM": "xterm"}, True),
    ("auto", False, {"TERM": "xterm"}, False),
    ("auto", True, {"TERM": "dumb"}, False),
    ("auto", True, {}, False),
    ("auto", True, {"TERM": "xterm", "NO_COLOR": "1"}, False),
    ("always", False, {}, True),
    ("never", True, {"TERM": "xterm"}, False),
])
def test_colours_are_for_terminals(when: str, terminal: bool, environment: dict[str, str], wanted: bool,
                                   monkeypatch: pytest.MonkeyPatch) -> None:
    """And for those who ask."""
    monkeypatch.setattr("os.environ", environment)
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal, raising=False)
    assert colours.are_wanted(when) is wanted
