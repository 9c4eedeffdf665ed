# SPDX-License-Identifier: GPL-2.0-only
"""RPC-over-RDMA messages, as tshark's dissector finds them in a capture and as trace events tell."""

import csv
import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

# The dissector of version 2, which Wireshark has none of.
DISSECTOR = Path(__file__).resolve().parents[1] / "dissector" / "rpcordma-v2.lua"

RDMA_MSG, RDMA_NOMSG, RDMA_ERROR, RDMA2_OPTIONAL = 0, 1, 4, 5
CALL, REPLY = 0, 1
KINDS = {"RDMA_MSG": RDMA_MSG, "RDMA_NOMSG": RDMA_NOMSG}
SEND_ONLY, SEND_ONLY_WITH_INVALIDATE = 4, 23
# The last packet of several, with which version 2's dissector shows the message.
SEND_LAST, SEND_LAST_WITH_INVALIDATE = 2, 22
INVALIDATING = SEND_ONLY_WITH_INVALIDATE, SEND_LAST_WITH_INVALIDATE
# What UDP's length counts besides an InfiniBand payload: its own header, the base transport header,
# the invariant CRC; and the handle that a Send With Invalidate names.
UDP_HEADER, BASE_HEADER, INVARIANT_CRC, INVALIDATE_HEADER = 8, 12, 4, 4


@dataclass(frozen=True, order=True)
class Segment:
    """Memory that one side lets the other reach."""

    handle: int
    length: int
    offset: int


@dataclass(frozen=True, order=True)
class Message:
    """One transport header, and the message that it begins."""

    sender: str
    xid: int
    credits: int
    kind: int
    # Segments with the Position of each; Write chunks; and the Reply chunk.
    reads: tuple[tuple[int, Segment], ...]
    writes: tuple[tuple[Segment, ...], ...]
    reply: tuple[Segment, ...] | None
    size: int
    invalidates: int = 0
    version: int = 1
    # What the header says: version 1's does not.
    direction: int | None = None


# The capture

# Of the packet, and of the messages of either version: the same in both, but for a few names.
PACKET_FIELDS = ("ip.src", "infiniband.bth.destqp", "infiniband.bth.psn", "infiniband.bth.opcode",
                 "infiniband.bth.padcnt", "udp.length", "infiniband.ieth")
LIST_FIELDS = ("reads_count", "writes_count", "reply_count", "segment_count", "position",
               "rdma_handle", "rdma_length", "rdma_offset")
V1, V2 = "rpcordma.", "rpcordma_v2."
V1_FIELDS = ("xid", "version", "flow_control", "msg_type", *LIST_FIELDS)
V2_FIELDS = ("xid", "version", "credits", "proc", "direction", "size", *LIST_FIELDS)
FIELDS = (*PACKET_FIELDS, *(V1 + name for name in V1_FIELDS), *(V2 + name for name in V2_FIELDS))


def messages_in(capture: Path) -> list[Message]:
    """Every RPC-over-RDMA message in a capture, as tshark dissects them, in order."""
    shown = tshark(capture, "-Y", f"{V1}xid || {V2}xid", "-T", "fields", "-E", "header=y",
                   "-E", "separator=;", *(word for field in FIELDS for word in ("-e", field)))
    sent_once = {}
    for row in csv.DictReader(shown.splitlines(), delimiter=";"):
        # The device sends a packet again when its acknowledgement is late.
        packet = row["ip.src"], row["infiniband.bth.destqp"], row["infiniband.bth.psn"]
        sent_once.setdefault(packet, row)
    return [message_of(row) for row in sent_once.values()]


def malformed_frames(capture: Path) -> list[str]:
    """What the dissectors found malformed, or could not put together."""
    return tshark(capture, "-Y", f"_ws.malformed || _ws.short || {V2}malformed").splitlines()


def tshark(capture: Path, *arguments: str) -> str:
    """The output of tshark, which must have no complaint."""
    # Nobody's own settings decide about the outcome.
    environment = {**os.environ, "HOME": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent"}
    # For root, Wireshark 4.4 runs no script, and does not say so. Others may not reach the files: they are opened here.
    as_nobody = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
    with capture.open("rb") as packets, DISSECTOR.open("rb") as script:
        # Only in a second pass are Replies put together with what their Write chunks brought.
        command = ["tshark", "-X", f"lua_script:/proc/self/fd/{script.fileno()}", "-2", "-n",
                   "-r", f"/proc/self/fd/{packets.fileno()}", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environment,
                              pass_fds=[packets.fileno(), script.fileno()], **as_nobody).stdout


def message_of(row: dict[str, str]) -> Message:
    """Puts the dissector's fields together; a field that a frame has several times is a list."""
    of_version = V2 if row[V2 + "xid"] else V1

    def numbers(field: str) -> list[int]:
        return [int(word, 0) for word in row[field].split(",") if word]

    def number(field: str) -> int:
        (only,) = numbers(field)
        return only

    opcode = number("infiniband.bth.opcode")
    invalidating = opcode in INVALIDATING
    # Twice there: as a header, and as its only field.
    invalidates = int(row["infiniband.ieth"].split(",")[0], 16) if invalidating else 0
    if of_version == V2:
        assert opcode in (SEND_ONLY, SEND_LAST, *INVALIDATING)
        assert number(V2 + "version") == 2
        kind, credits_named, size = number(V2 + "proc"), number(V2 + "credits"), number(V2 + "size")
        direction = number(V2 + "direction")
    else:
        assert opcode in (SEND_ONLY, SEND_ONLY_WITH_INVALIDATE)
        assert number(V1 + "version") == 1
        kind, credits_named = number(V1 + "msg_type"), number(V1 + "flow_control")
        size = (number("udp.length") - UDP_HEADER - BASE_HEADER - INVARIANT_CRC
                - number("infiniband.bth.padcnt") - (INVALIDATE_HEADER if invalidating else 0))
        direction = None

    lists = (), (), None
    if kind in (RDMA_MSG, RDMA_NOMSG):
        lists = lists_of({name: numbers(of_version + name) for name in LIST_FIELDS})
    return Message(row["ip.src"], number(of_version + "xid"), credits_named, kind, *lists, size,
                   invalidates, number(of_version + "version"), direction)


def lists_of(fields: dict[str, list[int]]) -> tuple:
    """The Read list, the Write list and the Reply chunk."""
    segments = map(Segment, fields["rdma_handle"], fields["rdma_length"], fields["rdma_offset"])
    # The lists stand one after the other: the segments of the Read list come first.
    reads = tuple(zip(fields["position"], segments, strict=False))
    chunks = [tuple(next(segments) for _ in range(count)) for count in fields["segment_count"]]
    assert next(segments, None) is None, f"segments of no chunk: {fields}"
    assert fields["reads_count"] == [len(reads)]
    (has_reply_chunk,) = fields["reply_count"]
    (writes,) = fields["writes_count"]
    assert writes + has_reply_chunk == len(chunks)
    return (reads, tuple(chunks[:-1] if has_reply_chunk else chunks),
            chunks[-1] if has_reply_chunk else None)


# The trace events

@dataclass(frozen=True)
class Event:
    """One line of tracefs: what an event of the module recorded."""

    name: str
    fields: dict[str, str]

    @property
    def xid(self) -> int:
        """The RPC that it is about."""
        return int(self.fields["xid"], 0)

    def number(self, field: str) -> int:
        """A field that is a number."""
        return int(self.fields[field], 0)


def events_in(trace: str) -> list[Event]:
    """The module's events in the text of tracefs's file "trace", none of them lost."""
    kept, written = re.search(r"entries-in-buffer/entries-written: (\d+)/(\d+)", trace).groups()
    assert kept == written, f"of {written} events {kept} are left"
    return [Event(name, {key: value.strip("'") for key, value in
                         re.findall(r"(\w+)=('[^']*'|\S+)", recorded)})
            for name, recorded in re.findall(r": rpcordma_(\w+): (.*)", trace)]


def messages_traced(client: str, client_events: list[Event], server: str, server_events: list[Event],
                    version: int = 1) -> Iterator[Message]:
    """The Calls and Replies that both sides' events tell of; `client` and `server` send them, all in one version."""
    call_direction, reply_direction = (CALL, REPLY) if version == 2 else (None, None)
    seen = {(event.name, event.xid): event for event in (*client_events, *server_events)
            if "xid" in event.fields}
    advertised = defaultdict(list)
    for event in client_events:
        if event.name == "segment_advertised":
            advertised[event.xid].append(event)
    for planned in client_events:
        if planned.name == "call_planned":
            xid = planned.xid
            yield replace(call_traced(client, planned, seen["call_received", xid], advertised[xid]),
                          version=version, direction=call_direction)
            yield replace(reply_traced(server, planned, seen["reply_received", xid],
                                       seen["reply_sent", xid], advertised[xid]),
                          version=version, direction=reply_direction)


def call_traced(client: str, planned: Event, received: Event, advertised: list[Event]) -> Message:
    """A Call, as its sender and its receiver tell of it."""
    reads = tuple((event.number("position"), segment_of(event)) for event in advertised
                  if event.fields["chunk"] == planned.fields["call"])
    room = room_advertised(planned, advertised)
    assert len(reads) == planned.number("read_segments") == received.number("read_segments")
    assert len(room) == planned.number("room_segments") == len(advertised) - len(reads)
    assert planned.number("inline") == received.number("inline")
    is_long = planned.fields["call"] == "Position Zero Read chunk"
    return Message(client, planned.xid, received.number("credits"),
                   RDMA_NOMSG if is_long else RDMA_MSG, reads,
                   *room_lists(planned.fields["reply"], room),
                   planned.number("header") + planned.number("inline"))


def reply_traced(server: str, planned: Event, received: Event, sent: Event,
                 advertised: list[Event]) -> Message:
    """A Reply, likewise."""
    assert received.fields["type"] == sent.fields["type"]
    room = filled(room_advertised(planned, advertised), received.number("chunk"))
    return Message(server, planned.xid, received.number("credits"), KINDS[sent.fields["type"]], (),
                   *room_lists(planned.fields["reply"], room), sent.number("size"),
                   sent.number("invalidated"))


def segment_of(event: Event) -> Segment:
    """What was advertised: length@offset:handle."""
    length, offset, handle = re.fullmatch(r"(\d+)@(0x\w+):(0x\w+)",
                                          event.fields["segment"]).groups()
    return Segment(int(handle, 16), int(length), int(offset, 16))


def room_advertised(planned: Event, advertised: list[Event]) -> tuple[Segment, ...]:
    """The segments that a Reply may fill."""
    return tuple(segment_of(event) for event in advertised
                 if event.fields["chunk"] == planned.fields["reply"])


def room_lists(kind: str, room: tuple[Segment, ...]) -> tuple:
    """A Write list and a Reply chunk, of which our client offers one."""
    return ((room,) if kind == "Write chunk" else (), room if kind == "Reply chunk" else None)


def filled(room: tuple[Segment, ...], length: int) -> tuple[Segment, ...]:
    """The segments as a responder returns them that has written so many bytes, from the first on."""
    returned = []
    for segment in room:
        written = min(segment.length, length)
        returned.append(Segment(segment.handle, written, segment.offset))
        length -= written
    assert length == 0, "more was written than there is room for"
    return tuple(returned)
