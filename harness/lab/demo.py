# SPDX-License-Identifier: GPL-2.0-only
"""make demo: a file there and back over NFS/RDMA, with our module at both ends."""

import argparse
import re
import signal
import sys
import time

from lab.cli import new_log_directory
from lab.errors import LabError
from lab.guest import Guest
from lab.kernel import Kernel
from lab.module import build_module
from lab.mountstats import MountStats
from lab.nfs import OURS, STOCK, modules_loaded
from lab.solo import Solo

MEBIBYTES = 32

# The columns of mountstats that tell how messages travelled.
TRAVEL = (
    ("sends", "calls sent"),
    ("receives", "replies received"),
    ("read_chunks", "Read chunk segments: memory that the server read calls' data from"),
    ("write_chunks", "Write chunk segments: memory that the server wrote replies' data to"),
    ("reply_chunks", "Reply chunk segments: memory for whole replies too long for a message"),
    ("nomsg_calls", "whole calls too long for a message"),
    ("total_request_bytes", "bytes of room in Write and Reply chunks"),
    ("total_reply_bytes", "bytes that the server wrote there"),
    ("mrs_allocated", "memory registrations in the pool"),
    ("local_invalidations", "registrations that the client had to invalidate by itself"),
    ("bad_replies", "replies that broke the rules"),
    ("connect_count", "connections made"))
# The server's counters.
SERVICE = {
    "rdma_stat_recv": "messages received",
    "rdma_stat_read": "RDMA Reads of calls' data",
    "rdma_stat_write": "RDMA Writes of replies' data"}


# Where a guest says which version its connections speak.
TRACE = "/sys/kernel/tracing/trace"
VERSION_EVENT = "/sys/kernel/tracing/events/rpcordma/rpcordma_version/enable"


class Failed(Exception):
    """The demonstration showed something that it should not."""


def main() -> int:
    """Runs it; the last line says whether it passed."""
    parser = argparse.ArgumentParser(prog="demo", description=__doc__)
    parser.add_argument("--kernel", default="6.12", help="6.1 or 6.12")
    parser.add_argument("--transport", choices=[OURS, STOCK], default=OURS,
                        help="stock is the kernel's own module, to compare with")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        demonstrate(Kernel.find(arguments.kernel), arguments.transport)
    except (LabError, Failed, FileNotFoundError) as error:
        print(f"{error}\ndemo: failed")
        return 1
    print("demo: passed")
    return 0


def say(text: str) -> None:
    """A heading for what comes."""
    print(f"\n== {text}", flush=True)


def demonstrate(kernel: Kernel, transport: str) -> None:
    """Boots a machine, and shows what the module does at both ends."""
    if transport == OURS:
        build_module(kernel)
    logs = new_log_directory("demo")
    say(f"A virtual machine with Linux {kernel.release} (logs in {logs})")
    began = time.monotonic()
    with Solo(kernel, logs, transport) as solo:
        print(f"up after {time.monotonic() - began:.0f} s")
        show_module(solo)

        say("nfsd listens, and mount -o vers=4.2,proto=rdma finds it")
        if transport == OURS:
            solo.guest.run(f"echo 1 >{VERSION_EVENT}")
        mount = solo.mount("4.2")
        if transport == OURS:
            show_versions(solo.guest)
        print(solo.guest.output(
            "cat /proc/fs/nfsd/portlist; grep ' /mnt nfs' /proc/mounts; rdma link; "
            "rdma resource show cm_id; rdma resource show qp | grep -w RC"), end="")

        copy_there_and_back(solo.guest)
        say("How it travelled, as the client counts (xprt: rdma in /proc/self/mountstats)")
        show_travel(mount.stats())
        say("And as the server counts (/proc/sys/sunrpc/svc_rdma)")
        show_service(solo.guest)

        say("Unmount, stop nfsd, and unload the module")
        mount.unmount()
        solo.unload_transport()
        print(solo.guest.output("rdma resource"), end="")
        complaints = solo.guest.complaints()
        if complaints:
            raise Failed("the kernel complained:\n" + "\n".join(complaints))
    say(f"That took {time.monotonic() - began:.0f} s")


def show_module(solo: Solo) -> None:
    """Which module carries RPC over RDMA here."""
    loaded = list(modules_loaded(solo.guest))
    print(f"for client and server: {', '.join(loaded)}")
    if loaded != [solo.module]:
        raise Failed("another module than the one asked for is loaded")


def show_versions(guest: Guest) -> None:
    """Which version of the protocol client and server have come to: one each says so."""
    spoken = re.findall(r"rpcordma_version: .* version=(\d+)", guest.read(TRACE))
    print(f"version of RPC-over-RDMA: {', '.join(sorted(set(spoken)))}")
    if set(spoken) != {"2"}:
        raise Failed("client and server of ours speak version 2 with each other")


def copy_there_and_back(guest: Guest) -> None:
    """A file over the mount into the export, and another out of it, compared by checksum."""
    say(f"{MEBIBYTES} MiB from the client to the server")
    guest.run(f"head -c {MEBIBYTES}M /dev/urandom >/tmp/up; sync")
    copied = guest.run("cp /tmp/up /mnt/up && sync /mnt/up", timeout=300)
    show_rate(copied.seconds)
    compare(guest, "/tmp/up", "/srv/nfs/tmpfs/up")

    say(f"{MEBIBYTES} MiB from the server to the client")
    guest.run(f"head -c {MEBIBYTES}M /dev/urandom >/srv/nfs/tmpfs/down")
    copied = guest.run("cp /mnt/down /tmp/down", timeout=300)
    show_rate(copied.seconds)
    compare(guest, "/srv/nfs/tmpfs/down", "/tmp/down")


def show_rate(seconds: float) -> None:
    """How long it took, with the reason not to make much of it."""
    print(f"{seconds:.1f} s, {MEBIBYTES / seconds:.1f} MiB/s (on an emulated machine: this says "
          "nothing about speed)")


def compare(guest: Guest, *files: str) -> None:
    """Shows the checksums of files, which have to agree."""
    checksums = guest.output(f"sha256sum {' '.join(files)}", timeout=120)
    print(checksums, end="")
    if len({line.split()[0] for line in checksums.splitlines()}) != 1:
        raise Failed("the checksums differ")


def show_travel(stats: MountStats) -> None:
    """The counters that tell how the messages travelled."""
    for column, meaning in TRAVEL:
        print(f"{stats.total(column):>12}  {meaning}")
    if stats.total("read_chunks") == 0 or stats.total("total_reply_bytes") < MEBIBYTES << 20:
        raise Failed("the data did not travel by RDMA")


def show_service(guest: Guest) -> None:
    """What the server's counters say, and nfsd's own."""
    counters = {name: int(guest.read(f"/proc/sys/sunrpc/svc_rdma/{name}")) for name in SERVICE}
    for name, meaning in SERVICE.items():
        print(f"{counters[name]:>12}  {meaning}")
    print(guest.output("grep -w ^rpc /proc/net/rpc/nfsd"), end="")
    if not all(counters.values()):
        raise Failed("the server moved nothing by RDMA")
