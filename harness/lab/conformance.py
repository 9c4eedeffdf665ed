# SPDX-License-Identifier: GPL-2.0-only
"""The peer's conformance suite in one guest that is server, client and peer at once."""

import json
import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from lab.errors import GuestDied, LabError, LabTimeout
from lab.guest import Guest
from lab.kernel_log import COMPLAINT, KernelMessage, complaints_in
from lab.lost_connections import LostConnection, lost_connections, watch
from lab.nfs import OURS, PORT, STOCK
from lab.paths import CHECKOUT
from lab.peer import Peer, build_peer, directory_of
from lab.solo import Solo
from lab.system import NATIVE

CASES = CHECKOUT / "harness" / "peer" / "cases"
REPORTS = CHECKOUT / "build" / "conformance"
SIDES = ("server", "client")
# The peer's own ports, beside those of the kernel's server in the same machine.
PEER_PORT = PORT + 1
PEER_MOUNT_PORT = 20058
# How many Calls the client may have under way: few enough for a case that fills them all.
SLOTS = 16
# That a guest may take for one thing: emulated, on a machine with other work, it is slow.
PATIENCE = 20
# From the result of one case to that of the next: the longest case takes six minutes.
CASE_SECONDS = 600
# Of the cases for one side. They take four minutes on a machine with little else to do, ten on a slow one, and longer
# if many of them fail.
SUITE_SECONDS = 3000
BEFORE = "before the first case"
# What a hostile requester sends.
HOSTILE = ("access-read-only-*", "call-cut-*", "chunks-that-*", "credits-many", "disconnect-*", "error-*",
           "handle-unknown-second-*", "length-*", "list-*", "long-call-beyond-*", "long-call-lengths-*",
           "message-*", "nomsg-*", "offset-*", "payload-*", "*-lengths-overflow", "reply-for-nobody*",
           "segment-count-*", "vanish-*", "xid-differs")
MARK = re.compile(r"rpcordma-peer: case (\S+)")
APART = re.compile(r"^apart ", re.MULTILINE)


def case_names(side: str, apart: bool = False) -> list[str]:
    """The cases for servers, or for clients; or those that are run only where they are asked for."""
    return sorted(f"{side}/{path.stem}" for path in (CASES / side).rglob("*.case")
                  if bool(APART.search(path.read_text(encoding="utf-8"))) == apart)


def report_file(side: str, series: str, transport: str, label: str = "") -> Path:
    """Where the report of a run is left, as JSON."""
    return REPORTS / f"{side}{label}-{series}-{transport}.json"


def hostile_case_names() -> list[str]:
    """The cases for servers in which the requester is hostile."""
    return [name for name in case_names("server") if any(fnmatch(name, f"server/{pattern}") for pattern in HOSTILE)]


def case_path(name: str) -> Path:
    """The file of a case."""
    side, stem = name.split("/")
    return next((CASES / side).rglob(f"{stem}.case"))


@dataclass
class Outcome:
    """What a run of the suite came to: a row for each case, and what the kernel said meanwhile."""

    rows: dict[str, dict] = field(default_factory=dict)
    complaints: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    # The connections that our module ended during each case.
    ended: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    # The case that was under way when the machine died or the time was over, and which of them it was.
    cut_off: str = ""
    why: str = ""
    output: str = ""
    # The whole report; nothing where the machine did not come to its end.
    report: dict = field(default_factory=dict)

    def judge(self, name: str) -> None:
        """Fails unless this case passed, and the kernel was content."""
        complaints = self.complaints[BEFORE] + self.complaints[name]
        said = "\nthe kernel complained:\n" + "\n".join(complaints) if complaints else ""
        assert name in self.rows, (f"{name} was not run to its end: {self.cut_off} was under way: "
                                   f"{self.why or self.output}{said}")
        row = self.rows[name]
        trace = "\n    ".join(row["trace"])
        ended = "\n    ".join(self.ended[name]) or "none"
        assert row["outcome"] == "passed", (
            f"{row['title']} ({row['section']})\n  expected: {row['expected']}\n"
            f"  came: {row['came']}\n  connections that the module ended:\n    {ended}\n"
            f"  messages:\n    {trace}{said}")
        assert not complaints, said


def run_side(solo: Solo, side: str, *options: str, label: str = "", patience: int = PATIENCE) -> Outcome:
    """Runs the cases for one side to their end, or to that of the machine.

    The reports are left in build/conformance/.
    """
    guest = solo.guest
    begin = len(guest.kernel_log)
    slow = guest.kernel.slowness
    results = f"/tmp/{side}.json"
    # What others may do, and ours does not, would be a change.
    strict = ["--strict"] if solo.transport == OURS else []
    if solo.transport == OURS:
        watch(guest)
    lost: list[LostConnection] = []
    process = Peer(guest).spawn(
        "conform", *arguments_of(solo, side), *options, *strict, "--mark", "/dev/kmsg", "--json-lines",
        "--patience", str(patience * slow), "--name", name_of(solo),
        "--results", results)
    outcome = Outcome()
    try:
        process.wait_while_it_speaks(CASE_SECONDS, SUITE_SECONDS)
    except GuestDied:
        outcome.why = "the machine ended: " + last_words(guest)
    except LabTimeout as late:
        outcome.why = str(late)
    try:
        # A client that a case has left hanging must not keep the machine from ending.
        guest.run("umount -f -l /mnt/peer 2>/dev/null; true")
        guest.mark(f"end of the cases for the {side}")
        if solo.transport == OURS:
            lost = lost_connections(guest)
    except LabError:
        outcome.why = outcome.why or f"the machine does not answer: {last_words(guest)}"
    take_rows(outcome, process.output)
    take_complaints(outcome, guest.kernel_log[begin:])
    take_ended(outcome, guest.kernel_log[begin:], lost)
    guest.complaints()
    if process.status in (0, 1):
        outcome.cut_off = ""
        content = guest.read(results)
        outcome.report = json.loads(content)
        write_reports(content, report_file(side, guest.kernel.series, solo.transport, label))
    return outcome


def write_reports(content: str, file: Path) -> None:
    """Keeps a report, with its JUnit XML and its page beside it, which are made here: an emulated machine is slow."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content, encoding="utf-8")
    build_peer()
    subprocess.run([directory_of(NATIVE) / "rpcordma-peer", "report", file,
                    "--junit", file.with_suffix(".xml"), "--html", file.with_suffix(".html")], check=True)


def check_schema(report: dict) -> None:
    """Fails unless this is a report as its schema has it, where there is python3-jsonschema, as on Debian 12."""
    try:
        import jsonschema
    except ImportError:
        return
    schema = json.loads((CHECKOUT / "harness" / "peer" / "report.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(report)


def name_of(solo: Solo) -> str:
    """What reports call the implementation in that machine."""
    return f"{'in-tree' if solo.transport == STOCK else solo.transport}, Linux {solo.guest.kernel.series}"


def rewritten(report: dict) -> dict:
    """The report as the peer writes it: what follows from its results is right then."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(report, file)
        file.flush()
        written = subprocess.run([directory_of(NATIVE) / "rpcordma-peer", "--json", "report", file.name],
                                 check=True, capture_output=True, text=True).stdout
    return json.loads(written)


def last_words(guest: Guest) -> str:
    """What the kernel complained of first, near its end."""
    lines = guest.console_tail(200).splitlines()
    return next((line for line in lines if COMPLAINT.search(line)), "its console says nothing")


def take_rows(outcome: Outcome, output: str) -> None:
    """Takes the results out of what the peer has printed, and keeps what else it said."""
    for line in output.splitlines():
        try:
            row = json.loads(line)
            outcome.rows[row["name"]] = row
        except (ValueError, TypeError, KeyError):
            outcome.output += line + "\n"


def take_complaints(outcome: Outcome, kernel_log: Sequence[KernelMessage]) -> None:
    """Tells what the kernel complained of, and during which case."""
    case = BEFORE
    complaints, _ = complaints_in(kernel_log)
    for message in kernel_log:
        marked = MARK.search(message.text)
        if marked:
            case = outcome.cut_off = marked.group(1)
        elif message in complaints:
            outcome.complaints[case].append(str(message))


def take_ended(outcome: Outcome, kernel_log: Sequence[KernelMessage], lost: Sequence[LostConnection]) -> None:
    """Tells during which case the module ended each connection."""
    begins = [(message.time, marked.group(1)) for message in kernel_log if (marked := MARK.search(message.text))]
    for connection in lost:
        case = next((name for time, name in reversed(begins) if time <= connection.time), BEFORE)
        outcome.ended[case].append(str(connection))


def arguments_of(solo: Solo, side: str) -> list[str]:
    """What "conform" is told."""
    if side == "server":
        return [f"{solo.ADDRESS}:{PORT}", "--path", "/srv/nfs/tmpfs"]
    return client_arguments(solo, "; ".join(mount_and_run(version, solo.ADDRESS) for version in ("3", "4.1")))


def client_arguments(solo: Solo, work: str) -> list[str]:
    """The same for clients, which these commands in the machine are."""
    return ["--listen", "--host", solo.ADDRESS, "--port", str(PEER_PORT),
            "--mount-port", str(PEER_MOUNT_PORT), "--exec",
            f"mkdir -p /mnt/peer; echo {SLOTS} >/proc/sys/sunrpc/rdma_slot_table_entries; {work}"]


def mount_and_run(version: str, address: str, last: str = "true") -> str:
    """What has the kernel's client do its part over one version of NFS, and this command before it unmounts."""
    options = f"vers={version},proto=rdma,port={PEER_PORT},timeo=100,retrans=2"
    if version == "3":
        options += f",mountproto=tcp,mountport={PEER_MOUNT_PORT},nolock"
    # The programs yield to the peer: 64 that begin at once are seconds of an emulated processor, and the client ends
    # the connection after ten without a Reply. Cases in which a Reply is too late, or never comes, take as long.
    return (f"mount -t nfs -o {options} {address}:/ /mnt/peer && nice -n 19 sh /mnt/peer/run {version}; "
            f"{last}; umount /mnt/peer")
