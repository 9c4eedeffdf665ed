# SPDX-License-Identifier: GPL-2.0-only
"""How the module stands on this machine, and what ought to be mended."""

from collections import Counter
from typing import Any, Iterator

from . import family, machine
from .connections import reason
from .errors import NotLoaded, NotPermitted
from .records import Record, remote_of
from .text import age, moment, pairs

# Both directions of a requester's connection: what was agreed on, this machine's setting, and what the peer has said.
THRESHOLDS = (("call_threshold", "max_inline_write", "peer_receive_size"),
              ("reply_threshold", "max_inline_read", "peer_send_size"))
# The module rounds sizes down to multiples of this.
SIZE_UNIT = 1024


def gather() -> Record:
    """All there is to say, as far as it may be known."""
    status: Record = {"in_tree_loaded": machine.is_loaded("rpcrdma"), "kernels": machine.kernels(),
                      "devices": machine.devices(), "mounts": machine.mounts(machine.mountstats())}
    try:
        status["module"] = family.module()
    except NotLoaded:
        status["module"] = None
        return status
    for kind in ("listener", "connection", "disconnect"):
        try:
            status[f"{kind}s"] = family.dump(kind)
        except NotPermitted:
            status[f"{kind}s"] = None
    return status


def warnings(status: Record) -> Iterator[str]:
    """What is not as it should be, each with its cure."""
    if status["in_tree_loaded"]:
        yield "the in-tree module rpcrdma is loaded: unmount, stop nfsd, rmmod rpcrdma, modprobe rpcordma"
    elif not status["module"]:
        yield "the module rpcordma is not loaded: modprobe rpcordma"
    running = status["module"]["kernel"] if status["module"] else None
    for release, is_there in status["kernels"].items():
        # The module may have been loaded by hand.
        if not is_there and release != running:
            yield (f"kernel {release} lacks the module: apt install linux-headers-{release}, "
                   f"then dkms autoinstall -k {release}, or make install KVER={release}")
    if status["devices"] is None:
        yield "rdma (iproute2) did not answer, so that the RDMA devices are not known: look at what rdma link says"
    elif not status["devices"]:
        yield "no RDMA device is there: look for its driver with lspci -k, or make one with rdma link add"
    for device in {device["device"] for device in status["devices"] or () if not device["registers"]}:
        yield f"device {device} cannot register memory by work requests: mount over another one, or with proto=tcp"
    for connection in status.get("connections") or []:
        yield from mismatches(status["module"], connection)


def mismatches(module: Record, connection: Record) -> Iterator[str]:
    """Where less travels inline than this machine is set to. Version 2 has thresholds of its own."""
    if connection["role"] != "requester" or connection.get("version") != 1:
        return
    for threshold, setting, said in THRESHOLDS:
        wanted = module[setting] // SIZE_UNIT * SIZE_UNIT
        if connection[threshold] < wanted:
            yield (f"connection {connection['id']} has a {threshold.replace('_', ' ')} of {connection[threshold]} "
                   f"bytes, though rdma_{setting} is {module[setting]}: {raising(connection, said, wanted)}")


def raising(connection: Record, said: str, wanted: int) -> str:
    """How a threshold gets as large as wanted."""
    if connection.get("private_data") == 0:
        return "its server does not say what it takes, and gets what every server takes"
    if connection.get(said, wanted) >= wanted:
        return "the connection is older than the setting, which the next one has: let the client reconnect"
    remote = connection.get("remote")
    return f"raise svc_rdma.max_req_size at {remote.address if remote else 'the server'}"


def states(connections: list[Record]) -> str:
    """How many there are of each role, and in which state."""
    counts = Counter((connection["role"], connection["state"]) for connection in connections)
    return ", ".join(f"{count} {role} {state}" for (role, state), count in sorted(counts.items())) or "none"


def listening(listeners: list[Record]) -> str:
    """Where connections are accepted."""
    return ", ".join(f"{listener['address']}{'' if listener['is_listening'] else ' (lost)'}"
                     for listener in listeners) or "none"


def lost(disconnect: Record) -> str:
    """The last disconnect of all."""
    return (f"{moment(disconnect['time'])}, connection {disconnect['connection']}, {disconnect['role']}, "
            f"{remote_of(disconnect)}, after {age(disconnect['age'])}: {reason(disconnect)}")


def kernel(release: str, is_there: bool, running: str | None) -> str:
    """Whether it has the module. What was loaded by hand need not be where modprobe looks."""
    if is_there or release != running:
        return f"{release}: {'has' if is_there else 'lacks'} the module"
    return f"{release}: has the module loaded by hand, not installed"


def shown(value: Any, words: Any) -> Any:
    """The words for a value that takes permission."""
    return "not permitted (run as root)" if value is None else words(value)


def text(status: Record) -> str:
    """For people."""
    module = status["module"]
    lines = [("module", f"rpcordma {module['version']}, kernel {module['kernel']}" if module else "not loaded")]
    lines += [("kernel", kernel(release, is_there, module and module["kernel"]))
              for release, is_there in status["kernels"].items()]
    lines += [("link", f"{device['device']}/{device['port']} state {device['state']} netdev {device['netdev'] or '-'}")
              for device in status["devices"] or ()]
    if module:
        lines.append(("versions", f"client up to {module['highest_version']}, "
                                  f"server up to {module['svc_highest_version']}"))
        lines.append(("listeners", shown(status["listeners"], listening)))
        lines.append(("connections", shown(status["connections"], states)))
        if status["disconnects"]:
            lines.append(("last lost", lost(status["disconnects"][-1])))
    lines += [("mount", f"{mount['device']} on {mount['path']}, connections {mount['connections']}")
              for mount in status["mounts"]]
    return "\n".join([pairs(lines), *(f"warning: {warning}" for warning in warnings(status))])
