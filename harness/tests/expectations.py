# SPDX-License-Identifier: GPL-2.0-only
"""What has to hold of every mount, whatever a test is about."""

from collections.abc import Iterator
from contextlib import contextmanager

from lab import Pair
from lab.pair import Mount

MEBIBYTE = 1 << 20


def assert_carried_by_rdma(pair: Pair, mount: Mount, security: str = "sys") -> None:
    """Version, security and sizes are what was asked for, and the right module carries it."""
    options = mount.options()
    assert options["vers"] == mount.version
    assert options["sec"] == security
    assert options["proto"] in ("rdma", "rdma6")
    assert options["rsize"] == str(MEBIBYTE)
    assert options["wsize"] == str(MEBIBYTE)
    modules = {line.split()[0]: line.split() for line in
               pair.client.read("/proc/modules").splitlines()}
    carrier = pair.transport_module()
    assert {"rpcrdma", "rpcordma"} & modules.keys() == {carrier}
    assert int(modules[carrier][2]) > 0, "nothing uses the module"
    transports = mount.stats().transports
    assert transports, "mountstats has no connection"
    assert all("read_chunks" in transport for transport in transports), "not over RDMA"


@contextmanager
def mounted(pair: Pair, version: str, **how: str) -> Iterator[Mount]:
    """A mount for the length of a block: see Pair.mount()."""
    mount = pair.mount(version, **how)
    assert_carried_by_rdma(pair, mount, how.get("security", "sys"))
    yield mount
    mount.unmount()


def our_rdma_resources(pair: Pair) -> list[str]:
    """What the client's transport module holds of verbs objects."""
    kinds = ("pd", "cq", "qp", "cm_id", "mr")
    shown = "".join(pair.client.output(f"rdma resource show {kind}") for kind in kinds)
    # Queue pairs made through rdma_cm carry its name; no other kind than RC is ours.
    return [line for line in shown.splitlines()
            if f"[{pair.transport_module()}]" in line or " type RC " in line]
