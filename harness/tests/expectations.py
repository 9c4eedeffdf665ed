# SPDX-License-Identifier: GPL-2.0-only
"""What has to hold of every mount, whatever a test is about."""

import re
import shlex
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from lab import Guest, Mount, Pair
from lab.nfs import MODULES, OURS, modules_loaded

# Trace events of the tests' own, which those that a test records do not meet.
INSTANCE = "/sys/kernel/tracing/instances/versions"
OFFERED = "/proc/sys/sunrpc/rdma_highest_version"
ACCEPTED = "/proc/sys/sunrpc/svc_rdma/highest_version"
LIVE_OBJECTS = "/sys/kernel/debug/rpcordma/live_objects"
# What sunrpc shows of the client's transports, a directory for each.
TRANSPORTS = "/sys/kernel/sunrpc/xprt-switches/*/xprt-*-rdma"
MEBIBYTE = 1 << 20


def assert_carried_by_rdma(pair: Pair, mount: Mount, security: str = "sys", payload: int = MEBIBYTE) -> None:
    """Version, security and sizes are what was asked for, and the right module carries it."""
    options = mount.options()
    assert options["vers"] == mount.version
    assert options["sec"] == security
    assert options["proto"] in ("rdma", "rdma6")
    assert options["rsize"] == str(payload)
    assert options["wsize"] == str(payload)
    for guest, module in ((pair.client, pair.client_module), (pair.server, pair.server_module)):
        loaded = modules_loaded(guest)
        assert loaded.keys() == {module}
        assert loaded[module] > 0, f"nothing uses {module} in the {guest.name}"
    transports = mount.stats().transports
    assert transports, "mountstats has no connection"
    assert all("read_chunks" in transport for transport in transports), "not over RDMA"


def assert_range(guest: Guest, path: str, least: int, most: int) -> None:
    """A sysctl takes the least and the most, neither less nor more, and what it had before."""
    before = guest.read(path).strip()
    tried = " ".join(map(str, (least - 1, least, most, most + 1)))
    taken = guest.output(
        f"for value in {tried}; do echo $value 2>/dev/null >{path} && cat {path}; done; "
        f"echo {before} >{path}; cat {path}")
    assert taken.split() == [str(least), str(most), before], path


@contextmanager
def mounted(pair: Pair, version: str, payload: int = MEBIBYTE, **how: str) -> Iterator[Mount]:
    """A mount for the length of a block: see Pair.mount(). It negotiates the version of RPC-over-RDMA anew."""
    with speaking(pair):
        mount = pair.mount(version, **how)
    assert_carried_by_rdma(pair, mount, how.get("security", "sys"), payload)
    yield mount
    mount.unmount()


@contextmanager
def speaking(pair: Pair) -> Iterator[None]:
    """Connections that our client makes in this block speak the highest version that both ends offer."""
    if pair.client_module != MODULES[OURS]:
        yield
        return
    event = f"{INSTANCE}/events/rpcordma/rpcordma_version/enable"
    offered = int(pair.client.output(f"mkdir -p {INSTANCE} && echo >{INSTANCE}/trace && echo 1 >{event} && "
                                     f"cat {OFFERED} && echo $(cat {OFFERED}) >{OFFERED}"))
    yield
    recorded = pair.client.output(f"cat {INSTANCE}/trace; echo 0 >{event}")
    spoken = re.findall(r"rpcordma_version: .* version=(\d+)", recorded)
    accepted = int(pair.server.read(ACCEPTED)) if pair.server_module == MODULES[OURS] else 1
    assert {int(version) for version in spoken} <= {min(offered, accepted)}


def rdma_resources(guest: Guest) -> Counter[str]:
    """How many verbs objects of each kind the transport's module in a guest holds."""
    shown = guest.output("for kind in pd cq qp cm_id mr; do "
                         "rdma resource show $kind | sed \"s/^/$kind /\"; done")
    # Queue pairs made through rdma_cm carry its name; no other kind than RC is of these modules.
    return Counter(line.split()[0] for line in shown.splitlines()
                   if any(f"[{module}]" in line for module in MODULES.values())
                   or line.startswith("qp ") and " type RC " in line)


def live_objects(guest: Guest) -> dict[str, int]:
    """How many objects of each kind our module in a guest has now."""
    words = guest.read(LIVE_OBJECTS).split()
    return dict(zip(words[::2], map(int, words[1::2])))


def wait_for_resources(guest: Guest, expected: Counter[str], timeout: float) -> None:
    """Waits until a guest's transport holds this and no more; it can only be looked at."""
    deadline = time.monotonic() + timeout
    while (held := rdma_resources(guest)) != expected:
        assert time.monotonic() < deadline, f"after {timeout} s there is {held}, not {expected}"


def connections(guest: Guest) -> int:
    """How many RDMA connections a guest has now."""
    return guest.output("rdma resource show qp").count(" type RC state RTS ")


def eventually(guest: Guest, condition: str, timeout: int) -> None:
    """Waits until a shell command succeeds, for what cannot be waited for, only looked at. A slow kernel has longer."""
    guest.run(f"timeout {timeout * guest.slowness} sh -c {shlex.quote(f'until {condition}; do sleep 0.1; done')}",
              timeout + 30)
