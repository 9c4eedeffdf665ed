# SPDX-License-Identifier: GPL-2.0-only
"""What a failure is explained by: both kernels trace the errors of NFS and of RPC, and the lives of connections."""

import shlex
from pathlib import Path

from lab.errors import LabError
from lab.guest import Guest
from lab.pair import Pair
from workloads import TRACING

INSTANCE = f"{TRACING}/instances/ordeal"
# Each with the condition under which it tells of an error, where it tells of other things too.
EVENTS = {
    **{f"rpcordma/rpcordma_{name}": "" for name in (
        "connect_attempt", "connection_event", "connected", "connect_failed", "disconnect", "disconnected",
        "call_impossible", "call_fenced", "reply_refused", "reply_unmatched", "error_received",
        "invalidation_not_offered", "message_dropped", "call_refused", "error_sent", "send_waits")},
    "sunrpc/rpc_call_rpcerror": "",
    "sunrpc/rpc_call_status": "status < 0",
    "nfs/nfs_xdr_status": "",
    "nfs4/nfs4_xdr_status": "",
    "nfs4/nfs4_state_mgr": "",
    "nfs4/nfs4_state_mgr_failed": "",
    "nfs4/nfs4_open_reclaim": "error != 0",
    "nfs4/nfs4_open_expired": "error != 0",
    "nfs4/nfs4_open_file": "error != 0",
    "nfsd/nfsd_compound_status": "status != 0",
}


def begin() -> str:
    """The command by which a guest begins to record those of the events that its kernel has."""
    records = "; ".join(
        f"! test -d {event} || {{ echo {shlex.quote(condition or '0')} >{event}/filter; echo 1 >{event}/enable; }}"
        for event, condition in EVENTS.items())
    return (f"modprobe -a nfs nfsv4 nfsd && mkdir -p {INSTANCE} && echo >{INSTANCE}/trace && cd {INSTANCE}/events && "
            f"{{ {records}; cd /; }}")


def end(guest: Guest) -> None:
    """The guest records nothing any more."""
    guest.run(f"rmdir {INSTANCE}")


def save(pair: Pair, logs: Path) -> None:
    """Writes what the guests that are left have recorded to files beside their logs."""
    for guest in pair.guests:
        if not guest.alive:
            continue
        try:
            trace = guest.read(f"{INSTANCE}/trace")
        except LabError as error:
            trace = f"{error}\n"
        (logs / f"{guest.name}.trace.log").write_text(trace, encoding="utf-8")
