# SPDX-License-Identifier: GPL-2.0-only
"""NFSv4 delegations, and the callbacks by which a server takes them back."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from lab.errors import LabTimeout
from lab.guest import Guest
from lab.pair import Pair

TRACING = "/sys/kernel/tracing"
# A buffer of its own: nobody else's events come in between.
INSTANCE = f"{TRACING}/instances/callbacks"
# What a client carries an operation out with: hardly any has a trace event on both kernels.
OPERATIONS = {"CB_RECALL": "nfs4_callback_recall", "CB_GETATTR": "nfs4_callback_getattr",
              "CB_RECALL_ANY": "nfs4_callback_recallany",
              "CB_NOTIFY_LOCK": "nfs4_callback_notify_lock"}
PROBES = "callbacks"
# The events that all have to tell of a Call that was sent, of one that has arrived and whose Reply
# was sent, and of a Reply that has arrived: the transport's, and sunrpc's where that has none.
CALL_SENT = {"rpcordma": {"sunrpc/xprt_transmit", "rpcordma/rpcordma_reverse_call_sent"},
             "rpcrdma": {"sunrpc/xprt_transmit"}}
REPLY_SENT = {"rpcordma": {"rpcordma/rpcordma_reverse_call_received",
                           "rpcordma/rpcordma_reverse_reply_sent"},
              "rpcrdma": {"rpcrdma/xprtrdma_cb_call", "rpcrdma/xprtrdma_cb_reply"}}
REPLY_TAKEN = {"sunrpc/xprt_lookup_rqst"}
LINE = re.compile(r"^\s*(?P<task>.*-\d+)\s+\[\d+\] .*? (?P<time>[\d.]+): (?P<name>\w+): (?P<fields>.*)$",
                  re.MULTILINE)
LOOK_EVERY = 0.1


@dataclass(frozen=True)
class Delegation:
    """What nfsd says of one: its client's address, r or w, and the file's name."""

    client: str
    access: str
    file: str


def delegations(server: Guest) -> list[Delegation]:
    """The delegations that nfsd's clients hold."""
    shown = server.output("cd /proc/fs/nfsd/clients && for client in *; do "
                          "cat $client/info $client/states 2>/dev/null; done; true")
    found = []
    client = ""
    for line in shown.splitlines():
        if address := re.match(r'address: "(.*):\d+"', line):
            client = address[1]
        elif given := re.search(r'type: deleg, access: (\w)a?,.* filename: "/?(.*)"', line):
            found.append(Delegation(client, given[1], given[2]))
    return found


@dataclass(frozen=True)
class Callback:
    """A Call of a server's that has reached the client, and how far its Reply has come."""

    xid: int
    # Empty where the client did not come to it.
    operation: str
    replied: bool
    answered: bool
    # From when the server had sent it until the Reply was there; of no meaning where there was none.
    seconds: float


@dataclass(frozen=True)
class Event:
    """One line of a trace."""

    task: str
    # Since its machine's boot, in seconds.
    time: float
    name: str
    fields: str

    @property
    def xid(self) -> int:
        """The RPC that it is about, or 0."""
        found = re.search(r"xid=(0x\w+)", self.fields)
        return int(found[1], 16) if found else 0


class CallbackRecord:
    """The callbacks between two guests since recording began."""

    def __init__(self, pair: Pair):
        self._pair = pair

    def callbacks(self) -> list[Callback]:
        """Those that have arrived, in order; the server knows that it has sent each."""
        client, server = events_in(self._pair.client), events_in(self._pair.server)
        sent = told_of(server, CALL_SENT[self._pair.server_module])
        replied = told_of(client, REPLY_SENT[self._pair.client_module])
        answered = told_of(server, REPLY_TAKEN)
        operations: dict[int, str] = {}
        # A thread says which Call it has before it carries it out.
        in_hand: dict[str, int] = {}
        for event in client:
            if event.name == "svc_process":
                in_hand[event.task] = event.xid
                operations[event.xid] = ""
            elif event.name in OPERATIONS:
                operations[in_hand[event.task]] = event.name
        assert operations.keys() <= sent, f"the server sent {sent}, the client got {operations}"
        begins, ends = times_of(server, "xprt_transmit"), times_of(server, "xprt_lookup_rqst")
        return [Callback(xid, name, xid in replied, xid in answered, ends.get(xid, 0) - begins.get(xid, 0))
                for xid, name in operations.items()]

    def count(self, operation: str | None = None) -> int:
        """How many of that kind, or of any, both sides know Call and Reply of."""
        return len(self.seconds(operation))

    def seconds(self, operation: str | None = None) -> list[float]:
        """How long the server waited for the Reply to each of these."""
        return [callback.seconds for callback in self.callbacks()
                if callback.replied and callback.answered and operation in (None, callback.operation)]

    def ways(self) -> set[tuple[str, str]]:
        """How Calls and their Replies were to travel, as our server tells."""
        return {found.groups() for event in events_in(self._pair.server)
                if (found := re.search(r"call='(.*)' reply='(.*)'", event.fields))}

    def wait_for(self, count: int, operation: str | None = None, timeout: float = 10) -> None:
        """Waits until there are so many; the traces can only be looked at."""
        deadline = time.monotonic() + timeout
        while self.count(operation) < count:
            if time.monotonic() > deadline:
                raise LabTimeout(f"{count} {operation or 'callbacks'} should have been sent and "
                                 f"answered; these have arrived: {self.callbacks()}")
            time.sleep(LOOK_EVERY)


@contextmanager
def callbacks_recorded(pair: Pair) -> Iterator[CallbackRecord]:
    """Records the callbacks of this block at both ends."""
    define_probes(pair.client)
    record(pair.client, {"sunrpc/svc_process", PROBES} | REPLY_SENT[pair.client_module])
    record(pair.server, CALL_SENT[pair.server_module] | REPLY_TAKEN)
    try:
        yield CallbackRecord(pair)
    finally:
        for guest in pair.guests:
            guest.run(f"rmdir {INSTANCE}")


def define_probes(client: Guest) -> None:
    """Has the client's operations be events, unless they are."""
    define = "; ".join(f"echo 'p:{PROBES}/{name} {function}' >>{TRACING}/kprobe_events"
                       for name, function in OPERATIONS.items())
    client.run(f"test -d {TRACING}/events/{PROBES} || {{ set -e; {define}; }}")


def record(guest: Guest, wanted: set[str]) -> None:
    """Begins to record these events; of sunrpc's, none that tells of a failure."""
    guest.run(f"set -e; mkdir {INSTANCE}; cd {INSTANCE}/events; "
              "for event in sunrpc/xprt_transmit sunrpc/xprt_lookup_rqst; do "
              "echo 'status == 0' >$event/filter; done; "
              f"for event in {' '.join(sorted(wanted))}; do echo 1 >$event/enable; done")


def events_in(guest: Guest) -> list[Event]:
    """What a guest has recorded, none of it lost."""
    trace = guest.read(f"{INSTANCE}/trace")
    kept, written = re.search(r"entries-in-buffer/entries-written: (\d+)/(\d+)", trace).groups()
    assert kept == written, f"of {written} events {kept} are left"
    return [Event(line["task"], float(line["time"]), line["name"], line["fields"]) for line in LINE.finditer(trace)]


def times_of(events: list[Event], name: str) -> dict[int, float]:
    """When an event of this name told of each RPC, for the last time."""
    return {event.xid: event.time for event in events if event.name == name}


def told_of(events: list[Event], names: set[str]) -> set[int]:
    """The RPCs that events with all of these names tell of."""
    return set.intersection(*({event.xid for event in events
                               if event.name == name.partition("/")[2]} for name in names))
