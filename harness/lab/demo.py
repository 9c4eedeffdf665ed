# SPDX-License-Identifier: GPL-2.0-only
"""make demo: a file there and back over NFS/RDMA, with our module in the client."""

import argparse
import signal
import sys
import time

from lab.cli import new_log_directory
from lab.guest import LabError
from lab.kernel import Kernel
from lab.module import build_module
from lab.mountstats import MountStats
from lab.pair import OURS, STOCK, Pair

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


class Failed(Exception):
    """The demonstration showed something that it should not."""


def main() -> int:
    """Runs it; the last line says whether it passed."""
    parser = argparse.ArgumentParser(prog="demo", description=__doc__)
    parser.add_argument("--kernel", default="6.12", help="of both machines: 6.1 or 6.12")
    parser.add_argument("--transport", choices=[OURS, STOCK], default=OURS,
                        help="the client's module; stock is the kernel's own, to compare with")
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
    """Boots the two machines, and shows what the client's module does."""
    if transport == OURS:
        build_module(kernel)
    logs = new_log_directory("demo")
    say(f"Two virtual machines with Linux {kernel.release} (logs in {logs})")
    began = time.monotonic()
    with Pair(kernel, kernel, logs, client_transport=transport, kernel_options="") as pair:
        print(f"up after {time.monotonic() - began:.0f} s")
        print(f"server: {modules(pair, server=True)}\nclient: {modules(pair, server=False)}")

        say("mount -o vers=4.2,proto=rdma")
        mount = pair.mount("4.2")
        print(pair.client.output("grep ' /mnt nfs' /proc/mounts; rdma link; "
                                 "rdma resource show qp | grep -w 'comm'"), end="")
        if modules(pair, server=False) != pair.transport_module():
            raise Failed("another module than the one asked for is loaded")

        copy_there_and_back(pair)
        say("How it travelled (xprt: rdma in /proc/self/mountstats)")
        show_travel(mount.stats())

        say("Unmount, and unload the module")
        mount.unmount()
        pair.unload_client_transport()
        print(pair.client.output("rdma resource"), end="")
        complaints = [line for guest in pair.guests for line in guest.complaints()]
        if complaints:
            raise Failed("a kernel complained:\n" + "\n".join(complaints))
    say(f"That took {time.monotonic() - began:.0f} s")


def modules(pair: Pair, server: bool) -> str:
    """Which module carries RPC over RDMA there."""
    guest = pair.server if server else pair.client
    return guest.output("awk '$1 ~ /^rpc(or|r)dma$/ { print $1 }' /proc/modules").strip()


def copy_there_and_back(pair: Pair) -> None:
    """A file to the server and another from it, compared by checksum."""
    say(f"{MEBIBYTES} MiB from the client to the server")
    pair.client.run(f"head -c {MEBIBYTES}M /dev/urandom >/tmp/up; sync")
    copied = pair.client.run("cp /tmp/up /mnt/up && sync /mnt/up", timeout=300)
    show_rate(copied.seconds)
    compare("client", pair.client.output("sha256sum </tmp/up"),
            "server", pair.server.output("sha256sum </srv/nfs/tmpfs/up"))

    say(f"{MEBIBYTES} MiB from the server to the client")
    pair.server.run(f"head -c {MEBIBYTES}M /dev/urandom >/srv/nfs/tmpfs/down")
    copied = pair.client.run("cp /mnt/down /tmp/down", timeout=300)
    show_rate(copied.seconds)
    compare("server", pair.server.output("sha256sum </srv/nfs/tmpfs/down"),
            "client", pair.client.output("sha256sum </tmp/down"))


def show_rate(seconds: float) -> None:
    """How long it took, with the reason not to make much of it."""
    print(f"{seconds:.1f} s, {MEBIBYTES / seconds:.1f} MiB/s (two machines emulated on one host: "
          "this says nothing about speed)")


def compare(one: str, its: str, other: str, others: str) -> None:
    """Shows two checksums, which have to agree."""
    for name, checksum in ((one, its), (other, others)):
        print(f"sha256 on the {name}: {checksum.split()[0]}")
    if its != others:
        raise Failed("the checksums differ")


def show_travel(stats: MountStats) -> None:
    """The counters that tell how the messages travelled."""
    for column, meaning in TRAVEL:
        print(f"{stats.total(column):>12}  {meaning}")
    if stats.total("read_chunks") == 0 or stats.total("total_reply_bytes") < MEBIBYTES << 20:
        raise Failed("the data did not travel by RDMA")
